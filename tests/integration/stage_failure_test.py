"""Stages of a trainer that are killed and started again while it trains: the run ends, nothing hangs, and
the loss is that of an undisturbed run. Usage: stage_failure_test.py BIN_DIR [KILLS]"""

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
CONFIG = ["--config=configs/runs/local.textproto", "--override="
          "data { synthetic { rows: 2000000 test_rows: 20000 } } "
          "pipeline { split { after: 'bottom/0' dct_mp { sparsity: 0.5 } values: BF16 } "
          "           split { after: 'top/0' dct_mp { sparsity: 0.5 } values: BF16 } } "
          # The shortest silence after which a process counts as dead.
          "cluster { member_timeout_ms: 3000 }"]
DEADLINE_S = 400


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


def run(directory, kills):
    """Test logloss of a run in which so many processes are killed."""
    out, servers = os.path.join(directory, "out-%d" % kills), free_addresses(1)[0]
    server = subprocess.Popen([os.path.join(BIN, "weir-server"), *CONFIG, "--servers=" + servers,
                               "--shard=0"], stderr=subprocess.DEVNULL)
    stages = [Stage(servers, i, out) for i in range(STAGES)]
    numbers = random.Random(1)
    deadline = time.monotonic() + DEADLINE_S
    try:
        for i in range(kills):
            # Stage 0 shows progress while it trains; how far it had come does not matter.
            shown = stages[0].said(" samples/s")
            until(lambda: stages[0].said(" samples/s") > shown, deadline, "progress")
            time.sleep(numbers.uniform(0, 0.4))
            victim = i % STAGES
            assert server.poll() is None and stages[0].child.poll() is None, "ended before kill %d" % i
            stages[victim].child.kill()
            stages[victim].child.wait()
            stages[victim] = Stage(servers, victim, out)
        for child in [server] + [stage.child for stage in stages]:
            until(lambda child=child: child.poll() is not None, deadline, "the end")
        codes = [server.returncode] + [stage.child.returncode for stage in stages]
        assert codes == [0] * (STAGES + 1), (codes, [stage.lines[-5:] for stage in stages])
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
            summary = json.load(f)
        assert summary["train"]["samples"] == 2000000, summary["train"]
        return summary["test"]["logloss"]
    finally:
        for child in [server] + [stage.child for stage in stages]:
            if child.poll() is None:
                child.kill()
            child.wait()


def main():
    with tempfile.TemporaryDirectory() as directory:
        calm = run(directory, 0)
        stormy = run(directory, KILLS)
    print("logloss %.5f undisturbed, %.5f with %d kills" % (calm, stormy, KILLS))
    # Seeds of an undisturbed run differ by a few thousandths.
    assert abs(stormy / calm - 1) < 0.01, (calm, stormy)


if __name__ == "__main__":
    main()
