#!/usr/bin/env python3
"""Compares runs: reads what they wrote with --out, prints a table, draws pictures.

    tools/report/report.py --out=DIR none=out/none dct=out/dct

The first run is what the others are compared with. DIR gets index.html, which needs no other file,
and loss.svg and density.svg for use elsewhere. A figure that a run does not have is shown as "-".
"""

import argparse
import html
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import report_pictures as pictures  # noqa: E402
from report_pictures import si  # noqa: E402
from scripting import tool_flags  # noqa: E402


class ReportError(Exception):
    """Input that no report can be made from; the message says what to do."""


# ------------------------------------------------------------------------------ reading

# Sums, products and quotients of some of them are finite still.
LEAST, LARGEST = 1e-50, 1e50


def number(container, *keys):
    """container[keys[0]][keys[1]]..., or None where that is absent or no number that can be drawn."""
    for key in keys:
        container = container.get(key) if isinstance(container, dict) else None
    is_number = isinstance(container, (int, float)) and not isinstance(container, bool)
    return container if is_number and (container == 0 or LEAST < abs(container) < LARGEST) else None


def read_summary(name, directory):
    path = directory / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"run {name}: cannot read {path}: {error.strerror}; "
                          "give the directory that the run had as --out") from error
    except ValueError as error:
        raise ReportError(f"run {name}: {path} is not JSON: {error}") from error
    if not isinstance(summary, dict):
        raise ReportError(f"run {name}: {path} is not a JSON object")
    return summary


def read_metrics(name, directory, notes):
    """The lines of metrics.jsonl; a last line cut short by a crash is no reason to give up."""
    path = directory / "metrics.jsonl"
    if not path.is_file():
        notes.append(f"run {name}: no {path}, so it has no curve in the loss picture")
        return []
    lines, bad = [], 0
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReportError(f"run {name}: cannot read {path}: {error.strerror}") from error
    for text in texts:
        try:
            entry = json.loads(text)
            lines.append(entry) if isinstance(entry, dict) else None
        except ValueError:
            bad += 1
    if bad:
        notes.append(f"run {name}: {path}: {bad} unreadable line(s) skipped")
    return lines


def interpolate(points, x):
    """The second coordinate at x on the increasing polyline through points."""
    before = (0, 0)
    for point in points:
        if point[0] >= x:
            span = point[0] - before[0]
            share = (x - before[0]) / span if span else 1
            return before[1] + share * (point[1] - before[1])
        before = point
    return before[1]


def loss_curves(summary, metrics):
    """Loss against steps and against bytes; lists of (x, logloss)."""
    train = [m for m in metrics if m.get("kind") == "train" and number(m, "samples") is not None]
    sent = [(m["samples"], number(m, "bytes", "total") or 0) for m in train]
    losses = [(m["samples"], number(m, "bytes", "total") or 0, number(m, "logloss"))
              for m in train]
    losses = [entry for entry in losses if entry[2] is not None]
    tests = [(number(m, "samples"), number(m, "logloss"))
             for m in metrics if m.get("kind") == "test"]
    tests = [(x, y) for x, y in tests if x is not None and y is not None]
    last = number(summary, "train", "samples"), number(summary, "test", "logloss")
    if not tests and None not in last:
        tests = [last]
    end = number(summary, "train", "samples"), number(summary, "wire", "total_bytes")
    if None not in end and (not sent or end[0] > sent[-1][0]):
        sent.append(end)
    steps, samples = number(summary, "train", "steps"), number(summary, "train", "samples")
    per_sample = steps / samples if steps and samples else 1
    return {
        "steps": {"train": [(x * per_sample, y) for x, _, y in losses],
                  "test": [(x * per_sample, y) for x, y in tests]},
        "bytes": {"train": [(b, y) for _, b, y in losses],
                  "test": [(interpolate(sent, x), y) for x, y in tests]},
    }


def bytes_per_step(summary):
    steps = number(summary, "train", "steps")

    def per_step(*kinds):
        sizes = [number(summary, "wire", f"{kind}_bytes") for kind in kinds]
        if not steps or all(size is None for size in sizes):
            return None
        return sum(size or 0 for size in sizes) / steps

    return {
        "push": per_step("push"), "pull": per_step("pull"),
        "row_push": per_step("row_push"), "row_pull": per_step("row_pull"),
        "rows": per_step("row_push", "row_pull"), "links": per_step("forward", "backward"),
        "control": per_step("control"), "total": per_step("total"),
    }


def step_times(summary):
    """Seconds of a step by part, of trainers with the whole model."""
    steps = number(summary, "train", "steps")
    times = {part: number(summary, "stages_time", part) for part in pictures.STEP_PARTS}
    return {part: seconds / steps for part, seconds in times.items() if steps and (seconds or 0) > 0}


def largest_layer(layers):
    sized = [layer for layer in layers if number(layer, "elements") is not None]
    return max(sized, key=lambda layer: layer["elements"])["name"] if sized else None


def layers_of(entry):
    """Of a summary or a line of metrics: those that have a name."""
    layers = entry.get("layers")
    return [layer for layer in layers if isinstance(layer, dict) and "name" in layer] if (
        isinstance(layers, list)) else []


def over_time(key, layer_name, metrics):
    """(samples, value) of what one layer has by the key; only where it has one that can be drawn."""
    points = []
    for entry in metrics:
        for layer in layers_of(entry):
            samples, value = number(entry, "samples"), number(layer, key)
            if layer["name"] == layer_name and samples is not None and value is not None and value > 0:
                points.append((samples, value))
    return points


def read_run(name, directory, notes):
    summary = read_summary(name, directory)
    layers = layers_of(summary)
    metrics = read_metrics(name, directory, notes)
    largest = largest_layer(layers)
    return {
        "name": name,
        "summary": summary,
        "largest_layer": largest,
        "thresholds": over_time("threshold", largest, metrics),
        "residuals": over_time("residual_norm", largest, metrics),
        "per_step": bytes_per_step(summary),
        "step_times": step_times(summary),
        "density": {str(layer["name"]): number(layer, "density") for layer in layers},
        **loss_curves(summary, metrics),
    }


# ------------------------------------------------------------------------------ the table


def shown(value, form):
    return "-" if value is None else form(value)


def times_fewer(run, first, kind):
    ours, theirs = run["per_step"][kind], first["per_step"][kind]
    return theirs / ours if ours and theirs is not None else None


def factor(value):
    return f"{value:.0f}x" if value >= 99.95 else f"{value:.1f}x"


def table(runs):
    """Headings, and a row of words for each run."""
    headings = ["run", "samples/s", "train logloss", "test logloss", "test AUC", "push/step",
                "pull/step", "rows/step", "push fewer", "pull fewer", "all fewer"]
    rows = []
    for run in runs:
        summary, per_step = run["summary"], run["per_step"]
        row = [run["name"], shown(number(summary, "train", "samples_per_second"), si)]
        row += [shown(number(summary, *keys), "{:.4f}".format)
                for keys in (("train", "logloss"), ("test", "logloss"), ("test", "auc"))]
        row += [shown(per_step[kind], lambda size: si(size, "B"))
                for kind in ("push", "pull", "rows")]
        row += [shown(times_fewer(run, runs[0], kind), factor)
                for kind in ("push", "pull", "total")]
        rows.append(row)
    return headings, rows


def text_table(headings, rows):
    widths = [max(map(len, column)) for column in zip(headings, *rows)]

    def aligned(cells):
        first, *others = (cell.ljust(width) if i == 0 else cell.rjust(width)
                          for i, (cell, width) in enumerate(zip(cells, widths)))
        return "  ".join([first] + others).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([aligned(headings), rule] + [aligned(row) for row in rows])


# ------------------------------------------------------------------------------ the page


STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 'Helvetica Neue', Arial, sans-serif; margin: 2rem auto; max-width: 1080px;
       padding: 0 1rem; background: Canvas; color: CanvasText; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
p.note { color: #767c85; margin: .2rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid #8a909a55;
         white-space: nowrap; }
th { font-weight: 600; color: #767c85; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; display: block; margin: 1.5rem 0; }
"""


def describe(summary):
    """How a run was set up, in a line."""
    parts = []
    for key, word in (("servers", "server"), ("trainers", "trainer"), ("threads", "thread")):
        count = number(summary, key)
        if count is not None:
            parts.append(f"{count} {word}{'' if count == 1 else 's'}")
    samples = number(summary, "train", "samples")
    parts += [f"{si(samples)} samples"] if samples is not None else []
    parts += [str(summary[key]) for key in ("mode", "device") if summary.get(key)]
    parts += [f"config {summary['config_hash']}"] if summary.get("config_hash") else []
    return ", ".join(parts)


def page(runs, headings, rows, notes, drawn):
    def cells(tag, words):
        return "<tr>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"

    lines = [f"{run['name']}: {describe(run['summary'])}" for run in runs] + notes
    return "\n".join([
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">', "<title>Weir: runs compared</title>",
        f"<style>{STYLE}</style></head><body>", "<h1>Runs compared</h1>",
        '<div class="wide"><table>', "<thead>" + cells("th", headings) + "</thead><tbody>",
        *(cells("td", row) for row in rows), "</tbody></table></div>",
        f'<p class="note">"Fewer": bytes per step of {html.escape(runs[0]["name"])} over those of '
        "the run. Push and pull are the dense parameters, rows the embeddings, both directions; "
        "all is everything on the wire.</p>",
        *(f'<div class="wide">{picture}</div>' for picture in drawn),
        *(f'<p class="note">{html.escape(line)}</p>' for line in lines), "</body></html>", ""])


# ------------------------------------------------------------------------------ the command


def parse_run(argument):
    """The type of a flag."""
    name, separator, directory = argument.partition("=")
    if not separator:
        name, directory = Path(argument).name, argument
    if not name or not directory:
        raise argparse.ArgumentTypeError(f'"{argument}" is not NAME=DIR')
    return name, Path(directory)


def make_report(out, named):
    """named: (name, its folder) of each run."""
    notes = []
    runs = [read_run(name, directory, notes) for name, directory in named]
    headings, rows = table(runs)
    loss, density = pictures.loss_picture(runs), pictures.density_picture(runs)
    some = {"times.svg": pictures.time_picture(runs), "threshold.svg": pictures.threshold_picture(runs),
            "residual.svg": pictures.residual_picture(runs)}
    drawn = [loss, pictures.traffic_picture(runs), density] + [drawing for drawing in some.values() if drawing]
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "loss.svg").write_text(loss, encoding="utf-8")
        (out / "density.svg").write_text(density, encoding="utf-8")
        for file_name, drawing in some.items():
            (out / file_name).unlink(missing_ok=True)  # of an earlier report
            if drawing:
                (out / file_name).write_text(drawing, encoding="utf-8")
        (out / "index.html").write_text(page(runs, headings, rows, notes, drawn), encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {error.filename}: {error.strerror}") from error
    print(text_table(headings, rows))
    for note in notes:
        print(note)
    print(f"written: {out / 'index.html'}")


def main():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the report")
    parser.add_argument("runs", nargs="+", type=parse_run, metavar="NAME=DIR", help="a run's --out directory")
    arguments = parser.parse_args()
    if len({name for name, _ in arguments.runs}) < len(arguments.runs):
        parser.error("two runs have the same name; give each its own: NAME=DIR")
    try:
        make_report(arguments.out, arguments.runs)
    except ReportError as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
