"""Runs of weir-local that are killed, all of them at once, or told to stop, and go on from a checkpoint when the same
command is given again. Usage: checkpoint_test.py BIN_DIR"""

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from programs import BIN, ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
SAMPLES = 400000
# A section of the model has the rows of all tables, in the order of their ids: then files can be compared.
LONG = "data { synthetic { rows: %d rows_per_table: 500 } } " % SAMPLES
# Without servers training is so fast that a kill would come behind the end of that.
SAMPLES_ALONE = 3 * SAMPLES
LONG_ALONE = LONG.replace(str(SAMPLES), str(SAMPLES_ALONE))
EVERY = "run { checkpoint_every_samples: 40000 evaluate_every_samples: 100000 report_interval_ms: 100 } "
# Where one trainer's steps wait for their answers, time decides nothing.
IN_ORDER = "cluster { window: 1 } "
DCT = "compression { default { dct { sparsity: 0.95 lifespan: 50 } values: BF16 } } "
# Of what 5000 test rows tell, where a run of the same rows has another order of reads and writes.
NOISE = 0.003


class CheckpointTest(ProgramTestCase):
    def launch(self, out, *flags, override, servers=2, trainers=1):
        return self.start("weir-local", "--config=" + RUN, "--override=" + override, "--servers=%d" % servers,
                          "--trainers=%d" % trainers, "--out=" + self.path(out), *flags)

    def run_locally(self, out, *flags, code=0, texts=(), **options):
        return self.end(self.launch(out, *flags, **options), code, *texts, timeout=200)

    def checkpoints(self, out):
        folder = self.path(out + "/checkpoints")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(name for name in names if name.startswith("checkpoint-") and "partial" not in name)

    def kill_all(self, run):
        """The launcher and what it has started."""
        children = subprocess.run(["pgrep", "-P", str(run.pid)], stdout=subprocess.PIPE, text=True, check=False)
        pids = [run.pid] + [int(pid) for pid in children.stdout.split()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # its children may end with the launcher
                os.kill(pid, signal.SIGKILL)
        self.children.remove(run)
        run.communicate()
        self.until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids))

    def kill_behind(self, out, number, *flags, **options):
        run = self.launch(out, *flags, **options)
        self.until(lambda: self.checkpoints(out)[-1:] >= ["checkpoint-%06d" % number])
        self.kill_all(run)

    def summary(self, out):
        with open(self.path(out + "/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def content(self, *names):
        with open(self.path("/".join(names)), "rb") as f:
            return f.read()

    def check_same_model(self, one, other):
        self.assertTrue(self.content(one, "parameters.weir") == self.content(other, "parameters.weir"))
        residuals = [len(self.content(model, "residuals", "trainer-0.weir")) for model in (one, other)]
        self.assertEqual(*residuals)

    def check_bits(self, more):
        override = LONG + EVERY + IN_ORDER + more
        self.run_locally("whole", "--save=" + self.path("whole.model"), override=override)
        self.kill_behind("out", 3, override=override)
        self.run_locally("out", "--save=" + self.path("out.model"), override=override,
                         texts=["goes on from " + self.path("out/checkpoints")])
        self.check_same_model("whole.model", "out.model")
        for figure in ("samples", "logloss", "auc"):
            self.assertEqual(self.summary("out")["test"][figure], self.summary("whole")["test"][figure])
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)

    def test_what_goes_on_is_to_the_bit_what_was_never_killed(self):
        self.check_bits(DCT)

    def test_and_so_it_is_where_rules_move_what_rests(self):
        self.check_bits("update { dense { momentum { learning_rate: 0.05 } } "
                        "rows { momentum { learning_rate: 0.05 } } } ")

    def test_metrics_tell_how_long_training_stood_still(self):
        begin = time.monotonic()
        self.run_locally("out", override=LONG + EVERY.replace("evaluate_every_samples: 100000", ""), trainers=2)
        for trainer in range(2):
            with open(self.path("out/trainer-%d/metrics.jsonl" % trainer), encoding="utf-8") as f:
                stops = [line for line in map(json.loads, f) if line["kind"] == "checkpoint"]
            numbers = [stop["number"] for stop in stops]
            self.assertGreater(len(numbers), 3)
            self.assertEqual(numbers, sorted(set(numbers)))
            for stop in stops:
                self.assertGreaterEqual(stop["samples"], 40000 * stop["number"])
                self.assertGreater(stop["stood_still_seconds"], 0)
            self.assertLess(sum(stop["stood_still_seconds"] for stop in stops), time.monotonic() - begin)

    def test_other_servers_and_trainers_go_on(self):
        override = LONG + EVERY + DCT
        self.run_locally("whole", override=override, trainers=2)
        self.kill_behind("out", 3, override=override, trainers=2)
        self.run_locally("out", override=override, servers=3, trainers=3)
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)
        self.assertEqual(self.summary("out")["test"]["samples"], 5000)
        self.assertLess(abs(self.summary("out")["test"]["logloss"] - self.summary("whole")["test"]["logloss"]), NOISE)

    def test_without_servers_too(self):
        override = LONG_ALONE + EVERY + "update { dense { momentum { learning_rate: 0.05 } } "
        override += "rows { momentum { learning_rate: 0.05 } } } "
        self.run_locally("whole", "--save=" + self.path("whole.model"), override=override, servers=0)
        self.kill_behind("out", 3, override=override, servers=0)
        output = self.run_locally("out", "--save=" + self.path("out.model"), override=override, servers=0,
                                  texts=["goes on from " + self.path("out/checkpoints")])
        self.assertNotIn("is lost", output)
        self.assertTrue(self.content("whole.model", "parameters.weir") == self.content("out.model", "parameters.weir"))
        for figure in ("samples", "logloss", "auc"):
            self.assertEqual(self.summary("out")["test"][figure], self.summary("whole")["test"][figure])
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES_ALONE)

    def test_a_checkpoint_that_is_left_behind_for_want_of_logs_is_named(self):
        flags = ["--data_dir=" + self.path("logs")]
        override = LONG + EVERY + "cluster { durability: PROCESS } "
        self.kill_behind("out", 1, *flags, override=override)
        for log in glob.glob(self.path("logs/*/*")):
            os.remove(log)
        newest = self.path("out/checkpoints/" + self.checkpoints("out")[-1])
        run = self.launch("out", *flags, override=override)
        self.assertIn("starting", run.stdout.readline())
        self.assertIn("has no log; --resume=%s would go on" % newest, run.stdout.readline())
        self.kill_all(run)

    def test_servers_go_on_with_what_began_without_and_the_other_way_round(self):
        override = LONG + EVERY + DCT
        # Without servers it is fast: most is left behind early checkpoints, many of which make it slower.
        self.kill_behind("out", 2, override=LONG + EVERY.replace("40000", "4000"), servers=0)
        self.run_locally("out", override=override)
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)
        self.kill_behind("other", 2, override=override)
        self.run_locally("other", override=LONG + EVERY, servers=0, texts=["is lost"])
        self.assertEqual(self.summary("other")["train"]["samples"], SAMPLES)

    def test_in_rounds_too(self):
        override = LONG + EVERY + DCT + "consistency { sync {} } "
        self.run_locally("whole", "--save=" + self.path("whole.model"), override=override, trainers=4)
        self.kill_behind("out", 3, override=override, trainers=4)
        self.run_locally("out", "--save=" + self.path("out.model"), override=override, trainers=4)
        self.check_same_model("whole.model", "out.model")

    def test_stages_too(self):
        override = LONG + EVERY + 'pipeline { split { after: "bottom/0" } } ' + DCT
        self.kill_behind("out", 2, override=override)
        self.run_locally("out", "--stages=2", override=override)
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)
        self.kill_behind("staged", 3, "--stages=2", override=override)
        self.run_locally("staged", override=override)
        self.assertEqual(self.summary("staged")["train"]["samples"], SAMPLES)
        self.run_locally("staged", "--stages=2", override=override)
        self.assertEqual(sorted(os.listdir(self.path("staged/checkpoints/%s/residuals" % self.checkpoints("staged")[-1]))),
                         ["trainer-0-stage-0.weir", "trainer-0-stage-1.weir"])

    def test_a_damaged_one_is_not_taken(self):
        override = LONG + EVERY
        self.kill_behind("out", 3, override=override)
        newest = self.path("out/checkpoints/" + self.checkpoints("out")[-1])
        with open(newest + "/parameters-1-of-2.weir", "r+b") as f:
            f.seek(100)
            byte = f.read(1)
            f.seek(100)
            f.write(bytes([byte[0] ^ 1]))
        output = self.run_locally("out", override=override, texts=["goes on from"])
        self.assertNotIn("goes on from " + newest, output)
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)

    def test_a_run_that_is_told_to_stop_leaves_a_checkpoint_and_goes_on(self):
        override = LONG + EVERY.replace("40000", "100000000").replace("evaluate_every_samples: 100000", "")
        run = self.launch("out", override=override)
        metrics = self.path("out/trainer-0/metrics.jsonl")
        self.until(lambda: os.path.exists(metrics) and os.path.getsize(metrics) > 0)
        self.assertEqual(self.checkpoints("out"), [])
        run.send_signal(signal.SIGTERM)
        self.end(run, 130, "behind a checkpoint", timeout=60)
        # Each process that is told wants one; a late word may have come behind the first.
        self.assertEqual(self.checkpoints("out"), ["checkpoint-000001", "checkpoint-000002"][:len(self.checkpoints("out"))])
        self.assertTrue(self.checkpoints("out"))
        self.run_locally("out", override=override, texts=["goes on from"])
        self.assertEqual(self.summary("out")["train"]["samples"], SAMPLES)

    def test_one_can_be_asked_for(self):
        override = LONG + EVERY.replace("40000", "100000000").replace("evaluate_every_samples: 100000", "")
        run = self.launch("out", override=override)
        metrics = self.path("out/trainer-0/metrics.jsonl")
        self.until(lambda: os.path.exists(metrics) and os.path.getsize(metrics) > 0)
        run.send_signal(signal.SIGUSR1)
        self.until(lambda: self.checkpoints("out"))
        self.end(run, 0)

    def test_a_run_that_has_ended_begins_anew(self):
        override = EVERY
        self.run_locally("out", override=override)
        last = self.checkpoints("out")[-1]
        output = self.run_locally("out", override=override)
        self.assertNotIn("goes on from", output)
        self.assertGreater(self.checkpoints("out")[-1], last)
        self.assertEqual(self.summary("out")["train"]["samples"], 20000)

    def test_the_newest_and_the_best_stay(self):
        self.run_locally("out", override=LONG + EVERY.replace("run {", "run { keep: 1"))
        names = os.listdir(self.path("out/checkpoints"))
        self.assertIn("best", names)
        self.assertIn(os.readlink(self.path("out/checkpoints/best")), names)
        self.assertLessEqual(len(names), 3, names)
        scored = subprocess.run([os.path.join(BIN, "weir-inspect"), self.path("out/checkpoints/best")],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(scored.returncode, 0, scored.stdout)

    def test_mistakes_are_told(self):
        self.run_locally("out", "--resume=" + self.path("nowhere"), "--warm_start=" + self.path("m"), override="",
                         code=2, texts=["holds no checkpoint", "--resume, --warm_start"])
        server = self.start("weir-server", "--config=" + RUN, "--override=" + EVERY, "--servers=tcp://127.0.0.1:7001",
                            "--shard=0")
        self.end(server, 2, "--checkpoints: ")
        self.kill_behind("out", 1, override=LONG + EVERY)
        other = LONG.replace("400000", "400001") + EVERY
        self.run_locally("out", override=other, code=2, texts=["of a run on other data"])


if __name__ == "__main__":
    unittest.main()
