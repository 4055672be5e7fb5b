#!/usr/bin/env python3
"""The learning figures of docs/measurements.md: trains the Criteo sample with several settings and seeds
and prints mean and spread, paired by seed with the dense run of the same update rule.

  tools/measure_criteo.py [--seeds=8] [--out=build/measure] [--only=NAME,NAME]

Needs a Release build and ../shared/data. About 15 s a run on two idle cores."""

import argparse
import json
import os
import statistics
import subprocess
import sys

BIN = "build/release/bin/weir-local"
CONFIG = "configs/runs/criteo_sample.textproto"
DCT = "compression { default { dct { sparsity: %s lifespan: 100 } values: BF16 } }"
SGD = "update { dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 3 } } }"

# name: (servers, trainers, override, the run it is paired with)
SETTINGS = {
    "adagrad": (1, 1, "", None),
    "adagrad-2x2": (2, 2, "", "adagrad"),
    "adagrad-dct95": (1, 1, DCT % 0.95, "adagrad"),
    "adagrad-dct99": (1, 1, DCT % 0.99, "adagrad"),
    "sgd": (1, 1, SGD, None),
    "sgd-dct95": (1, 1, SGD + DCT % 0.95, "sgd"),
    "sgd-dct99": (1, 1, SGD + DCT % 0.99, "sgd"),
    "dct99-1x2": (1, 2, DCT % 0.99, "adagrad"),
    "dct99-1x4": (1, 4, DCT % 0.99, "adagrad"),
}


def run(out, name, seed):
    servers, trainers, override, _ = SETTINGS[name]
    directory = os.path.join(out, "%s-%d" % (name, seed))
    summary = os.path.join(directory, "summary.json")
    if not os.path.exists(summary):
        command = [BIN, "--config=" + CONFIG, "--servers=%d" % servers, "--trainers=%d" % trainers,
                   "--out=" + directory, "--override=%s run { seed: %d }" % (override, seed)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit("error: %s\n%s" % (" ".join(command), done.stdout))
    with open(summary, encoding="utf-8") as f:
        return json.load(f)


def mean_and_deviation(values):
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return "%.5f +- %.5f" % (statistics.mean(values), deviation)


def fewer(results, *kinds):
    dense = sum(r["wire"][k + "_bytes_dense"] for r in results for k in kinds)
    return dense / sum(r["wire"][k + "_bytes"] for r in results for k in kinds)


def density(results):
    layers = [layer for r in results for layer in r["layers"] if layer["elements"] >= 1000]
    return (sum(layer["density"] * layer["elements"] for layer in layers)
            / sum(layer["elements"] for layer in layers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", default="build/measure")
    parser.add_argument("--only", default=",".join(SETTINGS))
    flags = parser.parse_args()
    print("| run | AUC | logloss | AUC difference, paired | density | push fewer | push + pull fewer |")
    print("|---|---|---|---|---|---|---|")
    auc = {}
    for name in flags.only.split(","):
        results = [run(flags.out, name, seed) for seed in range(1, flags.seeds + 1)]
        auc[name] = [r["test"]["auc"] for r in results]
        base = auc.get(SETTINGS[name][3])
        pairs = [a - b for a, b in zip(auc[name], base)] if base else []
        print("| %s | %s | %s | %s | %.4f | %.1f | %.1f |" % (
            name, mean_and_deviation(auc[name]),
            mean_and_deviation([r["test"]["logloss"] for r in results]),
            mean_and_deviation(pairs) if pairs else "", density(results),
            fewer(results, "push"), fewer(results, "push", "pull")), flush=True)


if __name__ == "__main__":
    main()
