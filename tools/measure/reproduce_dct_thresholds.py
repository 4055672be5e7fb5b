"""reproduce_dct's pictures of thresholds: how those of DCT-MP fall (the paper's Figure 5), and how steady those of
DCT-DP are (its Figure 2). Each part gives (headings, lines) of a table and leaves a picture in --out."""

import json
import os
import statistics

import paired_runs
import report_pictures
from paired_runs import QUICKSTART, UPDATE_RULES, sized
from reproduce_dct_rows import MODEL, TWO, dct_mp, splits
from scripting.result_files import remove, write_whole

SPARSITIES = (0.75, 0.9, 0.95)
# What "at most 26 % around its running mean" is of: steps left out at the start, and those of a mean. 128 samples each.
BATCH, WARM_UP_STEPS, MEAN_STEPS = 128, 1000, 3000
CLAIM = 0.26


def train_reports(directory):
    with open(os.path.join(directory, "metrics.jsonl"), encoding="utf-8") as f:
        return [line for line in map(json.loads, f) if line["kind"] == "train"]


def save_picture(flags, part, picture):
    """picture: None where runs are too short for one; then an earlier call's goes."""
    path = os.path.join(flags.out, part + ".svg")
    write_whole(path, picture) if picture else remove(path)


def override(flags, more, interval_ms):
    return ("data { batch_size: %d shuffle: true synthetic { rows: %d test_rows: 1000 } } %s update { %s } %s "
            "run { report_interval_ms: %d evaluate_every_samples: 0 }" % (
                BATCH, flags.rows, MODEL, UPDATE_RULES[flags.rule], more, interval_ms))


# ------------------------------------------------------------------------------ figure 5


def fall_folder(flags, sparsity, masks):
    return os.path.join(flags.out, sized("threshold-%s-%g-%s" % (flags.rule, sparsity, masks), flags.rows))


def fall_folders(flags):
    return [fall_folder(flags, sparsity, masks) for sparsity in SPARSITIES for masks in (False, True)]


def fall_table(flags):
    curves = []
    for sparsity in SPARSITIES:
        for name, masks in (("only measured", False), ("DCT-MP", True)):
            directory = fall_folder(flags, sparsity, masks)
            pipeline = splits(TWO, dct_mp(sparsity, "" if masks else " measure_only: true"))
            paired_runs.run(directory, flags.bin, QUICKSTART, 0, 1, override(flags, pipeline, 200), flags.reuse)
            points = [(line["samples"], line["splits"][0]["threshold"]) for line in train_reports(directory)
                      if line["splits"] and line["splits"][0]["threshold"]]
            curves.append({"name": "%g %%, %s" % (100 * sparsity, name), "thresholds": points})
    save_picture(flags, "thresholds", report_pictures.threshold_picture(
        curves, "mean over a slice's samples of the least magnitude kept, behind bottom/1; log scale"))
    lines = [(curve["name"], *("%.3g" % near(curve["thresholds"], share * flags.rows)
                               for share in (0.1, 0.25, 0.5, 1))) for curve in curves]
    return ("run", "a tenth", "a quarter", "half", "all of the rows"), lines


def near(points, samples):
    """The mean of the five points nearest to so many samples."""
    nearest = sorted(points, key=lambda point: abs(point[0] - samples))[:5]
    return sum(value for _, value in nearest) / len(nearest)


# ------------------------------------------------------------------------------ figure 2


# What the policy goes by, and the exact quantile of each step.
RULES = {"policy": "dct { sparsity: 0.95 }",
         "exact": "dct { sparsity: 0.95 lifespan: 1 controller: false quantile: SORTED }"}


def steadiness_folder(flags, kind):
    return os.path.join(flags.out, sized("steadiness-%s-%s" % (kind, flags.rule), flags.rows))


def steadiness_folders(flags):
    return [steadiness_folder(flags, kind) for kind in RULES]


def relative_to_mean(points, window):
    """(samples, value / mean of what came within `window` samples before, itself included), after the warm-up."""
    found, first = [], 0
    for i, (samples, value) in enumerate(points):
        while points[first][0] <= samples - window:
            first += 1
        if samples > WARM_UP_STEPS * BATCH:
            found.append((samples, value / statistics.fmean(v for _, v in points[first:i + 1])))
    return found


def furthest(relative):
    """How far it is from 1 at most, and in 99 of 100 reports; None of none."""
    away = sorted(abs(value - 1) for _, value in relative)
    return (away[-1], away[(99 * len(away) + 99) // 100 - 1]) if away else None


def percents(relative):
    found = furthest(relative)
    return tuple("%.0f" % (100 * value) for value in found) if found else ("", "")


def steadiness_curves(flags, kind):
    """{weight: its thresholds by their running means}."""
    compression = "compression { default { %s values: BF16 } }" % RULES[kind]
    directory = steadiness_folder(flags, kind)
    paired_runs.run(directory, flags.bin, QUICKSTART, 1, 1, override(flags, compression, 100), flags.reuse)
    layers = {}
    for line in train_reports(directory):
        for layer in line["layers"]:
            if layer["name"].endswith("/weight") and layer["threshold"]:
                layers.setdefault(layer["name"], []).append((line["samples"], layer["threshold"]))
    return {name: relative_to_mean(points, MEAN_STEPS * BATCH) for name, points in layers.items()}


def steadiness_table(flags):
    curves = {kind: steadiness_curves(flags, kind) for kind in RULES}
    save_picture(flags, "steadiness", report_pictures.threshold_picture(
        [{"name": name, "thresholds": points} for name, points in curves["policy"].items()],
        "95 %% threshold by the mean of the last %d steps; log scale" % MEAN_STEPS, levels=(1 - CLAIM, 1 + CLAIM)))
    lines = []
    for name, points in curves["policy"].items():
        found = furthest(points)
        met = ("yes" if found[0] <= CLAIM else "NO") if found else ""
        lines.append((name, *percents(points), met, *percents(curves["exact"].get(name, []))))
    return ("layer", "furthest from the mean, %", "in 99 of 100 reports, %", "within 26 %",
            "quantile of each step: furthest, %", "in 99 of 100, %"), lines
