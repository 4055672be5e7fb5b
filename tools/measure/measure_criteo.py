#!/usr/bin/env python3
"""The learning figures of docs/results/learning.md: trains the Criteo sample with several settings and seeds
and prints mean and spread, paired by seed with the dense run of the same update rule.

  tools/measure/measure_criteo.py [--seeds=8] [--out=build/measure] [--only=NAME,NAME] [--reuse] [--bin=DIR]
                           [--record=FILE]

Needs a Release build and ../shared/data. About 15 s a run on two idle cores. --reuse goes on where an
earlier call ended: what was run with other settings, or before the programs or the config changed,
is run again. --record writes the table to a record of docs/results, from which tools/pages/make_results.py
makes the pages."""

import os
import shlex
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import paired_runs  # noqa: E402
from scripting import result_records, tool_flags  # noqa: E402
from launching import run_tool  # noqa: E402
from pair_statistics import density, fewer, mean_and_deviation  # noqa: E402
from scripting.result_files import make_folder  # noqa: E402

CONFIG = "configs/runs/criteo_sample.textproto"
DATA = 'data { root: "../shared/data" }'
DCT = "compression { default { dct { sparsity: %s lifespan: 100 } values: BF16 } }"
SGD = "update { dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: %d } } }"

# name: (servers, trainers, override, the run it is paired with)
SETTINGS = {
    "adagrad": (1, 1, "", None),
    "adagrad-2x2": (2, 2, "", "adagrad"),
    "adagrad-dct95": (1, 1, DCT % 0.95, "adagrad"),
    "adagrad-dct99": (1, 1, DCT % 0.99, "adagrad"),
    "sgd3": (1, 1, SGD % 3, None),
    "sgd3-dct95": (1, 1, SGD % 3 + DCT % 0.95, "sgd3"),
    "sgd3-dct99": (1, 1, SGD % 3 + DCT % 0.99, "sgd3"),
    # The rate of the rows that was best for the dense run.
    "sgd20": (1, 1, SGD % 20, None),
    "sgd20-dct95": (1, 1, SGD % 20 + DCT % 0.95, "sgd20"),
    "sgd20-dct99": (1, 1, SGD % 20 + DCT % 0.99, "sgd20"),
    "dct99-1x2": (1, 2, DCT % 0.99, "adagrad"),
    "dct99-1x4": (1, 4, DCT % 0.99, "adagrad"),
}


def folder(flags, name, seed):
    return os.path.join(flags.out, "%s-%d" % (name, seed))


def run(flags, name, seed):
    servers, trainers, override, _ = SETTINGS[name]
    return paired_runs.run(folder(flags, name, seed), flags.bin, CONFIG, servers,
                           trainers, "%s %s run { seed: %d }" % (DATA, override, seed), flags.reuse)


COLUMNS = ("run", "test AUC", "test logloss", "AUC difference, paired", "density", "all bytes, times fewer",
           "push, times fewer", "pull, times fewer", "push + pull, times fewer")


def row(name, results, base):
    """Of the table. Pushes and pulls are those of the MLPs, all bytes those of rows too. base: nothing, or the runs
    that it is paired with."""
    auc = [r["test"]["auc"] for r in results]
    pairs = [a - b["test"]["auc"] for a, b in zip(auc, base or ())]
    cells = [fewer(results, *kinds) for kinds in (
        ("push", "pull", "row_push", "row_pull"), ("push",), ("pull",), ("push", "pull"))]
    return [name, mean_and_deviation(auc), mean_and_deviation([r["test"]["logloss"] for r in results]),
            mean_and_deviation(pairs) if pairs else "", "%.4f" % density(results), *("%.1f" % cell for cell in cells)]


def command(flags):
    words = ["--only=" + ",".join(flags.only)] if len(flags.only) < len(SETTINGS) else []
    return shlex.join(["tools/measure/measure_criteo.py", *words, "--seeds=%d" % flags.seeds])


def write_record(flags, rows):
    folders = [folder(flags, name, seed) for name in flags.only for seed in range(1, flags.seeds + 1)]
    result_records.write(flags.record, "The Criteo sample, seeds 1 to %d." % flags.seeds, command(flags),
                         paired_runs.commits(folders), paired_runs.machine(flags.bin),
                         {"tables": {"runs": result_records.table(COLUMNS, rows)}})


def parse_flags():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", default="build/measure")
    parser.add_argument("--only", type=tool_flags.some(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs")
    result_records.add_flag(parser)
    flags = parser.parse_args()
    flags.only = [name for name in SETTINGS if name in flags.only]  # bases come first
    alone = [name for name in flags.only if SETTINGS[name][3] not in (None, *flags.only)]
    if alone:
        parser.error("--only: %s needs %s beside it" % (alone[0], SETTINGS[alone[0]][3]))
    if flags.seeds < 1:
        parser.error("--seeds: at least 1")
    return flags


def main():
    flags = parse_flags()
    paired_runs.check_programs(flags.bin, CONFIG)
    make_folder(flags.out)
    print(result_records.markdown(result_records.table(COLUMNS, [])), end="")
    results, rows = {}, []
    for name in flags.only:
        results[name] = [run(flags, name, seed) for seed in range(1, flags.seeds + 1)]
        rows.append(row(name, results[name], results.get(SETTINGS[name][3])))
        print("| %s |" % " | ".join(rows[-1]), flush=True)
    if flags.record:
        write_record(flags, rows)
    return 0


if __name__ == "__main__":
    run_tool(main, "; with --reuse it goes on from here")
