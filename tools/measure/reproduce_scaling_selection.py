"""reproduce_scaling's selection: the section agree of weir-bench, and a picture of its series."""

import os
import re
import sys

import launching
from scaling_picture import threshold_picture
from scaling_result import Result
from scripting.result_files import load, write_whole

SERIES = re.compile(r"agree/exdyna_threshold/step_(\d+)$")


def of_mean(points):
    middle = sum(value for _, value in points) / len(points)
    return [(step, value / middle) for step, value in points]


def threshold_curves(lines):
    """Of the lines of SERIES: what is beside each threshold is the norm."""
    found = [(int(SERIES.match(line["name"])[1]), line) for line in lines if SERIES.match(line["name"])]
    return {name: of_mean([(step, line[key]) for step, line in found])
            for name, key in (("threshold", "value"), ("L2 norm of what is not sent", "peer_value"))} if found else {}


def missed(line):
    return line["goal"] is not None and line["ratio"] is not None and line["ratio"] < line["goal"]


def selection_part(flags, _):
    told = os.path.join(flags.out, "agree.json")
    launching.call([os.path.join(flags.bin, "weir-bench"), "agree", "--json=" + told])
    found = load(told)
    if not isinstance(found, dict) or not found.get("lines"):
        sys.exit("error: weir-bench agree left no lines in %s" % told)
    pictures, curves = {}, threshold_curves(found["lines"])
    if curves:
        pictures["threshold"] = os.path.join(flags.out, "threshold.svg")
        write_whole(pictures["threshold"], threshold_picture(curves))
    for line in found["lines"]:
        print("%s: %.4g %s%s" % (line["name"], line["value"], line["unit"], ", misses its goal" if missed(line) else ""))
    return Result({"lines": found["lines"]}, found.get("machine", {}).get("commit", "unknown"),
                  not any(map(missed, found["lines"])), pictures)
