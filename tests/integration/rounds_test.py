"""Runs in rounds (consistency.sync) of real processes: who comes, who goes, and what is refused.
Usage: rounds_test.py BIN_DIR"""

import json
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from held_ports import free_addresses  # noqa: E402
from programs import ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
EPOCHS = 10
ROWS = EPOCHS * 20000
# Chunks are short, so that who comes is soon in a round.
LONG = "run { report_interval_ms: 50 } data { epochs: %d chunk_batches: 2 } " % EPOCHS

AGREEING = "compression { default { %s { sparsity: 0.99 } } }"


class RoundsTest(ProgramTestCase):
    def cluster(self, sync, trainers, timeouts="member_timeout_ms: 3000", servers=2, more=""):
        self.flags = ["--config=" + RUN,
                      "--override=%s consistency { sync { %s } } cluster { %s } %s" % (LONG, sync, timeouts, more),
                      "--servers=" + ",".join(free_addresses(servers))]
        self.servers = [self.start("weir-server", *self.flags, "--shard=%d" % i) for i in range(servers)]
        self.workers = [self.worker(i) for i in range(trainers)]

    def worker(self, trainer):
        return self.start("weir-worker", *self.flags, "--trainer=%d" % trainer, "--out=" + self.path("t%d" % trainer))

    def summary(self, out):
        with open(self.path(out + "/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def has_trained(self, out):
        try:
            with open(self.path(out + "/metrics.jsonl"), encoding="utf-8") as f:
                return '"kind":"train"' in f.read()
        except FileNotFoundError:
            return False

    def end_without_one_of_three(self):
        self.until(lambda: self.has_trained("t1"))
        self.workers[1].kill()
        for child in (self.workers[0], self.workers[2], *self.servers):
            self.end(child, 0)
        self.assertEqual(self.workers[1].wait(), -signal.SIGKILL)
        self.assertEqual(self.summary("t0")["train"]["samples"], ROWS)

    def end_with_one_more(self):
        self.until(lambda: self.has_trained("t0"))
        self.workers.append(self.worker(1))
        for child in (*self.workers, *self.servers):
            self.end(child, 0)
        self.assertEqual(self.summary("t1")["train"]["samples"], ROWS)

    def test_weir_local_runs_rounds_of_all_its_trainers(self):
        output = self.end(self.start("weir-local", "--config=" + RUN, "--override=consistency { sync {} }",
                                     "--servers=2", "--trainers=3", "--out=" + self.path("l")), 0)
        summary = self.summary("l")
        self.assertEqual(summary["mode"], "sync", output)
        self.assertEqual(summary["train"]["samples"], 20000)
        self.assertEqual(summary["staleness"]["max"], 0)

    def test_two_runs_are_the_same(self):
        losses = []
        for out in ("a", "b"):
            self.end(self.start("weir-local", "--config=" + RUN, "--override=consistency { sync {} }",
                                "--servers=2", "--trainers=3", "--out=" + self.path(out)), 0)
            losses.append(self.summary(out)["test"]["logloss"])
        self.assertEqual(losses[0], losses[1])

    def test_rounds_go_on_without_a_trainer_that_was_killed(self):
        self.cluster("trainers: 3", 3)
        self.end_without_one_of_three()
        self.assertEqual(self.summary("t0")["test"]["samples"], 5000)

    def test_trainers_that_agree_go_on_without_one_that_was_killed(self):
        self.cluster("trainers: 3", 3, more=AGREEING % "exdyna")
        self.end_without_one_of_three()

    def test_a_trainer_that_comes_later_agrees_with_the_others(self):
        self.cluster("trainers: 1", 1, more=AGREEING % "deft")
        self.end_with_one_more()

    def test_a_slow_trainer_is_waited_for_as_long_as_it_lives(self):
        self.cluster("trainers: 2", 2, "member_timeout_ms: 15000 answer_timeout_ms: 4000")
        self.until(lambda: self.has_trained("t1"))
        self.workers[1].send_signal(signal.SIGSTOP)
        time.sleep(7)
        self.workers[1].send_signal(signal.SIGCONT)
        for child in (*self.workers, *self.servers):
            self.end(child, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], ROWS)

    def test_a_trainer_that_was_given_up_is_told(self):
        self.cluster("trainers: 2", 2)
        self.until(lambda: self.has_trained("t1"))
        self.workers[1].send_signal(signal.SIGSTOP)
        self.end(self.workers[0], 0)
        self.workers[1].send_signal(signal.SIGCONT)
        self.end(self.workers[1], 1)
        for server in self.servers:
            self.end(server, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], ROWS)

    def test_the_run_ends_with_a_trainer_where_it_is_told_to(self):
        self.cluster("trainers: 2 lost_trainer: STOP", 2)
        self.until(lambda: self.has_trained("t1"))
        self.workers[1].kill()
        self.end(self.workers[0], 1, "trainer 1 is gone, and consistency.sync.lost_trainer is STOP")
        for server in self.servers:
            self.end(server, 1)

    def test_a_trainer_that_comes_later_is_in_the_rounds_to_come(self):
        self.cluster("trainers: 1", 1)
        self.end_with_one_more()

    def test_a_trainer_that_was_killed_may_come_back(self):
        self.cluster("trainers: 2", 2)
        self.until(lambda: self.has_trained("t1"))
        self.workers[1].kill()
        self.workers[1].wait()
        self.workers[1] = self.worker(1)
        for child in (*self.workers, *self.servers):
            self.end(child, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], ROWS)

    def test_what_has_no_rounds_is_refused(self):
        sync = "consistency { sync {} } "
        for flags, text in (
                (["--threads=2"], "--threads: with consistency.sync a trainer has one thread"),
                (["--servers=0", "--trainers=1"], "consistency.sync: rounds are what servers make"),
                (["--override=consistency { sync { trainers: 0 } }"], "consistency.sync.trainers"),
                (["--override=%s pipeline { split { after: 'top/0' } }" % sync], "a model in stages has no rounds")):
            with self.subTest(text):
                override = [] if flags[0].startswith("--override") else ["--override=" + sync]
                self.end(self.start("weir-local", "--config=" + RUN, *override, *flags,
                                    "--out=" + self.path("x")), 2, text)


if __name__ == "__main__":
    unittest.main()
