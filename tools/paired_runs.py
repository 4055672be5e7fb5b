"""Runs of weir-local that are compared in pairs: done once and kept, what their summaries say, and
how sure a mean difference is. What measure_criteo.py, reproduce_dct
and reproduce_dct_dp share."""

import argparse
import functools
import json
import math
import os
import re
import statistics
import subprocess
import sys

PROGRAMS = ("weir-local", "weir-server", "weir-worker")
# Of a smaller tensor, one element more or less is a visible share of the density.
MIN_ELEMENTS = 1000
# Learning rates: the best of a small search with the dense run alone (docs/measurements.md).
UPDATE_RULES = {
    "sgd": "dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 3 } }",
    "adagrad": "dense { adagrad { learning_rate: 0.005 } } "
               "rows { rowwise_adagrad { learning_rate: 0.01 initial_accumulator: 1e-7 } }",
}


def check_programs(binaries, config):
    """Ends with a message when what every run needs is not there. config: as weir-local takes it."""
    present_commit()  # before the tree is changed meanwhile
    for path in [os.path.join(binaries, name) for name in PROGRAMS] + config.split(","):
        if not os.path.exists(path):
            sys.exit("error: there is no %s; build Release, name its programs by --bin, and run this "
                     "from the folder that the repository is in" % path)


def once(values):
    """A flag's values, each of which may be there once."""
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError("each once")
    return values


def some(known):
    """The type of a flag that takes some of these words, with commas between them."""
    def parse(text):
        found = text.split(",")
        unknown = [word for word in found if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                "no %s; there are %s" % (", ".join(unknown), ", ".join(known)))
        return once(found)
    return parse


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        sys.exit("error: --out: %s" % error)


def load(path):
    """What a JSON file holds; None when there is none, or a damaged one."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def states(paths):
    """{path: what tells one state of a file from others}; a file that is not there has none."""
    found = {}
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = [status.st_mtime_ns, status.st_size, status.st_ino]
    return found


def data_files(directory):
    """Those that a run read, by the config that it left."""
    try:
        with open(os.path.join(directory, "config.textproto"), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return []
    root = re.search(r'^  root: "(.*)"$', text, re.MULTILINE)
    return [os.path.join(root.group(1) if root else "", path)
            for path in re.findall(r'^  (?:train|test): "(.*)"$', text, re.MULTILINE)]


def is_current(directory, command, sources):
    """Whether the directory holds the results of this command, made with these files as they are."""
    summary, told = (os.path.join(directory, name) for name in ("summary.json", "command.json"))
    results, tale = load(summary), load(told)
    if not isinstance(results, dict) or "test" not in results or not isinstance(tale, dict):
        return False
    if tale.get("command") != command or not isinstance(tale.get("made_with"), dict):
        return False
    if os.path.getmtime(summary) > os.path.getmtime(told):
        return False  # of another run, by hand
    made_with = tale["made_with"]
    return set(sources) <= set(made_with) and states(made_with) == made_with


def call(command):
    """Runs it to its end; ends with what it said when that was not well."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit("error: %s\n%s" % (" ".join(command), done.stdout))


def run(directory, binaries, config, servers, trainers, override, reuse=False):
    """The summary of a run; with reuse, of an earlier one that would come out the same."""
    programs = [os.path.join(binaries, name) for name in PROGRAMS]
    command = [programs[0], "--config=" + config, "--servers=%d" % servers,
               "--trainers=%d" % trainers, "--out=" + directory, "--override=" + override]
    sources = [*programs, *config.split(",")]
    if not (reuse and is_current(directory, command, sources)):
        told = os.path.join(directory, "command.json")
        if os.path.exists(told):
            os.remove(told)  # what it tells of is about to be overwritten
        made_with = states(sources)
        call(command)
        if states(sources) != made_with:
            sys.exit("error: a program or a config file was changed while %s was made with it; start "
                     "again, and leave them alone" % directory)
        made_with.update(states(data_files(directory)))
        with open(told + ".partial", "w", encoding="utf-8") as f:
            json.dump({"command": command, "made_with": made_with}, f)
        with open(os.path.join(directory, "commit"), "w", encoding="utf-8") as f:
            f.write(present_commit())
        os.replace(told + ".partial", told)  # last: now the run can be reused
    with open(os.path.join(directory, "summary.json"), encoding="utf-8") as f:
        return json.load(f)


@functools.lru_cache
def present_commit():
    """Of the tree, as it was when this was first asked. Pages that are being filled are no change."""
    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True,
                              cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)docs")
        return git("describe", "--always") + (", changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "a tree without a commit"


def commits(directories):
    """Of the trees that these runs were made with, for a page."""
    found = set()
    for directory in directories:
        try:
            with open(os.path.join(directory, "commit"), encoding="utf-8") as f:
                found.add(f.read())
        except OSError:
            found.add("a tree that is not known")
    return "; ".join(sorted(found))


def fewer(results, *kinds):
    """How many times fewer bytes of these kinds than 32-bit values of everything; infinity if none."""
    dense = sum(r["wire"][k + "_bytes_dense"] for r in results for k in kinds)
    sent = sum(r["wire"][k + "_bytes"] for r in results for k in kinds)
    return dense / sent if sent else math.inf


def density(results):
    """Realised, over the tensors that are large enough, or over all when there are none."""
    every = [layer for r in results for layer in r["layers"]]
    layers = [layer for layer in every if layer["elements"] >= MIN_ELEMENTS] or every
    elements = sum(layer["elements"] for layer in layers)
    return sum(layer["density"] * layer["elements"] for layer in layers) / elements


def mean_and_deviation(values, form="%.5f"):
    """In words; one value has no deviation."""
    mean = form % statistics.mean(values)
    return "%s +- %s" % (mean, form % statistics.stdev(values)) if len(values) > 1 else mean


def student_t(share, freedom):
    """The value that Student's t stays below with this probability, between 0.5 and 1."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def below(t):
        # Simpson's rule over an angle: with t = sqrt(freedom) tan(angle) there is no long tail.
        steps = 400
        width = math.atan(t / math.sqrt(freedom)) / steps
        weights = (1 if i in (0, steps) else 4 if i % 2 else 2 for i in range(steps + 1))
        area = sum(w * math.cos(i * width) ** (freedom - 1) for i, w in enumerate(weights))
        return 0.5 + scale * area * width / 3

    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2


def upper_limit(values, share=0.95):
    """(mean, its standard error, upper one-sided confidence limit of the mean) by Student's t; the
    last two are None for one value."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return mean, None, None
    error = statistics.stdev(values) / math.sqrt(len(values))
    return mean, error, mean + student_t(share, len(values) - 1) * error
