#!/usr/bin/env python3
"""tools/chaos: its plans are a seed's, a run that goes on ends well, and one that does not is told.

Usage: chaos_test.py BIN_DIR [unittest arguments]"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/measure")]
import disturbed_run  # noqa: E402
import harm  # noqa: E402
import storm  # noqa: E402

BIN = "build/release/bin"


def flags(**changes):
    return argparse.Namespace(**{"durability": ("PROCESS", "MACHINE"), "kills": 8, "spare": [], **changes})


class Plans(unittest.TestCase):
    def test_a_seed_always_draws_the_same(self):
        self.assertEqual(harm.draw(7, flags(), 5), harm.draw(7, flags(), 5))
        self.assertNotEqual(harm.draw(7, flags(), 5), harm.draw(8, flags(), 5))

    def test_every_kind_of_harm_is_drawn_and_no_spared_one(self):
        def kinds(spare):
            return {"stop" if one.stop_s else plan.name(one.victim).split("-")[0] + "0" * (one.victim == 0)
                    for plan in (harm.draw(seed, flags(spare=spare), 5) for seed in range(50)) for one in plan.harm}
        self.assertEqual(kinds([]), {"server0", "server", "trainer", "stop"})
        self.assertEqual(kinds(["server0", "stop"]), {"server", "trainer"})

    def test_stages_can_be_left_out(self):
        def stages(spare):
            return {harm.draw(seed, flags(spare=spare), 5).stages for seed in range(50)}
        self.assertEqual((stages([]), stages(["stages"])), ({1, 2}, {1}))

    def test_harm_is_in_the_order_in_which_it_is_done(self):
        for seed in range(20):
            times = [one.at_s for one in harm.draw(seed, flags(), 5).harm]
            self.assertEqual(times, sorted(times))


class Rounds(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def chaos(self, *words):
        return subprocess.run([ROOT / "tools/chaos", "--bin=" + BIN, f"--out={self.folder}/out", "--rounds=1",
                               "--rows=100000", *words], capture_output=True, text=True, timeout=280, check=False)

    def test_a_run_goes_on(self):
        done = self.chaos("--seed=3", "--kills=3", "--spare=end")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ok, logloss", done.stdout)
        self.assertIn("back after, s, p50", done.stdout)


class Ends(unittest.TestCase):
    """Of processes that stand for a server and a trainer; the second is killed and started again."""

    def fault(self, *scripts, patience_s=1):
        plan = harm.Plan(seed=1, servers=1, trainers=1, stages=1, durability="PROCESS", harm=[harm.Harm(0.1, 1)])
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
            members = [storm.Member(["sh", "-c", script], f"{folder}/{i}", running) for i, script in enumerate(scripts)]
            running.callback(disturbed_run.end_all, members)
            self.result = storm.Result()
            return disturbed_run.await_end(storm.Storm(plan, members, self.result), members, patience_s)

    def test_all_end_well(self):
        self.assertEqual(self.fault("sleep 0.5", "sleep 0.3", patience_s=60), "")
        self.assertEqual(self.result.kills, 1)

    def test_one_that_does_not_end_is_told(self):
        self.assertEqual(self.fault("exit 0", "exec sleep 100"),
                         "not over 1 s after the last harm: exit codes [0, None]")

    def test_one_that_fails_is_told(self):
        self.assertEqual(self.fault("sleep 0.5; exit 1", "sleep 0.3", patience_s=60), "exit codes: [1, 0]")

    def test_a_trainer_that_was_killed_may_come_when_the_run_is_over(self):
        self.assertEqual(self.fault("sleep 0.5", "sleep 0.3; exit 3", patience_s=60), "")
        self.assertEqual(self.fault("sleep 0.5; exit 3", "sleep 0.3", patience_s=60), "exit codes: [3, 0]")


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        BIN = sys.argv.pop(1)
    unittest.main()
