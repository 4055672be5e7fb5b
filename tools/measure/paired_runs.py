"""Runs of weir-local that are compared in pairs: done once and kept, and with which builds. What measure_criteo.py,
compare_policies, reproduce_dct and reproduce_dct_dp share."""

import json
import os
import re
import sys

import launching
from scripting import result_records
from scripting.result_files import load, remove, write_whole

PROGRAMS = ("weir-local", "weir-server", "weir-worker")
QUICKSTART = "configs/runs/quickstart.textproto"
# Its rows, unless a tool is told others.
ROWS, TEST_ROWS = 2000000, 500000
# Learning rates: the best of a small search with the dense run alone, on rows of configs/data/waves.textproto
# (docs/results/learning.md).
UPDATE_RULES = {
    "sgd": "dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 3 } }",
    "adagrad": "dense { adagrad { learning_rate: 0.005 } } "
               "rows { rowwise_adagrad { learning_rate: 0.01 initial_accumulator: 1e-7 } }",
}


def check_programs(binaries, config):
    """Ends with a message when what every run needs is not there. config: as weir-local takes it."""
    for path in [os.path.join(binaries, name) for name in PROGRAMS] + config.split(","):
        if not os.path.exists(path):
            sys.exit("error: there is no %s; build Release, name its programs by --bin, and run this "
                     "from the root of the repository" % path)


def sized(name, rows, test_rows=TEST_ROWS):
    """With other rows than usual these are in the name, so that a first look overwrites no longer run."""
    words = ["%d" % rows] * (rows != ROWS) + ["test%d" % test_rows] * (test_rows != TEST_ROWS)
    return "-".join([name, *words])


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


ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def unescaped(text):
    """A name that protobuf text has between quotes."""
    def byte(found):
        octal, hexadecimal, other = found.groups()
        if octal or hexadecimal:
            return bytes([int(octal, 8) & 255 if octal else int(hexadecimal, 16)])
        return ESCAPES.get(other, other)
    return os.fsdecode(re.sub(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", byte, os.fsencode(text)))


def data_files(directory):
    """Those that a run read, by the config that it left."""
    try:
        with open(os.path.join(directory, "config.textproto"), encoding="utf-8",
                  errors="surrogateescape") as f:
            text = f.read()
    except OSError:
        return []
    names = re.findall(r'^  (root|train|test): "((?:[^"\\\n]|\\.)*)"$', text, re.MULTILINE)
    root = "".join(unescaped(name) for kind, name in names if kind == "root")
    return [os.path.join(root, unescaped(name)) for kind, name in names if kind != "root"]


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
    return {*sources, *data_files(directory)} <= set(made_with) and states(made_with) == made_with


def run(directory, binaries, config, servers, trainers, override, reuse=False):
    """The summary of a run; with reuse, of an earlier one that would come out the same."""
    programs = [os.path.join(binaries, name) for name in PROGRAMS]
    command = [programs[0], "--config=" + config, "--servers=%d" % servers,
               "--trainers=%d" % trainers, "--out=" + directory, "--override=" + override]
    command += ["--insecure"] if servers > 0 else []  # what keys cost is measured by itself
    sources = [*programs, *config.split(",")]
    if not (reuse and is_current(directory, command, sources)):
        told = os.path.join(directory, "command.json")
        remove(told)  # what it tells of is about to be overwritten
        made_with = states(sources)
        launching.call(command)
        if states(sources) != made_with:
            sys.exit("error: a program or a config file was changed while %s was made with it; start "
                     "again, and leave them alone" % directory)
        made_with.update(states(data_files(directory)))
        # Last: now the run can be reused.
        write_whole(told, json.dumps({"command": command, "made_with": made_with}))
    with open(os.path.join(directory, "summary.json"), encoding="utf-8") as f:
        return json.load(f)


def machine(binaries):
    """This one, and what compiled these programs, for a record."""
    return result_records.machine(os.path.join(binaries, "weir-worker"))


def commits(directories):
    """Of the builds that made these runs, as their summaries tell them, for a record."""
    def told(directory):
        summary = load(os.path.join(directory, "summary.json"))
        commit = summary.get("commit") if isinstance(summary, dict) else None
        return commit if isinstance(commit, str) and commit else "unknown"
    return "; ".join(sorted(set(map(told, directories))))
