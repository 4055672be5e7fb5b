"""One run of real processes that is disturbed, and what must be true at its end. Of tools/chaos."""

import contextlib
import os
import random
import shutil
import signal
import socket
import sys
import time

import disks
import harm
import launching
import ledger
import log_lines
import network_path
import storm
from scripting.result_files import load

PROGRAMS = ("weir-server", "weir-worker", "weir-predict", "weir-inspect")
# Below those that a kernel gives to connections: a port stays free while its server is down.
PORTS = range(20000, 30000)
TEST_ROWS = 20000
# For a run that nobody disturbs.
CALM_S = 600
# For others to end, and to say why, when one has failed.
LAST_WORDS_S = 15
# For all to end whose run was ended by a full disk.
FULL_S = 40
NO_SPACE = "No space left on device"
# Of a worker: the run was over when it came.
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
        return found


class Site:
    """Where a run is: addresses of its servers, the paths to them, their disks, and the ledger of what is pushed."""

    def __init__(self, flags, plan, folder):
        self.ledger = ledger.Ledger()
        self.addresses = addresses(plan.servers)
        self.paths = [network_path.Path(i, ("127.0.0.1", int(address.rpartition(":")[2])), self.ledger.listener)
                      for i, address in enumerate(self.addresses)] if plan.has_proxies else []
        self.disks = [disks.Disk(os.path.join(folder, "disk-%d" % i), flags.disk_shim, plan.full[:1] == (i,))
                      for i in range(plan.servers)]

    def fault(self, flags, result):
        """Of what was pushed."""
        if not flags.disk_shim:
            return ""
        fault = ledger.read(flags.bin, self.disks, self.ledger) or self.ledger.fault(bool(self.paths))
        result.pushes, result.is_witnessed = self.ledger.sum(), bool(self.paths)
        return fault

    def close(self, result):
        for path in self.paths:
            path.close()
        for disk in self.disks:
            disk.close(keeps=bool(result.fault))


def override(flags, plan):
    pipeline = "pipeline { split { after: 'bottom/0' } }" if plan.stages > 1 else ""
    return ("data { synthetic { rows: %d test_rows: %d } } run { seed: %d } "
            "cluster { durability: %s member_timeout_ms: %d connect_timeout_ms: %d } %s %s"
            % (flags.rows, TEST_ROWS, plan.run_seed(), plan.durability, 1000 * harm.MEMBER_TIMEOUT_S,
               1000 * harm.CONNECT_TIMEOUT_S, pipeline, flags.override))


def commands(flags, plan, folder, site):
    common = ["--config=" + flags.config, "--override=" + override(flags, plan),
              "--servers=" + ",".join([path.address for path in site.paths] or site.addresses)]
    found = [[os.path.join(flags.bin, "weir-server"), *common, "--shard=%d" % i, "--data_dir=" + disk.data,
              *(["--listen=" + site.addresses[i]] if site.paths else [])] for i, disk in enumerate(site.disks)]
    for trainer in range(plan.trainers):
        for stage in range(plan.stages):
            found.append([os.path.join(flags.bin, "weir-worker"), *common, "--trainer=%d" % trainer,
                          *(["--stage=%d" % stage] if plan.stages > 1 else [])])
    found[plan.servers] += ["--out=" + os.path.join(folder, "run"), "--save=" + os.path.join(folder, "model")]
    return found


def is_well(disturbed, index):
    """Whether its end, if it has ended, is as it should be. A worker that was held up may join when the run is over.
    Who was started again after the coordinator had left, all done, finds nobody."""
    member, coordinator = disturbed.members[index], disturbed.members[0]
    code = member.process.poll()
    if code in (None, 0):
        return True
    if code == TOO_LATE and index >= disturbed.plan.servers:
        return bool(disturbed.plan.harm)
    if member.starts == 1:
        return False
    was_late = coordinator.process.poll() == 0 and member.started_at > disturbed.coordinator_left_at - LEAVING_S
    return code == 1 and was_late


def await_end(disturbed, members, patience_s):
    """What is wrong with how they ended; nothing when all is well."""
    if not disturbed.harm:
        patience_s = CALM_S
    deadline = time.monotonic() + disturbed.last_harm_s + patience_s
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


def was_over(disturbed, members, full):
    """Whether the run had ended well before the disk of that server was full, which alone may say that it was."""
    trainers = members[disturbed.plan.servers:]
    said = all(member.process.poll() == 0 for member in trainers) and members[full].said(NO_SPACE)
    return all(is_well(disturbed, i) or (said and i == full) for i in range(len(members)))


def await_full(disturbed, members, result, site):
    """Until the run that is there has ended because a disk is full. (what is wrong with that, whether it has): it may
    have been over before."""
    server, full_s = disturbed.plan.full
    site_disk, deadline = site.disks[server], None
    while deadline is None or None in codes(members) or disturbed.later:
        disturbed.step()
        if deadline is None and disturbed.elapsed_s() > full_s:
            site_disk.fill()
            disturbed.note("disk of %s full at %.2f" % (disturbed.plan.name(server), full_s))
            deadline = time.monotonic() + FULL_S
        if deadline and time.monotonic() > deadline:
            return "not over %d s after the disk was full: exit codes %s" % (FULL_S, codes(members)), True
        time.sleep(LOOK_S)
    site_disk.free()
    if was_over(disturbed, members, server):
        return "", False
    result.full_disks += 1
    silent = [disturbed.plan.name(i) for i, member in enumerate(members) if not member.said(NO_SPACE)]
    return "not said by %s, that the disk of server %d was full: exit codes %s" % (
        ", ".join(silent), server, codes(members)) if silent else "", True


def acts(flags, plan, members, result, site):
    """What is wrong with how the run ended; where a disk is full it is given the same commands again."""
    first, *others = plan.acts()
    begun = storm.Storm(plan, first, members, result, site.paths, site.disks)
    if not others:
        return await_end(begun, members, flags.patience)
    fault, is_ended = await_full(begun, members, result, site)
    if fault or not is_ended:
        return fault
    for member in members:
        member.begin_anew()
    return await_end(storm.Storm(plan, others[0], members, result, site.paths, site.disks), members, flags.patience)


def run(flags, plan, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    result, members, begin = storm.Result(), [], time.monotonic()
    site = Site(flags, plan, folder)
    with contextlib.ExitStack() as running:
        running.callback(site.close, result)
        running.callback(end_all, members)
        for i, command in enumerate(commands(flags, plan, folder, site)):
            environment = site.disks[i].environment() if i < plan.servers else None
            members.append(storm.Member(command, os.path.join(folder, plan.name(i) + ".log"), running, environment))
        result.fault = acts(flags, plan, members, result, site)
        result.seconds = time.monotonic() - begin
        if result.fault:
            result.last_words = log_lines.ends([member.log for member in members])
        end_all(members)
        result.fault = result.fault or site.fault(flags, result)
    if not result.fault:
        read_result(flags, folder, result)
    return result
