"""The picture of tools/measure/measure_trainers: processors' time of a sample, by the number of trainers."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "report"))
from report_pictures import Axis, color, dash, dot, legend, line, polyline, svg, text  # noqa: E402

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 64, 16, 56, 300


def cost_picture(curves):
    """SVG. curves: {name: [(trainers, us a sample)]}."""
    points = [point for curve in curves.values() for point in curve]
    x = Axis(min(p[0] for p in points), max(p[0] for p in points), (LEFT, WIDTH - RIGHT), is_log=True)
    y = Axis(0, max(p[1] for p in points) * 1.05, (BOTTOM, TOP))
    parts, _ = legend(list(curves), LEFT, 24, WIDTH - LEFT - RIGHT)
    for tick in y.ticks():
        parts += [line(LEFT, y.place(tick), WIDTH - RIGHT, y.place(tick), width=0.5),
                  text(LEFT - 8, y.place(tick) + 4, "%g" % tick, anchor="end")]
    for count in sorted({p[0] for p in points}):
        parts.append(text(x.place(count), BOTTOM + 18, "%d" % count, anchor="middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, BOTTOM + 36, "trainers; CPU-us a sample", anchor="middle"))
    for index, curve in enumerate(curves.values()):
        placed = [(x.place(count), y.place(cost)) for count, cost in curve]
        parts.append(polyline(placed, color(index), 2, dash(index)))
        parts += [dot(at_x, at_y, index) for at_x, at_y in placed]
    return svg(WIDTH, HEIGHT, "What a sample costs, by the number of trainers", parts)
