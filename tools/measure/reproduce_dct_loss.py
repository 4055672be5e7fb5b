"""reproduce_dct's tables of losses: what masks between stages cost, seed by seed beside what is sent whole. It gives
(headings, lines) of a table."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import paired_runs
from pair_statistics import mean, relative_differences, upper_limit
from paired_runs import QUICKSTART, UPDATE_RULES
from reproduce_dct_rows import LOSS_ROWS
from scripting.result_files import write_whole

LOSS_HEADINGS = ("table", "what", "seeds", "logloss", "difference, %", "standard error, %",
                 "95 % limit, %", "bound, %", "met", "everything sent, %", "AUC",
                 "forward, times fewer", "backward, times fewer")


# Of the Criteo sample: what its config has, and the rates of the best run without compression (measure_criteo.py).
CRITEO = "configs/runs/criteo_sample.textproto"
CRITEO_RULES = {"sgd": "update { dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 20 } } }",
                "adagrad": ""}
CONFIGS = {"synthetic": QUICKSTART, "criteo": CRITEO}


def loss_folder(flags, row, seed):
    name = "%s-%s-%d" % (flags.rule, row.name, seed)
    if flags.data == "criteo":
        return os.path.join(flags.out, "criteo-" + name)
    return os.path.join(flags.out, paired_runs.sized(name, flags.rows, flags.test_rows))


def rows_and_update(flags, row):
    """(fields of data, model, update)."""
    if flags.data == "criteo":
        return 'root: "../shared/data"', row.model, CRITEO_RULES[flags.rule]
    return ("synthetic { rows: %d test_rows: %d }" % (flags.rows, flags.test_rows), row.model,
            "update { %s }" % UPDATE_RULES[flags.rule])


def loss_run(flags, row, seed):
    """The summary of a run. Without servers unless the row has gradients compressed."""
    override = ("data { batch_size: 128 shuffle: true %s } %s %s "
                "%s cluster { window: 1 } run { seed: %d evaluate_every_samples: 0 } %s" % (
                    *rows_and_update(flags, row), row.pipeline, seed, row.compression))
    return paired_runs.run(loss_folder(flags, row, seed), flags.bin, CONFIGS[flags.data],
                           1 if row.compression else 0, 1, override, flags.reuse)


def chosen_rows(names):
    """The rows of these names, and those that they are compared with."""
    needed = {*names, *(row.base for row in LOSS_ROWS if row.name in names)}
    return [row for row in LOSS_ROWS if row.name in needed]


def run_loss(flags):
    """{row: summaries by seed}, seed after seed, so that what is done when a call ends is whole pairs."""
    rows = chosen_rows(flags.runs)
    runs = [(row, seed) for seed in range(1, flags.seeds + 1) for row in rows]
    results = {row.name: [] for row in rows}
    with ThreadPoolExecutor(flags.jobs) as pool:
        for (row, seed), summary in zip(runs, pool.map(lambda item: loss_run(flags, *item), runs)):
            results[row.name].append(summary)
            print("%s, seed %d: logloss %.5f" % (row.name, seed, summary["test"]["logloss"]), flush=True)
    return results


def times_fewer(results, kind):
    """Than 32-bit numbers of everything; frames alone, of all splits."""
    splits_of = [split for r in results for split in r["splits"]]
    sent = sum(split[kind + "_bytes"] for split in splits_of)
    return 4 * sum(split["elements"] for split in splits_of) / sent if sent else None


def percents(differences):
    return [100 * difference for difference in differences]


def loss_line(row, results, base):
    line = {"table": row.table, "what": row.what, "seeds": len(results),
            "logloss": mean(results, "logloss"), "auc": mean(results, "auc"),
            "forward": times_fewer(results, "forward"), "backward": times_fewer(results, "backward")}
    if row.base is None:
        return line
    line["difference"], line["error"], line["limit"] = upper_limit(percents(relative_differences(results, base)))
    whole = percents(relative_differences(results, base, lambda test: test.get("unmasked", test)["logloss"]))
    line["whole"] = sum(whole) / len(whole)
    line["bound"] = row.bound
    if row.bound is not None and line["limit"] is not None:
        line["met"] = line["limit"] <= row.bound
    return line


def loss_table(flags):
    """(headings, lines); leaves table.json, and in flags.met whether all limits are within their bounds."""
    results = run_loss(flags)
    lines = [loss_line(row, results[row.name], results.get(row.base)) for row in chosen_rows(flags.runs)]

    def cell(line, key, form):
        return form % line[key] if line.get(key) is not None else ""

    forms = (("table", "%s"), ("what", "%s"), ("seeds", "%d"), ("logloss", "%.5f"), ("difference", "%+.3f"),
             ("error", "%.3f"), ("limit", "%+.3f"), ("bound", "%g"), ("met", "%s"), ("whole", "%+.3f"),
             ("auc", "%.5f"), ("forward", "%.1f"), ("backward", "%.1f"))
    cells = [[cell(line, key, form).replace("True", "yes").replace("False", "NO") for key, form in forms]
             for line in lines]
    write_whole(os.path.join(flags.out, "table.json"), json.dumps(lines, indent=1) + "\n")
    flags.met = all(line.get("met", True) for line in lines)
    return LOSS_HEADINGS, cells
