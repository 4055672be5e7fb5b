"""A run whose processes have keys: who belongs takes part, and nobody else. Usage: keys_test.py BIN_DIR"""

import os
import shutil
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from held_ports import free_addresses  # noqa: E402
from programs import ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
FAST = "cluster { connect_timeout_ms: 2500 answer_timeout_ms: 3000 } "
STAGES = 'pipeline { split { after: "bottom/0" none {} } }'
FOREVER = FAST + "data { epochs: 100000 } "


class KeysTest(ProgramTestCase):
    def setUp(self):
        super().setUp()
        self.keys = self.path("keys")
        self.make_keys("--servers=2", "--trainers=2", "--stages=2")

    def make_keys(self, *flags):
        self.end(self.start("weir-keygen", self.keys, *flags), 0, "public.keys has")

    def begin(self, servers=1, override=FAST, flags=(), keys=None):
        self.flags = ["--config=" + RUN, "--override=" + override, "--servers=" + ",".join(free_addresses(servers)),
                      *flags]
        keys = [] if keys == "" else ["--keys=" + self.keys]
        return [self.start("weir-server", *self.flags, "--shard=%d" % i, *keys) for i in range(servers)]

    def worker(self, trainer, *flags, keys=None):
        return self.start("weir-worker", *self.flags, "--trainer=%d" % trainer, *flags,
                          *(["--keys=" + (keys or self.keys)] if keys != "" else []))

    def impostor(self, **files):
        """A folder of keys in which some have those of others; names as files have them."""
        folder = self.path("impostor")
        shutil.copytree(self.keys, folder)
        for name, of in files.items():
            name, of = name.replace("_", "-"), of.replace("_", "-")
            with open("%s/%s.key" % (self.keys, of), encoding="utf-8") as theirs:
                secret = theirs.read().replace(of.replace("-", " "), name.replace("-", " "))
            with open("%s/%s.key" % (folder, name), "w", encoding="utf-8") as own:
                own.write(secret)
        return folder

    def test_a_run(self):
        servers = self.begin(servers=2, override=FAST + "data { epochs: 10 } ")  # until both workers are there
        for child in servers + [self.worker(0), self.worker(1)]:
            self.end(child, 0)

    def test_a_run_of_stages(self):
        servers = self.begin(override=FAST + STAGES)
        for child in servers + [self.worker(0, "--stage=0"), self.worker(0, "--stage=1")]:
            self.end(child, 0)

    def test_a_run_of_weir_local(self):
        """It makes the keys that are missing."""
        flags = ["--config=" + RUN, "--servers=2", "--trainers=2", "--out=" + self.path("out")]
        for folder, more in ((self.path("out/keys"), []), (self.path("local"), ["--keys=" + self.path("local")])):
            self.end(self.start("weir-local", *flags, *more), 0, "done: 2 servers, 2 trainers")
            self.assertEqual(sorted(os.listdir(folder)), ["public.keys", "server-0.key", "server-1.key",
                                                          "trainer-0.key", "trainer-1.key"])
        with open(self.path("out/keys/public.keys"), encoding="utf-8") as f:
            keys = f.read()
        self.end(self.start("weir-local", *flags), 0)
        with open(self.path("out/keys/public.keys"), encoding="utf-8") as f:
            self.assertEqual(f.read(), keys)
        self.check_a_run_of_weir_local_without_keys(flags)

    def check_a_run_of_weir_local_without_keys(self, flags):
        out = self.path("insecure")
        self.end(self.start("weir-local", *flags, "--insecure", "--out=" + out), 0)
        self.assertNotIn("keys", os.listdir(out))
        with open(out + "/logs/server-0.log", encoding="utf-8") as log:
            self.assertIn("--insecure: whoever reaches a port of this run", log.read())
        folder = self.path("local")
        self.end(self.start("weir-local", *flags, "--insecure", "--keys=" + folder), 2, "leave one of them out")
        self.end(self.start("weir-local", *flags[:1], "--servers=0", "--trainers=1", "--keys=" + folder), 2,
                 "--keys: without servers")

    def test_who_has_no_key_is_not_heard(self):
        server, = self.begin(override=FOREVER)
        self.end(self.worker(0, keys=""), 1, "one end has keys and the other has none", "could not join the run")
        self.end_run(server)

    def test_who_has_keys_of_other_servers_hears_so(self):
        server, = self.begin(override=FOREVER)
        others = self.path("others")
        self.end(self.start("weir-keygen", others, "--servers=1", "--trainers=1"), 0)
        self.end(self.worker(0, keys=others), 1, "or other ones", "do both ends have the same keys?")
        self.end_run(server)

    def end_run(self, server):
        """It has served on, and somebody who belongs gets in."""
        worker = self.worker(1, "--out=" + self.path("out"))
        self.until(lambda: os.path.exists(self.path("out/metrics.jsonl")) and
                   os.path.getsize(self.path("out/metrics.jsonl")) > 0)
        worker.send_signal(signal.SIGINT)
        self.end(worker, 130)
        self.end(server, 1)

    def test_nobody_speaks_with_the_key_of_another(self):
        server, = self.begin(override=FOREVER)
        folder = self.impostor(trainer_0="trainer_1")
        # With a list that is wrong at its own end alone.
        with open(folder + "/public.keys", encoding="utf-8") as f:
            keys = dict(line.rstrip("\n").split(": ", 1) for line in f if not line.startswith("#"))
        keys["trainer 0"] = keys.pop("trainer 1")
        with open(folder + "/public.keys", "w", encoding="utf-8") as f:
            f.writelines("%s: %s\n" % pair for pair in keys.items())
        self.end(self.worker(0, keys=folder), 1, "who has the key of trainer 1 may not speak for trainer 0")
        self.end_run(server)

    def test_other_machines_are_not_spoken_to_without_keys(self):
        """The programs end before they open a socket."""
        config = "--config=" + RUN
        reached = "--keys: other machines reach tcp://198.51.100.1:7100"
        servers = "--servers=tcp://127.0.0.1:7100,tcp://198.51.100.1:7100"
        self.end(self.start("weir-server", config, servers, "--shard=0"), 2, reached, "weir-keygen", "--insecure")
        self.end(self.start("weir-worker", config, servers), 2, reached, "weir-keygen", "--insecure")
        near = "--servers=tcp://127.0.0.1:7100"
        self.end(self.start("weir-server", config, near, "--shard=0", "--listen=tcp://*:7100"), 2, "tcp://*:7100")
        self.end(self.start("weir-worker", config, near, "--override=" + STAGES, "--stage=1", "--link_listen=tcp://*:0"),
                 2, "tcp://*:0")
        self.end(self.start("weir-server", config, near, "--shard=0", "--insecure", "--keys=" + self.keys), 2,
                 "leave one of them out")
        server, = self.begin(override=FOREVER, flags=["--insecure", "--listen=tcp://*:0"], keys="")
        self.until_said(server, "whoever reaches a port of this run")

    def until_said(self, child, text):
        while text not in (line := child.stdout.readline()):
            self.assertTrue(line, "it has not said " + text)

    def test_a_wrong_folder_is_named_before_anything_begins(self):
        self.flags = ["--config=" + RUN, "--servers=" + free_addresses(1)[0]]
        folder = self.impostor(trainer_0="trainer_1")
        self.end(self.worker(0, keys=folder), 2, "--keys: ", "another key of trainer 0")
        self.end(self.worker(7), 2, "--keys: cannot read ", "trainer-7.key")
        os.chmod(self.keys + "/trainer-0.key", 0o644)
        self.end(self.worker(0), 2, "--keys: ", "may be read by others")

    def test_a_key_that_is_taken_off_the_list_is_cut_off(self):
        server, = self.begin(override=FOREVER)
        gone, stays = self.worker(0), self.worker(1, "--out=" + self.path("out"))
        self.until(lambda: os.path.exists(self.path("out/metrics.jsonl")) and
                   os.path.getsize(self.path("out/metrics.jsonl")) > 0)
        self.make_keys("--remove=trainer 0")
        server.send_signal(signal.SIGHUP)
        self.end(gone, 1, "refuses who has this process's key")
        time.sleep(0.5)
        self.assertIsNone(stays.poll())
        self.assertIsNone(server.poll())


if __name__ == "__main__":
    unittest.main()
