"""Servers that save the model themselves: what they leave, and that nothing hangs and no model is lost when
one of them dies, or its disk is full or stands still. Usage: server_save_test.py BIN_DIR"""

import filecmp
import glob
import os
import random
import re
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from held_ports import free_addresses  # noqa: E402
from programs import BIN, ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
# The shortest silence after which a process counts as dead.
MORTAL = "cluster { member_timeout_ms: 3000 } "

CSV = """
model { bottom_widths: [8, 4] top_widths: [6, 1] embedding_dimension: 4 }
data {
  train: "%s" batch_size: 16 epochs: 2
  csv {
    label { column: "paid" }
    dense { column: "age" standardise {} }
    categorical { column: "town" rows: 50 }
    categorical { column: "word" rows: 64 minimum_frequency: 3 }
  }
}
"""


def write_rows(path, count):
    generator = random.Random(3)
    with open(path, "w", encoding="utf-8") as f:
        f.write("paid,age,town,word\n")
        for _ in range(count):
            age, town, word = generator.randint(18, 80), generator.randint(0, 30), generator.randint(0, 90)
            f.write("%d,%d,t%d,w%d\n" % (generator.random() < (0.8 if town > 15 else 0.2), age, town, word))


class ServerSaveTest(ProgramTestCase):
    def flags(self, servers, override="", config=RUN):
        return ["--config=" + config, "--override=" + override,
                "--servers=" + ",".join(free_addresses(servers))]

    def servers(self, flags, count=2, save="model", **limits):
        """limits: of server i as server_i, the bytes that a file of it may have."""
        return [self.start("weir-server", *flags, "--shard=%d" % i, "--save=" + self.path(save),
                           most_file_bytes=limits.get("server_%d" % i)) for i in range(count)]

    def worker(self, flags, *more):
        return self.start("weir-worker", *flags, "--trainer=0", *more)

    def save_a_model(self):
        flags = self.flags(2)
        for child in self.servers(flags) + [self.worker(flags)]:
            self.end(child, 0)
        return self.manifest()

    def manifest(self, model="model"):
        with open(self.path(model + "/manifest.textproto"), encoding="utf-8") as f:
            return f.read()

    def partial(self):
        return glob.glob(self.path("model.partial-run-*"))

    def hold_part(self, server):
        """Its disk does not answer: what it opens to write waits for a reader. Returns the part's path."""
        self.until(self.partial)
        part = os.path.join(self.partial()[0], "parameters-%d-of-2.weir" % server)
        os.mkfifo(part)
        return part

    def check_model(self, manifest):
        """The model before is there, whole, and nothing beside it but what a killed process left."""
        self.assertEqual(self.manifest(), manifest)
        self.end(self.start("weir-predict", "--model=" + self.path("model"),
                            "--export=" + self.path("export.safetensors")), 0)

    # --- what should work

    def check_parts_are_the_whole(self):
        """What two servers have saved is what a worker has, byte by byte."""
        parts = b""
        for i in range(2):
            with open(self.path("model/parameters-%d-of-2.weir" % i), "rb") as f:
                parts += f.read()
        with open(self.path("whole/parameters.weir"), "rb") as f:
            self.assertEqual(f.read(), parts)
        self.assertEqual(self.partial(), [])

    def test_servers_leave_what_a_worker_would_have_saved(self):
        flags = self.flags(2)
        servers = self.servers(flags)
        saver = self.worker(flags, "--save=" + self.path("whole"))
        for child in servers + [saver]:
            self.end(child, 0)
        self.check_parts_are_the_whole()

    def test_what_columns_learn_is_saved_and_a_model_in_parts_is_scored_as_one_of_a_file(self):
        write_rows(self.path("rows.csv"), 2000)
        with open(self.path("csv.textproto"), "w", encoding="utf-8") as f:
            f.write(CSV % self.path("rows.csv"))
        flags = self.flags(3, config=self.path("csv.textproto"))
        servers = self.servers(flags, 3)
        for child in servers + [self.worker(flags, "--save=" + self.path("whole"))]:
            self.end(child, 0)
        learned = []
        for model in ("model", "whole"):
            learned.append(re.search(r"\nlearned \{.*?\n\}\n", self.manifest(model), re.DOTALL)[0])
            self.end(self.start("weir-predict", "--model=" + self.path(model), "--in=" + self.path("rows.csv"),
                                "--out=" + self.path(model + ".csv")), 0, "logloss")
        self.assertEqual(learned[0], learned[1])
        self.assertIn("frequent", learned[0])
        self.assertTrue(filecmp.cmp(self.path("model.csv"), self.path("whole.csv"), shallow=False))

    def test_a_run_goes_on_with_another_number_of_servers_and_replaces_the_model(self):
        before = self.save_a_model()
        flags = self.flags(3) + ["--warm_start=" + self.path("model")]
        for child in self.servers(flags, 3) + [self.worker(flags)]:
            self.end(child, 0)
        steps = [int(re.search(r"\nsteps: (\d+)", text)[1]) for text in (before, self.manifest())]
        self.assertEqual(steps[1], 2 * steps[0])
        self.assertEqual(sorted(os.listdir(self.path("model"))),
                         ["manifest.textproto"] + ["parameters-%d-of-3.weir" % i for i in range(3)])

    def test_a_trainer_of_stages_is_waited_for(self):
        flags = self.flags(2, "pipeline { split { after: 'bottom/0' } } ")
        servers = self.servers(flags)
        link = "--link=" + free_addresses(1)[0]
        stages = [self.start("weir-worker", *flags, "--stage=0"),
                  self.start("weir-worker", *flags, "--stage=1", link)]
        for child in servers + stages:
            self.end(child, 0)
        self.check_model(self.manifest())

    # --- wrong flags

    def test_servers_save_all_or_none(self):
        for of_first, of_second in (("model", None), (None, "model")):
            flags = self.flags(2, MORTAL)
            saves = [["--save=" + self.path(save)] if save else [] for save in (of_first, of_second)]
            servers = [self.start("weir-server", *flags, "--shard=%d" % i, *saves[i]) for i in range(2)]
            self.end(servers[1], 1, "--save is given", "all servers of a run need it")
            servers[0].send_signal(signal.SIGINT)
            self.end(servers[0], 130)
            self.assertEqual(os.listdir(self.directory.name), [])

    def test_a_folder_that_not_all_reach_is_told_at_the_start(self):
        flags = self.flags(2, MORTAL)
        os.mkdir(self.path("elsewhere"))
        servers = [self.start("weir-server", *flags, "--shard=%d" % i, "--save=" + self.path(save))
                   for i, save in enumerate(("model", "elsewhere/model"))]
        worker = self.worker(flags)
        self.end(servers[1], 1, "which server 0 has made, is not there: --save, and --checkpoints, has to lead")
        self.end(servers[0], 1, "server 1 at", "is not there: --save, and --checkpoints, has to lead")
        self.end(worker, 1)
        self.assertEqual(os.listdir(self.directory.name), ["elsewhere"])

    def test_what_cannot_be_written_is_said_first(self):
        with open(self.path("model"), "w", encoding="utf-8") as f:
            f.write("mine")
        self.end(self.servers(self.flags(1), 1)[0], 1, "is there and is no folder")

    def test_a_server_with_a_log_that_dies_while_it_saves_is_started_again_and_the_model_is_whole(self):
        cluster = "cluster { window: 1 %s } "  # so that all runs learn the same
        flags = self.flags(2, cluster % "")
        for child in [self.start("weir-server", *flags, "--shard=%d" % i) for i in range(2)] + [
                self.worker(flags, "--save=" + self.path("whole"))]:
            self.end(child, 0)
        for dying in (0, 1):
            flags = self.flags(2, cluster % "durability: PROCESS")
            data = [["--data_dir=" + self.path("data-%d-%d" % (dying, i))] for i in range(2)]
            servers = [self.servers(flags + data[0], 1)[0], None]
            servers[1] = self.start("weir-server", *flags, *data[1], "--shard=1", "--save=" + self.path("model"))
            part = self.hold_part(dying)
            self.end(self.worker(flags), 0)
            other = os.path.join(self.partial()[0], "parameters-%d-of-2.weir" % (1 - dying))
            self.until(lambda: os.path.exists(other) and os.path.getsize(other) > 0)
            servers[dying].kill()
            self.end(servers[dying], -signal.SIGKILL)
            os.remove(part)
            servers[dying] = self.start("weir-server", *flags, *data[dying], "--shard=%d" % dying,
                                        "--save=" + self.path("model"))
            for child in servers:
                self.end(child, 0)
            self.check_parts_are_the_whole()

    # --- what fails

    def test_a_full_disk_is_told_by_all_and_the_model_before_stays(self):
        manifest = self.save_a_model()
        for full in (0, 1):
            flags = self.flags(2)
            servers = self.servers(flags, **{"server_%d" % full: 8192})
            self.end(self.worker(flags), 0)
            for child in servers:
                self.end(child, 1, "cannot write", "parameters-%d-of-2.weir: File too large" % full)
            self.assertEqual(self.partial(), [])
            self.check_model(manifest)

    def test_a_server_that_dies_while_it_saves_ends_the_run(self):
        manifest = self.save_a_model()
        for dying in (0, 1):
            flags = self.flags(2, MORTAL)
            servers = self.servers(flags)
            self.hold_part(dying)
            self.end(self.worker(flags), 0)
            other = os.path.join(self.partial()[0], "parameters-%d-of-2.weir" % (1 - dying))
            self.until(lambda: os.path.exists(other) and os.path.getsize(other) > 0)
            servers[dying].kill()
            self.end(servers[dying], -signal.SIGKILL)
            text = ("server 1 at", "was not heard of for", "the model is not saved") if dying == 1 else \
                ("server 0 (the coordinator)", "did not answer")
            self.end(servers[1 - dying], 1, *text)
            self.assertEqual(len(self.partial()), 1 - dying, "only who has made it can take it away")
            self.check_model(manifest)
            for left in self.partial():
                subprocess.run(["rm", "-r", left], check=True)

    def test_a_disk_that_stands_still_ends_the_run_in_time(self):
        manifest = self.save_a_model()
        for still in (0, 1):
            flags = self.flags(2, "cluster { join_timeout_ms: 1000 } ")
            servers = self.servers(flags)
            self.hold_part(still)
            self.end(self.worker(flags), 0)
            for child in servers:
                self.end(child, 1, "server %d at" % still, "nothing more of the model was written for 1",
                         "look at the storage of --save")
            self.check_model(manifest)
            for left in self.partial():
                subprocess.run(["rm", "-r", left], check=True)

    def test_a_server_that_is_stopped_while_it_saves_says_so(self):
        manifest = self.save_a_model()
        for stopped in (0, 1):
            flags = self.flags(2)
            servers = self.servers(flags)
            self.hold_part(1)
            self.end(self.worker(flags), 0)
            other = os.path.join(self.partial()[0], "parameters-0-of-2.weir")
            self.until(lambda: os.path.exists(other) and os.path.getsize(other) > 0)
            servers[stopped].send_signal(signal.SIGTERM)
            self.end(servers[stopped], 130, timeout=10)
            self.end(servers[1 - stopped], 1, "server %d" % stopped, "was stopped", timeout=20)
            self.assertEqual(self.partial(), [])
            self.check_model(manifest)


if __name__ == "__main__":
    unittest.main()
