"""Programs in the place of weir-local, weir-server and weir-worker, for tests of the tools that start them."""

import json
import os
import time

COMMIT = "abc1234, changed"
DEADLINE_S = 30

SUMMARY = {
    "commit": COMMIT,
    "train": {"samples": 1000, "seconds": 2.0, "samples_per_second": 500.0, "steps": 8, "logloss": 0.69},
    "test": {"samples": 100, "logloss": 0.5, "auc": 0.75},
    "wire": {kind + "_bytes" + of: 800 for kind in ("push", "pull", "row_push", "row_pull", "total")
             for of in ("", "_dense")},
    "layers": [{"name": "top/0/weight", "elements": 3000, "density": 1, "encode_seconds": 0, "bytes_per_step": 9}],
    "rows": {"encode_seconds": 0}, "splits": []}

# $out is its --out and $here the folder that it lies in.
PROGRAM = """#!/bin/bash
here=$(dirname "$0")
for argument in "$@"; do
  case "$argument" in --out=*) out=${{argument#*=}} ;; esac
done
{script}
"""
DONE = "mkdir -p \"$out\"; cp \"$here/summary\" \"$out/summary.json\""
# Says that it has started, and takes a moment to end when it is told to.
LONG = """
exec 2>/dev/null
trap 'kill -9 $child; sleep 0.2; touch "$here/ended-$$"; exit 130' TERM
sleep 600 & child=$!
echo > "$here/started-$$"
wait
"""
STUBBORN = "trap '' TERM INT HUP; echo > \"$here/started-$$\"; exec sleep 600"


def write_programs(folder, script=DONE, summary=None):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "summary"), "w", encoding="utf-8") as f:
        json.dump(summary or SUMMARY, f)
    for name in ("weir-local", "weir-server", "weir-worker"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM.format(script=script))
        os.chmod(path, 0o755)


def numbers(folder, what):
    """Process numbers of those that have started, or ended when they were told to."""
    return {int(name.split("-")[1]) for name in os.listdir(folder) if name.startswith(what + "-")}


def is_running(number):
    try:
        with open("/proc/%d/stat" % number, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited too long")
        time.sleep(0.01)
