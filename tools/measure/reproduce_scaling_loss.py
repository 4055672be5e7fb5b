"""reproduce_scaling's convergence: what four trainers learn that send 1 % of the elements, seed by seed beside sending
everything in rounds."""

import os
from dataclasses import dataclass

import paired_runs
from paired_runs import QUICKSTART, UPDATE_RULES
from pair_statistics import fewer, mean, relative_differences, upper_limit
from scaling_result import Result
from scripting import result_records

TRAINERS, BATCH, RULE = 4, 128, "adagrad"
BOUND_PERCENT = 0.3  # of the upper limit
IN_ROUNDS, WITHOUT = "in rounds", "without rounds"
COLUMNS = ("policy", "mode", "seeds", "logloss", "difference, %", "standard error, %", "95 % limit, %", "bound, %", "kept",
           "AUC", "push + pull, times fewer")


@dataclass(frozen=True)
class Form:
    policy: str
    mode: str = IN_ROUNDS
    is_bound: bool = False


FORMS = (Form("none"), *(Form(policy, is_bound=True) for policy in ("deft", "exdyna", "clt_k")), Form("union_top_k"),
         *(Form(policy, WITHOUT) for policy in ("none", "deft", "exdyna", "clt_k")))
DENSE = FORMS[0]


def folder(flags, form, seed):
    name = "%s-%s-%d" % (form.policy, "sync" if form.mode == IN_ROUNDS else "async", seed)
    return os.path.join(flags.out, paired_runs.sized(name, flags.rows, flags.test_rows))


def run(flags, form, seed):
    """The summary of a run with the policy's own file; all else is the same in each."""
    override = ("data { batch_size: %d shuffle: true synthetic { rows: %d test_rows: %d } } update { %s } %s"
                "run { seed: %d evaluate_every_samples: 0 }" % (
                    BATCH, flags.rows, flags.test_rows, UPDATE_RULES[RULE],
                    "consistency { sync {} } " if form.mode == IN_ROUNDS else "", seed))
    return paired_runs.run(folder(flags, form, seed), flags.bin, "%s,configs/policies/%s.textproto" % (QUICKSTART, form.policy),
                           1, TRAINERS, override, flags.reuse)


def run_all(flags, seeds):
    """{form: summaries by seed}, seed after seed, so that what is done when a call ends is whole pairs."""
    results = {form: [] for form in FORMS}
    for seed in seeds:
        for form in FORMS:
            results[form].append(run(flags, form, seed))
            print("%s %s, seed %d: logloss %.5f" % (form.policy, form.mode, seed, results[form][-1]["test"]["logloss"]),
                  flush=True)
    return results


def line(form, results, dense):
    """Of the table, and whether its bound is kept; one seed has no limit, and keeps none."""
    told = [form.policy, form.mode, "%d" % len(results), "%.5f" % mean(results, "logloss")]
    end = ["%.4f" % mean(results, "auc"), "%.1f" % fewer(results, "push", "pull")]
    if form == DENSE:
        return [*told, "", "", "", "", "", *end], True
    middle, error, limit = upper_limit([100 * difference for difference in relative_differences(results, dense)])
    kept = limit is not None and limit <= BOUND_PERCENT
    bounds = ["%g" % BOUND_PERCENT, "yes" if kept else "**no**"] if form.is_bound else ["", ""]
    spread = ["%.3f" % error, "%+.3f" % limit] if limit is not None else ["", ""]
    return [*told, "%+.3f" % middle, *spread, *bounds, *end], kept or not form.is_bound


def convergence_part(flags, seeds):
    results = run_all(flags, seeds)
    lines, kept = zip(*(line(form, results[form], results[DENSE]) for form in FORMS))
    folders = [folder(flags, form, seed) for form in FORMS for seed in seeds]
    return Result({"tables": {"convergence": result_records.table(COLUMNS, lines)}}, paired_runs.commits(folders), all(kept))
