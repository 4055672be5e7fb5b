"""Stages of a trainer that are killed and started again while it trains, and while it recovers from that:
the run ends, nothing hangs, and the loss is that of an undisturbed run.
Usage: stage_failure_test.py BIN_DIR [KILLS]"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from held_ports import free_addresses  # noqa: E402

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
STAGES = 3
# A seat whose connection has ended is free by then, and a process that is started for it has not joined yet.
RECOVERY_S = 0.4
MEMBER_TIMEOUT_S = 3
CONFIG = ["--config=configs/runs/local.textproto", "--override="
          "data { synthetic { rows: 2000000 test_rows: 20000 } } "
          "pipeline { split { after: 'bottom/0' dct_mp { sparsity: 0.5 } values: BF16 } "
          "           split { after: 'top/0' dct_mp { sparsity: 0.5 } values: BF16 } } "
          # The shortest silence after which a process counts as dead.
          "cluster { member_timeout_ms: %d }" % (1000 * MEMBER_TIMEOUT_S)]
DEADLINE_S = 400
# In turns: when stages die, and how many at once. Progress: a moment after some was shown. Waiting is within
# RECOVERY_S, when who was started anew has no seat yet, and back is when all have one again. Both come before new
# progress, but for the last line of what was before.
TURNS = (("progress", 1), ("waiting", 1), ("progress", 2), ("progress", 1), ("back", 1), ("progress", 2))


class Stage:
    """A worker of one stage, and what it has said."""

    def __init__(self, servers, stage, out):
        flags = [*CONFIG, "--servers=" + servers, "--trainer=0", "--stage=%d" % stage]
        if stage == 0:
            flags.append("--out=" + out)
        self.lines = []
        self.child = subprocess.Popen([os.path.join(BIN, "weir-worker"), *flags], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip())

    def said(self, text):
        return sum(text in line for line in list(self.lines))


def until(condition, deadline, what):
    while not condition():
        assert time.monotonic() < deadline, "waited too long for " + what
        time.sleep(0.02)


class Storm:
    """Kills stages and starts them again. Its choices are a seed's; what they meet depends on the machine."""

    def __init__(self, stages, start, check, deadline):
        self.stages, self.start, self.check, self.deadline = stages, start, check, deadline
        self.numbers = random.Random(1)
        self.killed = self.killed_in_recovery = 0
        self.note()

    def back(self):
        return sum(stage.said("are there again") for stage in self.stages)

    def note(self):
        """From here on there is none."""
        # Stage 0 shows progress while it trains; how far it had come does not matter.
        self.shown, self.was_back = self.stages[0].said(" samples/s"), self.back()
        self.noted = time.monotonic()

    def has_progress(self):
        return self.stages[0].said(" samples/s") > self.shown

    def wait(self, moment):
        if moment == "progress":
            until(self.has_progress, self.deadline, "progress")
            time.sleep(self.numbers.uniform(0, 0.4))
        elif moment == "waiting":
            at = self.noted + self.numbers.uniform(0, RECOVERY_S)
            until(lambda: time.monotonic() > at, self.deadline, "time")
        else:
            until(lambda: self.back() > self.was_back or self.has_progress(), self.deadline, "all stages")
            time.sleep(self.numbers.uniform(0, 0.1))

    def kill(self, moment, count):
        self.wait(moment)
        self.check("ended before kill %d" % self.killed)
        self.killed_in_recovery += count * (not self.has_progress())
        victims = self.numbers.sample(range(STAGES), count)
        for victim in victims:
            self.stages[victim].child.kill()
        for victim in victims:
            self.stages[victim].child.wait()
            self.stages[victim] = self.start(victim)
        self.killed += count
        self.note()


def run(directory, kills):
    """Test logloss of a run in which so many processes are killed, and what was killed."""
    out, servers = os.path.join(directory, "out-%d" % kills), free_addresses(1)[0]
    server = subprocess.Popen([os.path.join(BIN, "weir-server"), *CONFIG, "--servers=" + servers,
                               "--shard=0"], stderr=subprocess.DEVNULL)
    stages = [Stage(servers, i, out) for i in range(STAGES)]
    deadline = time.monotonic() + DEADLINE_S

    def check(what):
        assert server.poll() is None and stages[0].child.poll() is None, what
    try:
        storm = Storm(stages, lambda i: Stage(servers, i, out), check, deadline)
        for moment, count in itertools.cycle(TURNS):
            if storm.killed >= kills:
                break
            storm.kill(moment, min(count, kills - storm.killed))
        for child in [server] + [stage.child for stage in stages]:
            until(lambda child=child: child.poll() is not None, deadline, "the end")
        codes = [server.returncode] + [stage.child.returncode for stage in stages]
        assert codes == [0] * (STAGES + 1), (codes, [stage.lines[-5:] for stage in stages])
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
            summary = json.load(f)
        assert summary["train"]["samples"] == 2000000, summary["train"]
        return summary["test"]["logloss"], storm
    finally:
        for child in [server] + [stage.child for stage in stages]:
            if child.poll() is None:
                child.kill()
            child.wait()


def main():
    with tempfile.TemporaryDirectory() as directory:
        calm, _ = run(directory, 0)
        stormy, storm = run(directory, KILLS)
    print("logloss %.5f undisturbed, %.5f with %d kills, %d of them before the run had recovered from others" %
          (calm, stormy, storm.killed, storm.killed_in_recovery))
    assert storm.killed == KILLS and (storm.killed_in_recovery > 0 or KILLS < 2), vars(storm)
    # Calm runs take a quarter of the test each, so it makes one. Of five, with three seeds, all were within 0.2 %,
    # and those with one seed within 0.03 %. This is five times as much.
    assert abs(stormy / calm - 1) < 0.01, (calm, stormy)


if __name__ == "__main__":
    main()
