"""One run of real processes that is disturbed, and what must be true at its end. Of tools/chaos."""

import contextlib
import os
import random
import shutil
import signal
import socket
import sys
import time

import launching
import log_lines
import storm
from scripting.result_files import load

PROGRAMS = ("weir-server", "weir-worker", "weir-predict")
# Below those that a kernel gives to connections: a port stays free while its server is down.
PORTS = range(20000, 30000)
TEST_ROWS = 20000
# The shortest silence after which the seat of a trainer that died is free.
MEMBER_TIMEOUT_MS = 3000
# For a run that nobody disturbs.
CALM_S = 600
# For others to end, and to say why, when one has failed.
LAST_WORDS_S = 15
# Of a trainer that is started again: the run was over meanwhile.
TOO_LATE = 3
# From the start of a process until a coordinator that is about to leave has heard of it, at most.
LEAVING_S = 1.5
LOOK_S = 0.01


def check_programs(flags):
    for path in [os.path.join(flags.bin, name) for name in PROGRAMS] + flags.config.split(","):
        if not os.path.exists(path):
            sys.exit("error: there is no %s; build Release, name its programs by --bin, and run this from the root of "
                     "the repository" % path)


def addresses(count):
    """Of ports that nobody has now."""
    with contextlib.ExitStack() as open_sockets:
        found = []
        while len(found) < count:
            one = open_sockets.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", random.choice(PORTS)))
                found.append("tcp://127.0.0.1:%d" % one.getsockname()[1])
        return ",".join(found)


def override(flags, plan):
    pipeline = "pipeline { split { after: 'bottom/0' } }" if plan.stages > 1 else ""
    return ("data { synthetic { rows: %d test_rows: %d } } run { seed: %d } "
            "cluster { durability: %s member_timeout_ms: %d } %s %s"
            % (flags.rows, TEST_ROWS, plan.seed, plan.durability, MEMBER_TIMEOUT_MS, pipeline, flags.override))


def commands(flags, plan, folder):
    common = ["--config=" + flags.config, "--override=" + override(flags, plan), "--servers=" + addresses(plan.servers)]
    found = [[os.path.join(flags.bin, "weir-server"), *common, "--shard=%d" % i,
              "--data_dir=" + os.path.join(folder, "data-%d" % i)] for i in range(plan.servers)]
    for trainer in range(plan.trainers):
        for stage in range(plan.stages):
            found.append([os.path.join(flags.bin, "weir-worker"), *common, "--trainer=%d" % trainer,
                          *(["--stage=%d" % stage] if plan.stages > 1 else [])])
    found[plan.servers] += ["--out=" + os.path.join(folder, "run"), "--save=" + os.path.join(folder, "model")]
    return found


def is_well(disturbed, index):
    """Whether its end, if it has ended, is as it should be. Who was started again after the coordinator had left, all
    done, finds nobody."""
    member, coordinator = disturbed.members[index], disturbed.members[0]
    code = member.process.poll()
    if code in (None, 0):
        return True
    if member.starts == 1:
        return False
    was_late = coordinator.process.poll() == 0 and member.started_at > disturbed.coordinator_left_at - LEAVING_S
    return (code == TOO_LATE and index >= disturbed.plan.servers) or (code == 1 and was_late)


def await_end(disturbed, members, patience_s):
    """What is wrong with how they ended; nothing when all is well."""
    if not disturbed.harm:
        patience_s = CALM_S
    deadline = time.monotonic() + disturbed.plan.last_harm_s() + patience_s
    while not disturbed.is_over() or None in [member.process.poll() for member in members]:
        disturbed.step()
        if time.monotonic() > deadline:
            return "not over %d s after the last harm: exit codes %s" % (patience_s, codes(members))
        if not all(is_well(disturbed, i) or disturbed.is_killed(i) for i in range(len(members))):
            deadline = min(deadline, time.monotonic() + LAST_WORDS_S)
        time.sleep(LOOK_S)
    return "" if all(is_well(disturbed, i) for i in range(len(members))) else "exit codes: %s" % codes(members)


def codes(members):
    return [member.process.poll() for member in members]


def model_fault(flags, folder):
    """What weir-predict finds wrong with the saved model."""
    model = os.path.join(folder, "model")
    if not os.path.isdir(model):
        return "no model in " + model
    launching.call([os.path.join(flags.bin, "weir-predict"), "--model=" + model,
                    "--export=" + os.path.join(folder, "model.safetensors")])
    return ""


def read_result(flags, folder, result):
    summary = load(os.path.join(folder, "run", "summary.json"))
    if not summary:
        result.fault = "no summary.json"
        return
    result.loss = summary["test"]["logloss"]
    if summary["train"]["samples"] < flags.rows:
        result.fault = "%d samples trained of %d" % (summary["train"]["samples"], flags.rows)
    result.fault = result.fault or model_fault(flags, folder)


def end_all(members):
    for member in members:
        member.send(signal.SIGKILL)


def run(flags, plan, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    result, members = storm.Result(), []
    with contextlib.ExitStack() as running:
        running.callback(end_all, members)
        for i, command in enumerate(commands(flags, plan, folder)):
            members.append(storm.Member(command, os.path.join(folder, plan.name(i) + ".log"), running))
        begin = time.monotonic()
        result.fault = await_end(storm.Storm(plan, members, result), members, flags.patience)
        result.seconds = time.monotonic() - begin
        if result.fault:
            result.last_words = log_lines.ends([member.log for member in members])
        end_all(members)
    if not result.fault:
        read_result(flags, folder, result)
    return result
