#!/usr/bin/env python3
"""Whether a long run keeps its memory: trains a small model for 200,000 steps on one server and two
trainers and follows the resident memory of the three processes.

  tools/measure/measure_memory.py [--steps=200000] [--warm_up=0.1] [--bound=0.02] [--durability=PROCESS]
      [--batch=16] [--json] [--bin=DIR] [--out=DIR] [--record=FILE]

Needs a Release build; about a minute on two idle cores. Ends with 1 when a process was not flat: its
largest value after the warm-up is more than the bound above its smallest. --json: the last line is
for weir-bench instead, in MB, which judges by itself. --record writes the table to a record of docs/results.
--durability: the server has a log. A step is two messages to the server, a push and a pull of rows, and two back;
with --batch=1 they are small.

The warm-up, the first tenth of the steps, is when memory grows for honest reasons: tables get their
rows (1,000 at most, and the rarest has come some ten times by then), residuals and versions are
touched for the first time, heaps grow to the longest queues."""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import launching  # noqa: E402
import paired_runs  # noqa: E402
from scripting import result_records, tool_flags  # noqa: E402
from scripting.result_files import make_folder  # noqa: E402

CONFIG = os.path.join(TOOLS, "../configs/runs/local.textproto")
BATCH = 16
TRAINERS = 2
SAMPLE_S = 0.2
MESSAGES_A_STEP = 4
MOMENTS = (0.1, 0.5, 1)
OVERRIDE = """
data { batch_size: %d synthetic { rows: %d test_rows: 1000 rows_per_table: 1000 } }
compression { default { dct { sparsity: 0.99 lifespan: 1000 } values: BF16 } }
cluster { durability: %s }
run { report_interval_ms: %d }"""


def read(path):
    """What of a process or of a run is gone or not there yet is empty."""
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except (OSError, UnicodeDecodeError):
        return ""


def children(pid):
    return [int(child) for child in read("/proc/%d/task/%d/children" % (pid, pid)).split()]


def name_of(pid):
    """As weir-worker-1: the program and which of its kind it is."""
    flags = read("/proc/%d/cmdline" % pid).split("\0")
    number = [flag.split("=")[1] for flag in flags if flag.startswith(("--shard=", "--trainer="))]
    return "-".join([os.path.basename(flags[0])] + number)


def resident_bytes(pid):
    """0 when the process has ended. Not VmRSS of status, which many kernels only estimate, to some
    256 KiB."""
    lines = [line for line in read("/proc/%d/smaps_rollup" % pid).splitlines()
             if line.startswith("Rss:")]
    return 1024 * int(lines[0].split()[1]) if lines else 0


def steps_in(line):
    try:
        return json.loads(line).get("steps", 0)
    except (ValueError, AttributeError):
        return 0  # of an earlier run, which is about to be removed


def steps_so_far(out):
    """Of the whole run, which each trainer's metrics tell."""
    texts = [read("%s/trainer-%d/metrics.jsonl" % (out, trainer)) for trainer in range(TRAINERS)]
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return max((steps_in(line) for line in lines if line.endswith("\n")), default=0)


def follow(flags):
    """Runs it. [(steps, {process: resident bytes})]"""
    # Metrics are read again and again: not too many lines of them.
    override = OVERRIDE % (flags.batch, flags.batch * flags.steps, flags.durability, max(200, flags.steps // 2000))
    command = [os.path.join(flags.bin, "weir-local"), "--config=" + CONFIG, "--servers=1",
               "--trainers=%d" % TRAINERS, "--insecure", "--out=" + flags.out, "--override=" + override]
    if flags.durability != "NONE":
        command.append("--data_dir=" + os.path.join(flags.out, "data"))
    samples = []
    # A pipe would be full some time, and nobody reads it meanwhile.
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with launching.started(command, stdout=said, stderr=subprocess.STDOUT) as run:
            while run.poll() is None:
                now = {name_of(pid): resident_bytes(pid) for pid in children(run.pid)}
                # Afterwards: a process that was about to end by then has told its last step.
                samples.append((steps_so_far(flags.out), now))
                time.sleep(SAMPLE_S)
        said.seek(0)
        launching.check(run, command, said.read())
    return samples


def spreads(samples, first_step, end_step):
    """{process: (values, smallest, largest, last)} of the samples in [first_step, end_step)."""
    values = {}
    for steps, processes in samples:
        if first_step <= steps < end_step:
            for name, value in processes.items():
                values.setdefault(name, []).append(value)
    return {name: (len(v), min(v), max(v), v[-1]) for name, v in sorted(values.items())}


def moments(samples, steps):
    """{process: resident bytes once these shares of the steps were done, or when it was seen last}."""
    seen = {}
    for done, processes in samples:
        for name, value in processes.items():
            seen.setdefault(name, []).extend([(done, value)] if value else [])
    return {name: [next((value for done, value in values if done >= share * steps), values[-1][1]) for share in MOMENTS]
            for name, values in sorted(seen.items()) if values}


def moments_table(found):
    return result_records.table(
        ["process", *("at %g %%, kB" % (100 * share) for share in MOMENTS)],
        [[name, *("%.0f" % (value / 1e3) for value in values)] for name, values in found.items()])


def report(found, bound):
    """Prints it. Whether every process was flat."""
    print(result_records.markdown(table(found)), end="")
    return all(high - low <= bound * low for _, low, high, _ in found.values())


def table(found):
    return result_records.table(
        ["process", "values", "smallest, kB", "largest, kB", "last, kB", "largest over smallest"],
        [[name, "%d" % count, *("%.0f" % (value / 1e3) for value in (low, high, last)),
          "+%.2f %%" % (100 * (high / max(low, 1) - 1))] for name, (count, low, high, last) in found.items()])


def write_record(flags, found, at):
    words = ["tools/measure/measure_memory.py", "--steps=%d" % flags.steps, "--warm_up=%g" % flags.warm_up]
    words += ["--durability=" + flags.durability] if flags.durability != "NONE" else []
    words += ["--batch=%d" % flags.batch] if flags.batch != BATCH else []
    what = "Resident memory over %s messages, %s steps of a small model." % (
        "{:,}".format(MESSAGES_A_STEP * flags.steps), "{:,}".format(flags.steps))
    result_records.write(flags.record, what, " ".join(words), paired_runs.commits([flags.out]),
                         paired_runs.machine(flags.bin),
                         {"tables": {"processes": table(found), "moments": moments_table(at)}})


def as_json(found):
    values = {}
    for name, (_, low, high, _) in found.items():
        values[name + "/smallest"] = low / 1e6
        values[name + "/largest"] = high / 1e6
    return json.dumps({"peer": "its smallest after the warm-up", "values": values})


def parse_flags():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--steps", type=int, default=200000)
    parser.add_argument("--warm_up", type=float, default=0.1, help="share of the steps")
    parser.add_argument("--bound", type=float, default=0.02, help="share of the memory")
    parser.add_argument("--durability", choices=("NONE", "PROCESS", "MACHINE"), default="NONE")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--json", action="store_true", help="the last line is for weir-bench")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--out", default="build/memory")
    result_records.add_flag(parser)
    flags = parser.parse_args()
    if flags.batch < 1:
        parser.error("--batch: at least 1")
    if flags.steps < 1 or not 0 <= flags.warm_up < 1 or not flags.bound > 0:
        parser.error("--steps: at least 1; --warm_up: a share from 0 to below 1; --bound: above 0")
    return flags


def main():
    flags = parse_flags()
    paired_runs.check_programs(flags.bin, CONFIG)
    make_folder(flags.out)
    samples = follow(flags)
    found = spreads(samples, flags.warm_up * flags.steps, flags.steps)
    if len(found) != 1 + TRAINERS:
        sys.exit("error: the run was too short to look at its %d processes: %s"
                 % (1 + TRAINERS, ", ".join(found) or "none seen"))
    flat = report(found, flags.bound)
    at = moments(samples, flags.steps)
    if flags.record:
        write_record(flags, found, at)
    if flags.json:
        print(as_json(found))
        return 0
    print("%s within %g %% after the first %g %% of %d steps"
          % ("flat" if flat else "NOT flat", 100 * flags.bound, 100 * flags.warm_up, flags.steps))
    return 0 if flat else 1


if __name__ == "__main__":
    launching.run_tool(main)
