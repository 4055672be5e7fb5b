"""The pictures of tools/measure/reproduce_scaling, as SVG text."""

from report_pictures import Axis, color, dash, dot, legend, line, polyline, svg, text

WIDTH, LEFT, RIGHT, HEIGHT = 720, 64, 16, 244  # HEIGHT: of the panel alone


def frame(x_ticks, y_ticks, top, label):
    """Lines and words around a panel. Ticks: [(place, words)]."""
    bottom = top + HEIGHT
    parts = []
    for place, words in y_ticks:
        parts += [line(LEFT, place, WIDTH - RIGHT, place, width=0.5), text(LEFT - 8, place + 4, words, anchor="end")]
    parts += [text(place, bottom + 18, words, anchor="middle") for place, words in x_ticks]
    return [*parts, text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, label, anchor="middle")]


def panel(curves, label, title, is_log, x_ticks=None):
    """A line for each of {name: [(x, y)]}; both axes are logarithmic, or neither is. x_ticks: values, where all are told."""
    keys, keys_height = legend(list(curves), LEFT, 24, WIDTH - LEFT - RIGHT)
    top = 36 + keys_height
    points = [point for curve in curves.values() for point in curve]
    x = Axis(min(p[0] for p in points), max(p[0] for p in points), (LEFT, WIDTH - RIGHT), is_log)
    low, high = min(p[1] for p in points), max(p[1] for p in points)
    y = Axis(low / 1.1 if is_log else 0, high * (1.1 if is_log else 1.05), (top + HEIGHT, top), is_log)
    parts = keys + frame([(x.place(tick), "%g" % tick) for tick in x_ticks or x.ticks()],
                         [(y.place(tick), "%g" % tick) for tick in y.ticks()], top, label)
    for index, curve in enumerate(curves.values()):
        placed = [(x.place(at), y.place(value)) for at, value in curve]
        parts.append(polyline(placed, color(index), 2, dash(index)))
        if x_ticks:
            parts += [dot(at_x, at_y, index) for at_x, at_y in placed]
    return svg(WIDTH, top + HEIGHT + 48, title, parts)


def sent_picture(curves):
    """curves: {policy and density: [(trainers, sent of what was set)]}."""
    trainers = sorted({count for curve in curves.values() for count, _ in curve})
    return panel(curves, "trainers; elements sent, of what was set", "What is sent of what was set, by the number of trainers",
                 True, trainers)


def threshold_picture(curves):
    """curves: {name: [(step, of its mean)]}."""
    return panel(curves, "steps; each of its own mean", "ExDyna's threshold, and the norm of what is not sent", False)
