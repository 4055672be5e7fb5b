"""compare_policies' tables: what each policy learned, what it sent, and what its largest layers did."""

import json
import math
import os
import statistics

from pair_statistics import density, fewer, mean_and_deviation, relative_differences, upper_limit
from scripting import result_records


def kilobytes(results, kind):
    return statistics.mean(r["wire"][kind + "_bytes"] / r["train"]["steps"] for r in results) / 1e3


def encode_milliseconds(result):
    """Selecting and coding, MLPs and rows, of a step."""
    seconds = sum(layer["encode_seconds"] for layer in result["layers"]) + result["rows"]["encode_seconds"]
    return 1e3 * seconds / result["train"]["steps"]


def learning(results, base):
    """(heading, cell) of what a policy's runs learned, with what traffic and at what speed; base: the runs of none."""
    logloss = [r["test"]["logloss"] for r in results]
    pairs = [100 * difference for difference in relative_differences(results, base)]
    auc = [r["test"]["auc"] for r in results]
    gains = [a - b["test"]["auc"] for a, b in zip(auc, base)]
    limit = upper_limit(pairs)[2] if results is not base else None
    best = [r["test"].get("bayes_logloss") for r in results]
    cells = [("test logloss", mean_and_deviation(logloss)),
             ("excess over none, %", "" if results is base else "%+.3f" % statistics.mean(pairs)),
             ("upper 95 % limit, %", "" if limit is None else "%+.3f" % limit)]
    if None not in best:  # of made-up data
        excess = [100 * (loss / least - 1) for loss, least in zip(logloss, best)]
        cells.append(("excess over the best possible, %", "%.2f" % statistics.mean(excess)))
    return cells + [
        ("test AUC", mean_and_deviation(auc, "%.4f")),
        ("difference to none", "" if results is base else "%+.4f" % statistics.mean(gains)),
        ("all bytes, times fewer", "%.1f" % fewer(results, "push", "pull", "row_push", "row_pull")),
        ("select and code, ms/step", "%.3f" % statistics.median(map(encode_milliseconds, results))),
        ("samples/s", "%.0f" % statistics.median(r["train"]["samples_per_second"] for r in results))]


def tried_none(results, is_best):
    """(heading, cell) of runs that sent everything, by what was laid over them."""
    return [("test logloss", mean_and_deviation([r["test"]["logloss"] for r in results])),
            ("test AUC", mean_and_deviation([r["test"]["auc"] for r in results], "%.4f")),
            ("the best", "yes" if is_best else "no")]


def traffic(results):
    """(heading, cell) of what a policy's runs sent."""
    sent = density(results)
    return [("density", "%.4f" % sent),
            ("elements by elements sent", "%.3g" % (1 / sent) if sent else "inf"),
            ("push, kB/step", "%.1f" % kilobytes(results, "push")),
            ("times fewer", "%.1f" % fewer(results, "push")),
            ("pull, kB/step", "%.1f" % kilobytes(results, "pull")),
            ("push + pull, times fewer", "%.1f" % fewer(results, "push", "pull")),
            ("rows up, kB/step", "%.1f" % kilobytes(results, "row_push")),
            ("rows down, kB/step", "%.1f" % kilobytes(results, "row_pull"))]


def entropy(probability):
    """Of a choice of two, in bits."""
    return sum(-p * math.log2(p) for p in (probability, 1 - probability) if 0 < p < 1)


def reports(folder):
    """(steps, {layer: density}) of each stretch of a run between two of its reports."""
    before = 0
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as f:
        for line in map(json.loads, f):
            if line["kind"] != "train" or line["steps"] == before:
                continue
            yield line["steps"] - before, {layer["name"]: layer["density"] for layer in line["layers"]}
            before = line["steps"]


def random_position_bits(stretches, name):
    """What an index takes at least where positions are random: of each stretch by its own density, since a mean of
    densities that differ would allow more."""
    pairs = [(steps, densities[name]) for steps, densities in stretches if densities.get(name)]
    sent = sum(steps * share for steps, share in pairs)
    return sum(steps * entropy(share) for steps, share in pairs) / sent if sent else 0


def layer_bits(results, folders, count):
    """(name, cell) of the largest layers, of all seeds: bits an element, and an index's of random positions."""
    stretches = [stretch for folder in folders for stretch in reports(folder)]
    largest = sorted(results[0]["layers"], key=lambda layer: -layer["elements"])[:count]
    cells = []
    for name in (layer["name"] for layer in largest):
        layers = [layer for r in results for layer in r["layers"] if layer["name"] == name]
        sent = sum(layer["density"] * layer["elements"] for layer in layers)
        bits = 8 * sum(layer["bytes_per_step"] for layer in layers) / sent if sent else 0
        cells.append((name, "%.1f (%.1f)" % (bits, random_position_bits(stretches, name)) if sent else ""))
    return cells


def named_columns(name, rows):
    """Of a record. rows: (policy, its cells); a column that says nothing of any policy is left out."""
    headings = [heading for i, (heading, _) in enumerate(rows[0][1]) if any(cells[i][1] for _, cells in rows)]
    return result_records.table(["laid over" if name == "none" else "policy", *headings], [
        [policy, *(cell for heading, cell in cells if heading in headings)] for policy, cells in rows])
