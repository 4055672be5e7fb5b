"""Servers and workers as a cluster has them, each started by itself and always by the same command: it begins the run,
goes on with it from the newest checkpoint, or joins it. Usage: resume_test.py BIN_DIR"""

import glob
import os
import sys
import unittest

sys.dont_write_bytecode = True
from held_ports import free_addresses  # noqa: E402
from programs import ProgramTestCase  # noqa: E402

# So long that there is always somebody to kill, and as short a silence as there may be.
SETTINGS = ("data { synthetic { rows: 1500000 rows_per_table: 500 } } cluster { member_timeout_ms: 3000 %s } "
            "run { checkpoint_every_samples: 40000 report_interval_ms: 100 } ")
SERVERS, TRAINERS = 2, 2


class ResumeTest(ProgramTestCase):
    def setUp(self):
        super().setUp()
        self.addresses = ",".join(free_addresses(SERVERS))
        self.durability = ""

    def program(self, name, number):
        flags = ["--config=configs/runs/local.textproto", "--override=" + SETTINGS % self.durability,
                 "--servers=" + self.addresses, "--checkpoints=" + self.path("c"), "--resume=" + self.path("c/")]
        if name == "weir-worker":
            return self.start(name, *flags, "--trainer=%d" % number)
        logs = ["--data_dir=" + self.path("data-%d" % number)] if self.durability else []
        return self.start(name, *flags, "--shard=%d" % number, *logs)

    def start_all(self):
        return ([self.program("weir-server", i) for i in range(SERVERS)],
                [self.program("weir-worker", i) for i in range(TRAINERS)])

    def newest(self):
        return max(glob.glob(self.path("c/checkpoint-??????")), default="")

    def await_another(self):
        before = self.newest()
        self.until(lambda: self.newest() > before)

    def kill(self, *killed):
        outputs = []
        for child in killed:
            child.kill()
            outputs.append(child.communicate()[0])
            self.children.remove(child)
        return outputs

    def test_the_same_command_begins_goes_on_and_joins(self):
        servers, workers = self.start_all()
        self.until(self.newest)
        for output in self.kill(*servers, *workers)[:SERVERS]:
            self.assertIn("begins anew", output)
        newest = self.newest()
        servers, workers = self.start_all()
        self.await_another()
        self.kill(workers[1])
        workers[1] = self.program("weir-worker", 1)
        self.end(workers[1], 0, "the run has begun with " + newest, timeout=120)
        for child in [workers[0]] + servers:
            self.end(child, 0)

    def test_a_worker_joins_a_run_that_has_begun_with_nothing(self):
        servers, workers = self.start_all()
        self.until(self.newest)
        self.kill(workers[1])
        workers[1] = self.program("weir-worker", 1)
        self.end(workers[1], 0, "the run has begun with nothing", timeout=120)
        for child in [workers[0]] + servers:
            self.end(child, 0)

    def test_a_server_with_a_log_goes_on_with_what_its_run_has_begun_with(self):
        self.durability = "durability: PROCESS"
        servers, workers = self.start_all()
        self.until(self.newest)
        self.kill(*servers, *workers)
        for name in glob.glob(self.path("data-*/*")):
            os.remove(name)
        servers, workers = self.start_all()
        self.await_another()
        self.kill(servers[1])
        servers[1] = self.program("weir-server", 1)
        for child in workers + servers:
            self.end(child, 0, timeout=120)


if __name__ == "__main__":
    unittest.main()
