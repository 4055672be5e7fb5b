"""The pictures of tools/report/report.py, as SVG text: loss, density of each layer, traffic.

Text and lines are a grey that reads on white and on black, backgrounds are transparent, and colours
are Okabe and Ito's, which the colour-blind can tell apart; from the seventh run on they repeat with
dashes, and rings for dots, from the thirteenth on with shorter dashes, and squares.
"""

import math
from xml.sax.saxutils import escape

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("", ' stroke-dasharray="6 3"', ' stroke-dasharray="2 3"')
TEXT = "#767c85"
GRID = "#8a909a"
BAR_GREYS = ("#8a909a", "#5d6269", "#b9bec6")  # of parts of a bar from the seventh on, which have no dashes
MOST_POINTS = 250  # of a line, which is some 500 pixels wide
FONT = "font-family=\"'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif\""


def color(index):
    return COLORS[index % len(COLORS)]


def bar_color(index):
    return (COLORS + BAR_GREYS)[index % (len(COLORS) + len(BAR_GREYS))]


def dash(index):
    return DASHES[index // len(COLORS) % len(DASHES)]


# ------------------------------------------------------------------------------ numbers as words


def si(value, unit=""):
    """1234567 -> 1.23 M."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * 0.9995:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def density_label(value):
    return f"{value * 100:.3g} %" if value >= 1e-4 else f"{value:.0e}"


# ------------------------------------------------------------------------------ axes


class Axis:
    """Maps values to pixels, from `pixels[0]` to `pixels[1]`."""

    def __init__(self, low, high, pixels, is_log=False):
        self.low, self.high, self.pixels, self.is_log = low, high, pixels, is_log
        if not high > low:
            margin = max(0.5, abs(low) / 1000)
            self.low, self.high = (low / 2, low * 2) if is_log else (low - margin, low + margin)

    def place(self, value):
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = (math.log10(max(x, 1e-300)) for x in (low, high, value))
        begin, end = self.pixels
        return begin + (value - low) / (high - low) * (end - begin)

    def ticks(self):
        return self.log_ticks() if self.is_log else self.linear_ticks(5)

    def linear_ticks(self, wanted):
        rough = (self.high - self.low) / wanted
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]

    def log_ticks(self):
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in ((1,), (1, 3), (1, 2, 5)):
            ticks = [m * 10.0**e for e in range(first, last + 1) for m in steps]
            ticks = [t for t in ticks if self.low * 0.999 <= t <= self.high * 1.001]
            if len(ticks) >= 3:
                break
        return ticks


# ------------------------------------------------------------------------------ shapes


def text(x, y, words, size=12, anchor="start", fill=TEXT, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}" {extra}>{escape(words)}</text>')


def line(x1, y1, x2, y2, stroke=GRID, width=1.0, extra=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
            f'stroke-width="{width}" {extra}/>')


def thinned(points):
    """So many as can be told apart, the first and the last among them; a long run's picture is no larger than others."""
    every = max(1, -(-(len(points) - 1) // (MOST_POINTS - 1)))
    return points[:-1][::every] + points[-1:]


def polyline(points, stroke, width, extra=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in thinned(list(points)))
    return (f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" '
            f'stroke-linejoin="round" {extra}/>')


def dot(x, y, index, radius=4.0, tip=""):
    """A disc, then a ring, then a square, as colours repeat."""
    title = f"<title>{escape(tip)}</title>" if tip else ""
    kind = index // len(COLORS) % len(DASHES)
    if kind == 2:
        return (f'<rect x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius}" height="{2 * radius}" '
                f'fill="{color(index)}">{title}</rect>')
    paint = f'fill="{color(index)}"' if kind == 0 else f'fill="none" stroke="{color(index)}" stroke-width="2"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius - kind:.1f}" {paint}>{title}</circle>'


def svg(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" {FONT}>\n'
            f"<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n")


def stroke(x, y, index):
    return line(x, y, x + 18, y, color(index), 3, dash(index))


def disc(x, y, index):
    return dot(x + 9, y, index, 4.5)


def swatch(x, y, index):
    return f'<rect x="{x:.1f}" y="{y - 6:.1f}" width="18" height="12" fill="{bar_color(index)}"/>'


def legend(names, x, y, width, draw=stroke):
    """Names behind what is drawn of each, from left to right, and the height they take."""
    parts, at, top = [], x, y
    for i, name in enumerate(names):
        needed = 34 + 7.0 * len(name)
        if at > x and at + needed > x + width:
            at, top = x, top + 20
        parts.append(draw(at, top - 4, i))
        parts.append(text(at + 24, top, name))
        at += needed
    return parts, top - y + 20


def spread(positions, gap, low, high):
    """Moves label positions apart to at least gap, in order, within [low, high] if they fit."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    placed = list(positions)
    floor = low
    for i in order:
        placed[i] = max(placed[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed


# ------------------------------------------------------------------------------ loss


def smoothed(points):
    """Exponential mean over about a twentieth of the points, corrected for its start."""
    keep = 1 - 1 / max(1.0, len(points) / 20)
    total = weight = 0.0
    result = []
    for x, y in points:
        total, weight = keep * total + (1 - keep) * y, keep * weight + (1 - keep)
        result.append((x, total / weight))
    return result


def loss_range(curves):
    """The losses worth showing: the steep start of a run would flatten all the rest."""
    settled = [y for curve in curves for _, y in curve["train"][len(curve["train"]) // 5:]]
    shown = sorted(settled) or [0.5]
    low, high = shown[0], shown[min(len(shown) - 1, int(len(shown) * 0.98))]
    tests = [y for curve in curves for _, y in curve["test"]]
    low, high = min([low] + tests), max([high] + tests)
    margin = max((high - low) * 0.06, 1e-4)
    return low - margin, high + margin


def loss_panel(number, curves, box, y_axis, x_label, is_log):
    left, top, right, bottom = box
    points = [p for curve in curves for p in curve["train"] + curve["test"] if p[0] > 0]
    xs = [x for x, _ in points] or [1]
    visible = [x for x, y in points if y <= y_axis.high] or xs
    x_axis = Axis(min(visible) / 1.5 if is_log else 0, max(xs), (left, right), is_log)
    clip = f'clip-path="url(#panel{number})"'
    parts = [f'<clipPath id="panel{number}"><rect x="{left}" y="{top}" width="{right - left}" '
             f'height="{bottom - top}"/></clipPath>']
    for tick in y_axis.ticks():
        y = y_axis.place(tick)
        parts.append(line(left, y, right, y, extra='stroke-opacity="0.25"'))
        parts.append(text(left - 8, y + 4, f"{tick:.3g}", anchor="end"))
    for tick in x_axis.ticks():
        x = x_axis.place(tick)
        parts.append(line(x, bottom, x, bottom + 5))
        parts.append(text(x, bottom + 19, si(tick, "B" if is_log else ""), anchor="middle"))
    parts.append(line(left, bottom, right, bottom))
    parts.append(text((left + right) / 2, bottom + 40, x_label, 13, "middle"))
    for i, curve in enumerate(curves):
        def at(point):
            return x_axis.place(point[0]), y_axis.place(point[1])
        train = [p for p in curve["train"] if p[0] > 0]
        parts.append(polyline(map(at, train), color(i), 1, f'stroke-opacity="0.25" {clip}'))
        parts.append(polyline(map(at, smoothed(train)), color(i), 2, clip + dash(i)))
        for point in curve["test"]:
            if point[0] > 0:
                x, y = at(point)
                parts.append(dot(x, y, i, tip=f"{curve['name']}: test {point[1]:.4f}"))
    return parts


def end_labels(curves, x, y_axis):
    """Each run's name and last test loss, beside the right panel at their height."""
    ends = [(curve["test"] or smoothed(curve["train"]) or [(0, y_axis.low)])[-1][1]
            for curve in curves]
    places = spread([y_axis.place(y) for y in ends], 17, y_axis.pixels[1], y_axis.pixels[0])
    return [text(x, y + 4, f"{curve['name']}  {end:.4f}", 13, fill=color(i),
                 extra='font-weight="600"')
            for i, (curve, end, y) in enumerate(zip(curves, ends, places))]


def loss_picture(runs):
    """runs: dicts with "name" and, against steps and against bytes, lists of (x, logloss):
    "steps": {"train", "test"}, "bytes": {"train", "test"}."""
    width = 1060
    # Colours that repeat need their dashes told.
    keys, keys_height = legend([run["name"] for run in runs], 62, 74, width - 124)
    keys, keys_height = (keys, keys_height) if len(runs) > len(COLORS) else ([], 0)
    top = 62 + keys_height
    bottom = top + max(308, 17 * len(runs))
    by_steps = [{"name": run["name"], **run["steps"]} for run in runs]
    by_bytes = [{"name": run["name"], **run["bytes"]} for run in runs]
    y_axis = Axis(*loss_range(by_steps), (bottom, top))
    label_width = 22 + 8.0 * max(len(run["name"]) + 8 for run in runs)
    middle = (width - label_width) / 2
    parts = [text(16, 24, "Logloss", 16, extra='font-weight="600"'),
             text(16, 44, "line: training, over each interval and smoothed; dot: test"), *keys]
    parts += loss_panel(1, by_steps, (62, top, middle - 10, bottom), y_axis, "training steps", False)
    parts += loss_panel(2, by_bytes, (middle + 52, top, width - label_width - 14, bottom),
                        y_axis, "bytes on the wire (log scale)", True)
    parts += end_labels(by_steps, width - label_width, y_axis)
    height = bottom + 60
    return svg(width, height, "Logloss against training steps and against bytes", parts)


# ------------------------------------------------------------------------------ density


def is_drawn(density):
    return density is not None and density > 0


def density_picture(runs):
    """runs: dicts with "name" and "density", layer -> kept fraction, zero or None for none."""
    layers = list(dict.fromkeys(layer for run in runs for layer in run["density"]))
    values = [d for run in runs for d in run["density"].values() if is_drawn(d)]
    low = 10 ** math.floor(math.log10(min(values + [0.1])) + 1e-9)
    left, right, row = 30 + 7.4 * max(map(len, layers), default=5), 920, 22
    keys, keys_height = legend([run["name"] for run in runs], left, 74, right - left, draw=disc)
    top = 72 + keys_height
    bottom = top + row * max(len(layers), 1)
    axis = Axis(low, 1, (left, right), is_log=True)
    parts = [text(16, 24, "Density of each layer", 16, extra='font-weight="600"'),
             text(16, 44, "share of the elements of a step that was sent, over the run")] + keys
    for tick in axis.ticks():
        x = axis.place(tick)
        parts.append(line(x, top, x, bottom, extra='stroke-opacity="0.3"'))
        parts.append(text(x, bottom + 18, density_label(tick), anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 40, "density (log scale)", 13, "middle"))
    for i, layer in enumerate(layers):
        y = top + row * (i + 0.5)
        parts.append(text(left - 10, y + 4, layer, anchor="end"))
        parts.append(line(left, y, right, y, extra='stroke-opacity="0.12"'))
        parts += density_dots(runs, layer, axis, y)
    return svg(right + 60, bottom + 56, "Density of each layer", parts)


def density_dots(runs, layer, axis, y):
    shown = [(i, run["density"].get(layer)) for i, run in enumerate(runs)]
    shown = [(i, density) for i, density in shown if is_drawn(density)]
    # Runs of one row share its height, so that equal densities do not hide each other.
    step = min(4.0, 14.0 / max(len(runs), 1))
    for i, density in shown:
        shift = (i - (len(runs) - 1) / 2) * step
        tip = f"{runs[i]['name']}: {layer} {density_label(density)}"
        yield dot(axis.place(density), y + shift, i, 4.5, tip)


# ------------------------------------------------------------------------------ of a layer, over time


def threshold_picture(runs, subtitle=None, levels=()):
    return over_time_picture(runs, "thresholds", "Threshold over time", subtitle, levels)


def residual_picture(runs):
    return over_time_picture(runs, "residuals", "Norm of what has not been sent, over time")


def over_time_picture(runs, key, title, subtitle=None, levels=()):
    """runs: dicts with "name", "largest_layer" and, by the key, its (samples, value > 0). None when
    no run has two of them. subtitle: instead of the layer's name. levels: to be drawn across."""
    drawn = [(i, run[key]) for i, run in enumerate(runs) if len(run[key]) > 1]
    if not drawn:
        return None
    points = [point for _, curve in drawn for point in curve]
    left, right = 80, 920
    keys, keys_height = legend([run["name"] for run in runs], left, 74, right - left)
    top, bottom = 72 + keys_height, 332 + keys_height
    x_axis = Axis(0, max(x for x, _ in points), (left, right))
    values = [*(y for _, y in points), *levels]
    y_axis = Axis(min(values) / 1.2, max(values) * 1.2, (bottom, top), is_log=True)
    if subtitle is None:
        subtitle = f"of the largest layer, {runs[drawn[0][0]]['largest_layer']}; log scale"
    parts = [text(16, 24, title, 16, extra='font-weight="600"'),
             text(16, 44, subtitle), *keys]
    for tick in y_axis.ticks():
        y = y_axis.place(tick)
        parts.append(line(left, y, right, y, extra='stroke-opacity="0.25"'))
        parts.append(text(left - 8, y + 4, f"{tick:.0e}", anchor="end"))
    for level in levels:
        y = y_axis.place(level)
        parts.append(line(left, y, right, y, TEXT, 1.5, 'stroke-dasharray="8 4"'))
        parts.append(text(right + 6, y + 4, f"{level:.3g}"))
    for tick in x_axis.ticks():
        x = x_axis.place(tick)
        parts.append(line(x, bottom, x, bottom + 5))
        parts.append(text(x, bottom + 19, si(tick), anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 40, "training samples", 13, "middle"))
    for i, curve in drawn:
        places = [(x_axis.place(x), y_axis.place(y)) for x, y in curve]
        parts.append(polyline(places, color(i), 2, dash(i)))
    return svg(right + 60, bottom + 56, title, parts)


# ------------------------------------------------------------------------------ traffic


KINDS = (("push", "push"), ("pull", "pull"), ("row_push", "rows up"), ("row_pull", "rows down"),
         ("links", "links"), ("control", "control"))


def traffic_picture(runs):
    """runs: dicts with "name" and "per_step", kind -> bytes of a step."""
    kinds = [(key, word) for key, word in KINDS if any(run["per_step"].get(key) for run in runs)]
    totals = [sum(run["per_step"].get(key) or 0 for key, _ in kinds) for run in runs]
    return stacked_picture("Bytes per step", "on the wire, both directions, by kind",
                           [word for _, word in kinds], lambda size: si(size, "B"), max(totals + [1]),
                           [(run["name"], [run["per_step"].get(key) or 0 for key, _ in kinds]) for run in runs])


def stacked_picture(title, subtitle, kinds, words, longest, bars):
    """bars: (name, its sizes, one for each kind). words: of a size."""
    left, right, row = 30 + 8.0 * max(len(name) for name, _ in bars), 860, 34
    keys, keys_height = legend(kinds, left, 74, right - left, draw=swatch)
    top = 72 + keys_height
    bottom = top + row * len(bars)
    axis = Axis(0, longest, (left, right))
    parts = [text(16, 24, title, 16, extra='font-weight="600"'), text(16, 44, subtitle)] + keys
    for tick in axis.ticks():
        x = axis.place(tick)
        parts.append(line(x, top, x, bottom, extra='stroke-opacity="0.3"'))
        parts.append(text(x, bottom + 18, words(tick), anchor="middle"))
    for i, (name, sizes) in enumerate(bars):
        y, at = top + row * i + 6, 0.0
        parts.append(text(left - 10, y + 16, name, 13, "end"))
        for k, size in enumerate(sizes):
            x, end = axis.place(at), axis.place(at + size)
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{end - x:.1f}" height="{row - 12}" '
                         f'fill="{bar_color(k)}"><title>{escape(name)}: {kinds[k]} {words(size)}</title></rect>')
            at += size
        parts.append(text(axis.place(at) + 8, y + 16, words(at), 13))
    return svg(right + 100, bottom + 34, title, parts)


# ------------------------------------------------------------------------------ time


STEP_PARTS = ("forward", "backward", "select", "encode", "rows", "waiting for servers", "update",
              "waiting for input", "other")


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms"


def time_picture(runs):
    """runs: dicts with "name" and "step_times", part -> seconds of a step. None when no run has any."""
    drawn = [run for run in runs if any(run["step_times"].values())]
    if not drawn:
        return None
    parts = [part for part in STEP_PARTS if any(run["step_times"].get(part) for run in drawn)]
    bars = [(run["name"], [run["step_times"].get(part) or 0 for part in parts]) for run in drawn]
    return stacked_picture("Time of a step", "of a thread, by part; the mean over the run", parts, milliseconds,
                           max(sum(sizes) for _, sizes in bars), bars)
