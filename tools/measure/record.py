#!/usr/bin/env python3
"""Makes a record of docs/results from what a program of the project left, as it is.

  tools/measure/record.py --from=lines.json --command='weir-bench all' --record=docs/results/bench-NAME.json
                          [--what=TEXT] [--bin=DIR] [--log=FILE]
  tools/measure/record.py --from=none=out/none,dct_99=out/dct --command='tools/quickstart' --record=...
  tools/measure/record.py --log=test.log --command='tools/test' --record=...

--from is a file of `weir-bench --json`, or names and folders of runs, of whose summary.json the record
gets the speed, the test loss and the bytes. Of a record that is there what it says that it is stays, unless
--what says it anew. --command is what one types to measure it again. --log is what that printed, of a script that tells its stages:
the record gets how long each took, and with --from what it ended with. Then tools/pages/make_results.py."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import paired_runs  # noqa: E402
from pair_statistics import fewer  # noqa: E402
from scripting import result_records, tool_flags  # noqa: E402
from scripting.result_files import load  # noqa: E402

COLUMNS = ("run", "samples/s", "test logloss", "test AUC", "all bytes, times fewer", "push, times fewer",
           "push + pull, times fewer")


def run_row(name, summary):
    kinds_of = (("push", "pull", "row_push", "row_pull"), ("push",), ("push", "pull"))
    told = [fewer([summary], *kinds) for kinds in kinds_of]
    return [name, "%.0f" % summary["train"]["samples_per_second"], "%.4f" % summary["test"]["logloss"],
            "%.4f" % summary["test"]["auc"], *("%.1f" % times for times in told)]


def of_runs(text, binaries):
    """(commit, machine, results) of "NAME=FOLDER,NAME=FOLDER"."""
    names = dict(part.partition("=")[::2] for part in text.split(","))
    rows = []
    for name, folder in names.items():
        try:
            rows.append(run_row(name, load(os.path.join(folder, "summary.json"))))
        except (KeyError, TypeError):
            sys.exit("error: --from: %s has no summary.json of a run that was tested" % (folder or name))
    return (paired_runs.commits(names.values()), paired_runs.machine(binaries),
            {"tables": {"runs": result_records.table(COLUMNS, rows)}})


def of_bench(path):
    told = load(path)
    kinds = {key: type(told.get(key)) for key in ("lines", "machine")} if isinstance(told, dict) else {}
    if kinds != {"lines": list, "machine": dict}:
        sys.exit("error: --from: %s is no file of weir-bench --json" % path)
    machine = {**told["machine"], "os": result_records.system()}
    commit = machine.pop("commit", "unknown")
    return commit, machine, {"lines": told["lines"]}


STAGE = re.compile(r"^=== (?P<title>.*)\n(?P<said>(?:.*\n)*?)--- (?P=title): (?P<seconds>\d+) s, (?P<cpu>\d+) CPU-seconds$", re.M)


PASSING = re.compile(r"^(\[\d+/\d+\] |written: ).*\n", re.M)


def of_log(path):
    """(table of stages, {stage: what it ended with}): progress, of a build and before the report of a run, and names of
    files that were written are left out."""
    said = result_records.text(path)
    stages = list(STAGE.finditer(said or ""))
    if not stages:
        sys.exit("error: --log: %s tells no stages" % path)
    endings = {found["title"]: re.sub(r"^(.*\n)*?(?=done: )", "", found["said"]) for found in stages}
    lines = [[found["title"], found["seconds"], found["cpu"]] for found in stages]
    lines.append(["all", *(str(sum(int(line[i]) for line in lines)) for i in (1, 2))])
    table = result_records.table(("stage", "seconds", "CPU-seconds"), lines)
    return table, {title: PASSING.sub("", text).strip("\n") for title, text in endings.items()}


def parse_flags():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--from", dest="source")
    parser.add_argument("--command", required=True)
    parser.add_argument("--what")
    parser.add_argument("--log")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs")
    result_records.add_flag(parser)
    flags = parser.parse_args()
    if not flags.record:
        parser.error("--record: name the file to write")
    if not flags.source and not flags.log:
        parser.error("name what to record: --from, --log or both")
    return flags


def commit_of(binaries):
    """As a program of that folder tells it."""
    try:
        said = subprocess.run([os.path.join(binaries, "weir-worker"), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit("error: --bin: %s" % error)
    return said.stdout.strip().rpartition("version ")[2] or "unknown"


def of_source(source, binaries):
    if not source:
        return commit_of(binaries), paired_runs.machine(binaries), {"tables": {}}
    return of_runs(source, binaries) if "=" in source else of_bench(source)


def main():
    flags = parse_flags()
    commit, machine, results = of_source(flags.source, flags.bin)
    if flags.log:
        results["tables"]["stages"], printed = of_log(flags.log)
        results |= {"printed": printed} if flags.source else {}
    try:
        result_records.write(flags.record, flags.what or "Runs of %s." % flags.command, flags.command, commit, machine,
                             results, keep_what=not flags.what)
    except ValueError as error:
        sys.exit("error: %s" % error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
