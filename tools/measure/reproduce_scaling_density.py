"""reproduce_scaling's density: what is sent of what was set, by the number of trainers in rounds."""

import json
import os

import paired_runs
from paired_runs import QUICKSTART
from pair_statistics import mean_and_deviation
from scaling_picture import sent_picture
from scaling_result import Result
from scripting import result_records
from scripting.result_files import write_whole

# Of the set density; None where the paper's point is that it does not hold.
BOUNDS = {"deft": 0.02, "exdyna": 0.03, "clt_k": 0.001, "union_top_k": None}
BATCH, TEST_ROWS, REPORT_MS = 16, 1000, 50
CHUNK = 10  # batches; short ones leave no trainer alone at the end
# What is kept grows over the first steps, so what is sent is told without them too.
SETTLED_FROM = 0.5


def folder(flags, policy, density, trainers, seed):
    return os.path.join(flags.out, "density-%s-%g-%d-%d-%d" % (policy, density, trainers, flags.steps, seed))


def run(flags, policy, density, trainers, seed):
    """The summary of a run of so many rounds. Reports often, so that its metrics tell the later half apart."""
    rows = flags.steps * trainers * BATCH
    override = ("data { batch_size: %d chunk_batches: %d synthetic { rows: %d test_rows: %d } } consistency { sync {} } "
                "compression { default { %s { sparsity: %.6g } values: BF16 } } "
                "run { seed: %d evaluate_every_samples: 0 report_interval_ms: %d }" % (
                    BATCH, CHUNK, rows, TEST_ROWS, policy, 1 - density, seed, REPORT_MS))
    return paired_runs.run(folder(flags, policy, density, trainers, seed), flags.bin, QUICKSTART, 1, trainers,
                           override, flags.reuse)


def sent_density(layers, elements=None):
    """Of all layers of the rule together. elements: of each layer, where the layers do not tell."""
    counts = [elements[layer["name"]] if elements else layer["elements"] for layer in layers]
    return sum(layer["density"] * count for layer, count in zip(layers, counts)) / sum(counts)


def of_rule(layers):
    return [layer for layer in layers if not layer["name"].startswith("table/")]


def settled_density(metrics, layers):
    """Of the intervals that begin behind SETTLED_FROM of the steps. metrics: lines of metrics.jsonl; layers: of the
    summary. None where there is no such interval."""
    elements = {layer["name"]: layer["elements"] for layer in of_rule(layers)}
    lines = [line for line in map(json.loads, metrics) if line["kind"] == "train"]
    begin, sent, steps = 0, 0.0, 0
    for line in lines:
        told = of_rule(line["layers"])
        if begin >= SETTLED_FROM * lines[-1]["steps"] and all(layer["density"] is not None for layer in told):
            sent += (line["steps"] - begin) * sent_density(told, elements)
            steps += line["steps"] - begin
        begin = line["steps"]
    return sent / steps if steps else None


def measured(flags, policy, density, trainers, seeds):
    """([sent of what was set], the same of the later half), by seed."""
    whole, settled = [], []
    for seed in seeds:
        layers = of_rule(run(flags, policy, density, trainers, seed)["layers"])
        whole.append(sent_density(layers) / density)
        with open(os.path.join(folder(flags, policy, density, trainers, seed), "metrics.jsonl"), encoding="utf-8") as f:
            later = settled_density(f, layers)
        settled += [later / density] if later is not None else []
    return whole, settled


def is_kept(policy, shares):
    bound = BOUNDS[policy]
    return bound is None or abs(sum(shares) / len(shares) - 1) <= bound


def cell(policy, shares):
    """Bold breaks its bound; empty where nothing was measured."""
    if not shares:
        return ""
    told = mean_and_deviation(shares, "%.3f")
    return told if is_kept(policy, shares) else "**%s**" % told


def tables(results, policies):
    """Of {(density, trainers, policy): (of all steps, of the later half)}; a row for each density and number."""
    columns = ("set, %", "trainers", *policies)
    places = list(dict.fromkeys(key[:2] for key in results))
    return {name: result_records.table(columns, [
        ["%g" % (100 * density), "%d" % trainers,
         *(cell(policy, results[density, trainers, policy][which]) for policy in policies)] for density, trainers in places])
        for which, name in enumerate(("sent", "settled"))}


def curves(results):
    found = {}
    for (density, trainers, policy), (whole, _) in results.items():
        found.setdefault("%s, %g %%" % (policy, 100 * density), []).append((trainers, sum(whole) / len(whole)))
    return found


def density_part(flags, seeds):
    results, folders = {}, []
    for density in flags.densities:
        for trainers in flags.trainers:
            for policy in flags.policies:
                results[density, trainers, policy] = measured(flags, policy, density, trainers, seeds)
                folders += [folder(flags, policy, density, trainers, seed) for seed in seeds]
                print("%g %%, %d trainers, %s: %s" % (100 * density, trainers, policy, "; ".join(
                    cell(policy, shares) for shares in results[density, trainers, policy])), flush=True)
    picture = os.path.join(flags.out, "sent.svg")
    write_whole(picture, sent_picture(curves(results)))
    kept = all(is_kept(policy, whole) for (_, _, policy), (whole, _) in results.items())
    return Result({"tables": tables(results, flags.policies)}, paired_runs.commits(folders), kept, {"sent": picture})
