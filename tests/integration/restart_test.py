"""Runs of weir-local whose processes are killed and started again: they end well, and learn as those that nobody
disturbs. Usage: restart_test.py BIN_DIR"""

import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
from programs import ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
# So long that whom we kill has something to do then, and as short a silence as there may be.
LONG = ("data { synthetic { rows: 1000000 } } run { report_interval_ms: 100 } "
        "cluster { durability: PROCESS member_timeout_ms: 3000 } ")
SAMPLES = 1000000
# Of what 5000 test rows tell, where a run of the same rows has another order of reads and writes.
NOISE = 0.003


class RestartTest(ProgramTestCase):
    def run_locally(self, out, *flags, override=LONG, code=0, texts=()):
        local = self.start("weir-local", "--config=" + RUN, "--override=" + override, "--servers=2",
                           "--trainers=1", "--out=" + self.path(out), *flags)
        return self.end(local, code, *texts, timeout=200)

    def summary(self, out):
        with open(self.path(out + "/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def log(self, out, process):
        with open(self.path("%s/logs/%s.log" % (out, process)), encoding="utf-8") as f:
            return f.read()

    def logs_left(self, data):
        return [name for _, _, files in os.walk(self.path(data)) for name in files if name.endswith(".weir")]

    def check_learned_all(self, out):
        """Each row was trained, and the model is as good as one of a run that nobody disturbed."""
        self.run_locally("undisturbed", "--data_dir=" + self.path("undisturbed.data"))
        disturbed, undisturbed = self.summary(out), self.summary("undisturbed")
        self.assertEqual(undisturbed["recovery"]["reconnects"], 0)
        self.assertEqual(disturbed["train"]["samples"], SAMPLES)
        self.assertEqual(disturbed["test"]["samples"], 5000)
        self.assertLess(abs(disturbed["test"]["logloss"] - undisturbed["test"]["logloss"]), NOISE)

    def test_a_server_that_is_killed_goes_on(self):
        self.run_locally("out", "--data_dir=" + self.path("data"), "--restart=3", "--kill_after=server-1:1500",
                         texts=["--kill_after: server-1 is killed",
                                "server-1 was killed by signal 9 (Killed); starting it again (restart 1 of at most 3)"])
        self.assertGreaterEqual(self.summary("out")["recovery"]["reconnects"], 1)
        self.assertIn("goes on behind record", self.log("out", "server-1"))
        self.assertEqual(self.log("out", "server-1").count("listens on"), 2, "both lives, in one log")
        self.assertEqual(sorted(os.listdir(self.path("data"))), ["server-0", "server-1"])
        self.assertEqual(self.logs_left("data"), [])
        self.check_learned_all("out")

    def test_in_rounds_the_model_is_to_the_bit_that_of_an_undisturbed_run(self):
        flags = ["--trainers=2", "--restart=3"]
        rounds = LONG.replace("rows: 1000000", "rows: 500000") + "consistency { sync {} } "
        self.run_locally("out", "--data_dir=" + self.path("data"), "--kill_after=server-1:1500", *flags,
                         override=rounds, texts=["starting it again"])
        self.run_locally("undisturbed", "--data_dir=" + self.path("undisturbed.data"), *flags, override=rounds)
        disturbed, undisturbed = self.summary("out"), self.summary("undisturbed")
        self.assertGreaterEqual(disturbed["recovery"]["reconnects"], 1)
        for figure in ("samples", "logloss", "auc"):
            self.assertEqual(disturbed["test"][figure], undisturbed["test"][figure])

    def test_a_trainer_that_is_killed_joins_anew(self):
        self.run_locally("out", "--data_dir=" + self.path("data"), "--restart=3", "--kill_after=trainer-0:1500",
                         texts=["trainer-0 was killed by signal 9 (Killed); starting it again"])
        self.assertIn("incarnation 2", self.log("out", "server-0"))
        self.check_learned_all("out")

    def test_a_server_that_keeps_nothing_is_not_started_again(self):
        self.run_locally("out", "--restart=3", "--kill_after=server-1:1500", code=1,
                         override="data { epochs: 100000 } ",
                         texts=["error: server-1 was killed by signal 9 (Killed)"])
        self.assertNotIn("starting it again", self.log("out", "server-1"))

    def test_mistakes_are_told_with_all_others(self):
        self.run_locally("out", "--data_dir=" + self.path("data"), "--restart=-1", "--kill_after=server-2:1",
                         "--servers=0", "--threads=0", override="", code=2,
                         texts=["--threads=0", "nothing to keep", "--restart=-1", "no process server-2"])
        self.run_locally("out", "--data_dir=" + self.path("data"), override="", code=2,
                         texts=["cluster.durability is NONE"])
        self.run_locally("out", code=2, texts=["cluster.durability is PROCESS: give --data_dir"])
        self.assertEqual(os.listdir(self.directory.name), [])


if __name__ == "__main__":
    unittest.main()
