"""The binaries as a user starts them: the command lines of the README, and what happens when something
is wrong. Usage: process_test.py BIN_DIR"""

import gzip
import itertools
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from held_ports import free_addresses, free_ports  # noqa: E402
from passing_proxy import PassingProxy  # noqa: E402
from programs import BIN, ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
FAST = "cluster { connect_timeout_ms: 1500 answer_timeout_ms: 3000 } "
FOREVER = FAST + "data { epochs: 100000 } "
# Who joins a run that is over is refused: so long that all of its workers come before.
TOGETHER = "data { epochs: 10 } "


class CountingProxy(PassingProxy):
    def __init__(self, target_port):
        self.counts = []
        super().__init__(target_port)

    def pass_on(self, sink, data):
        self.counts.append(len(data))
        super().pass_on(sink, data)

    def total(self):
        return sum(self.counts)


class CuttingProxy(PassingProxy):
    """Ends a connection now and then, in the midst of what it passes on."""
    EVERY_BYTES = 40e6

    def __init__(self, target_port):
        self.left = self.EVERY_BYTES
        self.cuts = 0
        super().__init__(target_port)

    def pass_on(self, sink, data):
        self.left -= len(data)
        if self.left < 0:
            self.left = self.EVERY_BYTES
            self.cuts += 1
            raise OSError("cut")
        super().pass_on(sink, data)


class Stranger:
    """A peer that speaks ZMTP 3.0, as a DEALER, and nothing of ours."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        greeting = b"\xff" + bytes(7) + b"\x01\x7f\x03\x00NULL"
        self.socket.sendall(greeting.ljust(64, b"\0"))
        self.read(64)
        self.socket.sendall(b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER")
        self.read(self.read(2)[1])

    def read(self, count):
        data = b""
        while len(data) < count:
            data += self.socket.recv(count - len(data))
        return data

    def say(self, message):
        self.socket.sendall(b"\x00" + bytes([len(message)]) + message)

    def say_parts(self, most_bytes):
        """Of a message that does not end; how many bytes of them were taken."""
        said, parts = 0, b"\x01\x00" * 50000
        try:
            while said < most_bytes:
                self.socket.sendall(parts)
                said += len(parts)
        except OSError:
            pass
        return said


def listens(address):
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        return True
    except OSError:
        return False


def is_connected(process, address):
    """Whether the kernel has taken a connection of the process's; the other end may be stopped."""
    try:
        with os.scandir("/proc/%d/fd" % process.pid) as found:
            files = {os.readlink(file.path) for file in found}
    except FileNotFoundError:  # closed meanwhile
        return False
    port = ":%04X" % int(address.rsplit(":", 1)[1])
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return any(row[2].endswith(port) and row[3] == "01" and "socket:[%s]" % row[9] in files for row in rows)


class ProcessTest(ProgramTestCase):
    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def run_once(self, code, program, *flags, texts=()):
        return self.end(self.start(program, *flags), code, *texts)

    def summary(self, directory):
        with open(self.path(directory + "/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def metrics(self, directory, kind):
        try:
            with open(self.path(directory + "/metrics.jsonl"), encoding="utf-8") as f:
                lines = [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [line for line in lines if line["kind"] == kind]

    def until(self, condition, timeout=60, said=lambda: ""):
        deadline = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited too long; " + said())
            time.sleep(0.02)

    def until_said(self, child, text):
        """What is read of its output for that is not in what end() returns."""
        while text not in (line := child.stdout.readline()):
            self.assertTrue(line, "it has not said " + text)

    def until_signal_is_awaited(self, process, number=signal.SIGINT):
        """It catches it, or has blocked it for a thread that takes it."""
        def awaited():
            with open("/proc/%d/status" % process.pid, encoding="ascii") as f:
                masks = [int(line.split()[1], 16) for line in f if line.startswith(("SigBlk:", "SigCgt:"))]
            return any(mask >> (number - 1) & 1 for mask in masks)
        self.until(awaited)

    def servers(self, count):
        return ",".join(free_addresses(count))

    def cluster(self, override="", servers=2, trainers=2):
        addresses = self.servers(servers)
        flags = ["--config=" + RUN, "--override=" + override, "--servers=" + addresses]
        server = [self.start("weir-server", *flags, "--shard=%d" % i) for i in range(servers)]
        worker = [self.start("weir-worker", *flags, "--trainer=%d" % i,
                             "--out=" + self.path("t%d" % i)) for i in range(trainers)]
        return server, worker, flags

    # --- what should work

    def test_four_command_lines_make_a_run(self):
        servers, workers, _ = self.cluster(TOGETHER)
        for child in servers + workers:
            self.end(child, 0)
        summary = self.summary("t0")
        self.assertEqual(summary["train"]["samples"], 10 * 20000)
        self.assertEqual(summary["test"]["samples"], 5000)
        self.assertEqual((summary["servers"], summary["trainers"]), (2, 2))

    def test_counts_the_bytes_that_cross_the_wire(self):
        port = free_ports(1)[0]
        counting = CountingProxy(port)
        self.addCleanup(counting.listener.close)
        flags = ["--config=" + RUN, "--servers=" + counting.address, "--override=" + TOGETHER]
        server = self.start("weir-server", *flags, "--shard=0", "--listen=tcp://127.0.0.1:%d" % port)
        self.until(lambda: listens("tcp://127.0.0.1:%d" % port))
        workers = [self.start("weir-worker", *flags, "--trainer=%d" % i,
                              "--out=" + self.path("t%d" % i)) for i in range(2)]
        for child in [server] + workers:
            self.end(child, 0)
        wire = self.summary("t0")["wire"]
        # Not in the summary: greetings, and what follows the trainers' last reports.
        self.assertGreater(wire["total_bytes"], 1e6)
        self.assertLess(wire["total_bytes"], counting.total())
        self.assertGreater(wire["total_bytes"], 0.995 * counting.total())

    def test_embedded_run_needs_no_server(self):
        self.run_once(0, "weir-worker", "--config=" + RUN, "--out=" + self.path("e"))
        summary = self.summary("e")
        self.assertEqual(summary["mode"], "embedded")
        self.assertLessEqual({"rows", "forward", "backward", "update", "other"}, set(summary["stages_time"]))
        self.assertNotIn("select", summary["stages_time"])

    def test_the_config_beside_the_results_makes_the_run_again(self):
        self.run_once(0, "weir-worker", "--config=" + RUN, "--override=data { epochs: 2 }",
                      "--out=" + self.path("one"))
        self.run_once(0, "weir-worker", "--config=" + self.path("one/config.textproto"),
                      "--out=" + self.path("two"))
        one, two = self.summary("one"), self.summary("two")
        self.assertEqual(one["config_hash"], two["config_hash"])
        self.assertEqual(one["test"]["logloss"], two["test"]["logloss"])
        self.assertEqual(two["train"]["samples"], 40000)

    def test_weir_local_runs_everything(self):
        self.run_once(0, "weir-local", "--config=" + RUN, "--servers=2", "--trainers=2",
                      "--out=" + self.path("l"),
                      "--override=compression { default { dct { sparsity: 0.95 } values: BF16 } }")
        summary = self.summary("l")
        self.assertEqual(summary["train"]["samples"], 20000)
        self.assertLess(summary["wire"]["push_bytes"] * 5, summary["wire"]["push_bytes_dense"])
        self.assertLessEqual({"rows", "forward", "backward", "select", "encode", "other"}, set(summary["stages_time"]))
        for layer in summary["layers"]:
            self.assertGreater(layer["residual_norm"], 0, layer["name"])

    def test_many_test_rows_hold_no_trainer_up_at_the_end(self):
        self.run_once(0, "weir-local", "--config=" + RUN, "--servers=1", "--trainers=4",
                      "--out=" + self.path("l"),
                      "--override=data { synthetic { rows: 2000 test_rows: 600000 tables: 26 } }")
        self.assertEqual(self.summary("l")["test"]["samples"], 600000)

    STAGES = ("pipeline { split { after: 'bottom/0' dct_mp { sparsity: 0.5 } } "
              "split { after: 'top/0' dct_mp { sparsity: 0.5 } } } ")

    def test_weir_local_runs_stages(self):
        self.run_once(0, "weir-local", "--config=" + RUN, "--servers=2", "--trainers=2", "--stages=3",
                      "--out=" + self.path("l"), "--override=" + self.STAGES)
        summary = self.summary("l")
        self.assertEqual(summary["train"]["samples"], 20000)
        self.assertEqual((summary["trainers"], summary["stages"]), (2, 3))
        self.assertEqual([split["after"] for split in summary["splits"]], ["bottom/0", "top/0"])
        self.assertGreater(summary["wire"]["forward_bytes"], summary["splits"][0]["forward_bytes"])
        self.assertEqual(sorted(summary["stages_time"]), sorted(
            "stage %d %s" % (stage, what) for stage in range(3)
            for what in ("computing", "waiting for input", "waiting for credit", "waiting for servers",
                         "sending")))
        self.assertIn("unmasked", summary["test"])

    def test_the_config_of_the_hybrid(self):
        self.run_once(0, "weir-local", "--config=configs/runs/dct_hybrid.textproto", "--servers=2",
                      "--trainers=2", "--stages=3", "--out=" + self.path("l"),
                      "--override=data { synthetic { rows: 20000 test_rows: 1000 } }",
                      texts=["link    behind bottom/1, forward ", "link    behind top/1, forward ",
                             "with everything sent at the splits "])
        summary = self.summary("l")
        self.assertEqual(summary["train"]["samples"], 20000)
        for split in summary["splits"]:
            self.assertGreater(split["forward_link_bytes"], split["forward_bytes"])
            self.assertGreater(split["backward_link_bytes"], split["backward_bytes"])
            self.assertLess(10 * split["backward_link_bytes"], 4 * split["elements"])

    def sample(self, split):
        path = "../shared/data/criteo_sample_%s.tsv.gz" % split
        if not os.path.exists(path):
            self.skipTest(path + " is not here")
        return path

    def test_the_config_of_the_hybrid_as_it_is_on_the_sample(self):
        self.sample("train"), self.sample("test")
        self.end(self.start("weir-local", "--config=configs/runs/dct_hybrid.textproto", "--servers=2",
                            '--override=data { root: "../shared/data" }', "--trainers=2", "--stages=3", "--out=" + self.path("l")), 0,
                 "done: 2 servers, 2 trainers of 3 stages", "train   100,000 samples",
                 "test    17,547 samples", "with everything sent at the splits ", "summary.json",
                 timeout=200)
        summary = self.summary("l")
        self.assertEqual((summary["servers"], summary["trainers"], summary["stages"]), (2, 2, 3))
        train, test, wire = summary["train"], summary["test"], summary["wire"]
        self.assertEqual((train["samples"], train["lines"], train["malformed_lines"]), (100000, 100000, 0))
        self.assertEqual(test["samples"], 17547)
        # Guessing the share of clicks gives 0.57.
        self.assertLess(train["logloss"], 0.56)
        for scores in test, test["unmasked"]:
            self.assertLess(scores["logloss"], 0.54)
            self.assertGreater(scores["auc"], 0.7)
        self.assertEqual({layer["policy"] for layer in summary["layers"]}, {"dct"})
        sent = sum(layer["density"] * layer["elements"] for layer in summary["layers"])
        self.assertLess(sent, 0.02 * sum(layer["elements"] for layer in summary["layers"]))
        self.assertLess(20 * wire["push_bytes"], wire["push_bytes_dense"])
        self.assertEqual([(split["after"], split["policy"]) for split in summary["splits"]],
                         [("bottom/1", "dct_mp"), ("top/1", "dct_mp")])
        for split in summary["splits"]:
            # 26 of 256: a tenth, and never fewer.
            self.assertAlmostEqual(split["density"], 26 / 256, delta=0.001)
            self.assertEqual(split["elements"], 100000 * 256)
        for way in "forward", "backward":
            self.assertLess(8 * wire[way + "_bytes"], wire[way + "_bytes_dense"])
        self.assertEqual(summary["recovery"]["server_restarts"], 0)

    def head_of(self, split, rows):
        """A file of the first so many rows of the sample."""
        with gzip.open(self.sample(split), "rb") as f:
            return self.write("%s.tsv" % split, b"".join(itertools.islice(f, rows)))

    def test_the_config_of_the_sample_with_every_policy(self):
        train, test = self.head_of("train", 2000), self.head_of("test", 500)
        # Chunks so small that both trainers get some.
        override = 'data { train: "%s" test: "%s" chunk_batches: 2 }' % (train, test)
        policies = sorted(os.listdir("configs/policies"))
        self.assertGreater(len(policies), 10)
        for policy in policies:
            with self.subTest(policy):
                out = policy.split(".")[0]
                self.run_once(0, "weir-local", "--override=" + override, "--out=" + self.path(out),
                              "--config=configs/runs/criteo_sample.textproto,configs/policies/" + policy)
                summary = self.summary(out)
                self.assertEqual((summary["train"]["samples"], summary["test"]["samples"]), (2000, 500))
                self.assertGreater(summary["test"]["logloss"], 0)
                used = {layer["policy"] for layer in summary["layers"]}
                self.assertEqual(len(used), 1)
                if policy == "lazy_rows.textproto":
                    self.assertEqual(used, {"dct"})
                    self.assertGreater(summary["rows"]["cache_lookups"], 0)
                else:
                    self.assertTrue(out.startswith(used.pop()), summary["layers"])

    # --- what it costs

    def peak_bytes_of_worker(self, rows):
        """Of a worker on so many rows, most of whose ids are new."""
        servers, workers, _ = self.cluster(
            "data { synthetic { rows: %d rows_per_table: 1000000 } } "
            "compression { default { dct { sparsity: 0.95 } values: BF16 } }" % rows,
            servers=1, trainers=1)
        peak = 0
        while workers[0].poll() is None:
            try:
                with open("/proc/%d/status" % workers[0].pid, encoding="ascii") as f:
                    lines = [line for line in f if line.startswith("VmHWM")]
            except (FileNotFoundError, ProcessLookupError):
                break
            peak = max([peak] + [1024 * int(line.split()[1]) for line in lines])
            time.sleep(0.005)
        for child in workers + servers:
            self.end(child, 0)
        return peak

    def test_a_longer_run_needs_no_more_memory_in_the_worker(self):
        short, long = self.peak_bytes_of_worker(60000), self.peak_bytes_of_worker(240000)
        self.assertGreater(short, 1e6)
        self.assertLess(long - short, 3e6, "8 bytes for each id that only the long run has are 4.5e6")

    # --- what should be refused

    def test_all_config_mistakes_at_once(self):
        self.run_once(2, "weir-worker", "--config=" + RUN,
                      "--override=data { batch_size: 0 } model { bottom_widths: 7 }",
                      texts=["data.batch_size", "bottom_widths", "embedding_dimension"])

    def test_configs_laid_over_each_other_in_two_flags(self):
        for program in ("weir-local", "weir-worker", "weir-server", "weir-data"):
            self.run_once(2, program, "--config=" + RUN, "--override=run { seed: 1 }",
                          "--override=run { seed: 2 }", texts=["--override is given 2 times"])

    def test_unknown_flag(self):
        self.run_once(2, "weir-worker", "--colour=blue", texts=["colour"])
        self.run_once(2, "weir-worker", "--trainr=0", texts=["--trainr is no flag; did you mean --trainer?"])
        self.run_once(2, "weir-worker", "--config=" + RUN, "--override=data { batchsize: 3 }",
                      texts=['has no field named "batchsize"', "did you mean batch_size?"])
        self.run_once(2, "weir-server", "--colour=blue", texts=["colour"])
        self.run_once(2, "weir-server", "--config=" + RUN, "--servers=tcp://127.0.0.1:7100",
                      "--listen=h1", texts=["--listen: ", "'h1'"])

    def test_flags_of_another_command(self):
        with open(self.path("f.csv"), "w", encoding="utf-8") as f:
            f.write("label,x\n1,2\n0,3\n")
        self.run_once(2, "weir-data", "split", self.path("f.csv"), "--rows=5", "--out=x",
                      texts=["--rows is not for split, which has --test_share, --by, --last", "--out is not for split"])
        self.run_once(2, "weir-data", "inspect", self.path("f.csv"), "--by=x", texts=["--by is not for inspect"])
        self.run_once(2, "weir-data", "split", self.path("f.csv"), "--by=", texts=["--by= names no column"])
        self.assertEqual(os.listdir(self.directory.name), ["f.csv"])

    def test_messages_too_small_for_the_model(self):
        for program, flag in (("weir-server", "--shard=0"), ("weir-worker", "--trainer=0")):
            self.run_once(2, program, "--config=configs/runs/quickstart.textproto", flag, "--servers=" + self.servers(1),
                          "--override=cluster { max_message_bytes: 1048576 }",
                          texts=["cluster.max_message_bytes", "dense parameters"])

    def test_model_that_does_not_fit_into_memory(self):
        child = subprocess.Popen(
            ["bash", "-c", 'ulimit -v 2000000 && exec "$@"', "-", os.path.join(BIN, "weir-worker"),
             "--config=" + RUN, "--override=model { bottom_widths: [65535, 8192, 8] }"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        output = self.end(child, 1, "not enough memory")
        self.assertNotIn("terminate", output)

    def limited(self, limits, program, *flags):
        """Of the shell: -v 200000, -n 16, -f 8."""
        child = subprocess.Popen(
            ["bash", "-c", "ulimit %s && exec \"$@\"" % limits, "-", os.path.join(BIN, program), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    # Whatever it is that gets no memory: libraries have tables of their own.
    def test_a_worker_never_crashes_for_want_of_memory(self):
        for kilobytes in range(40000, 76000, 4000):
            child = self.limited("-v %d" % kilobytes, "weir-worker", "--config=" + RUN)
            output = child.communicate(timeout=120)[0]
            self.assertIn(child.returncode, (0, 1), "%d kB: %s" % (kilobytes, output))
            if child.returncode == 1:
                self.assertIn("memory", output)

    def test_too_few_file_descriptors_are_named_with_how_many_are_needed(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(2)]
        for program, own in (("weir-server", "--shard=0"), ("weir-server", "--shard=1"), ("weir-worker", "--trainer=0")):
            self.end(self.limited("-n 16", program, *flags, own), 1, "too few file descriptors",
                     "may have 16 open and needs", "ulimit -n")
        self.end(self.limited("-n 16", "weir-local", "--config=" + RUN, "--servers=2", "--trainers=2",
                              "--out=" + self.path("l")), 1, "may have 16 open and needs")
        # What the shell grants at first is raised as far as the machine allows.
        self.end(self.limited("-S -n 16", "weir-local", "--config=" + RUN, "--servers=2", "--trainers=2",
                              "--out=" + self.path("l")), 0)

    def test_files_that_may_not_grow_are_named_and_nothing_is_left_half_written(self):
        out, model = self.path("out"), self.path("model")
        child = self.limited("-f 8", "weir-worker", "--config=" + RUN, "--out=" + out, "--save=" + model,
                             "--override=run { report_interval_ms: 1 evaluate_every_samples: 100 }")
        self.end(child, 1, "File too large", model)
        left = [name for _, folders, files in os.walk(self.directory.name) for name in folders + files]
        self.assertEqual([name for name in left if "partial" in name], [])
        child = self.limited("-f 8", "weir-data", "generate", "--config=configs/runs/quickstart.textproto",
                             "--rows=10000", "--out=" + self.path("rows.tsv"))
        self.end(child, 1, "rows.tsv", "File too large")
        self.assertEqual([name for name in os.listdir(self.directory.name) if "rows" in name], [])

    def test_a_server_says_at_once_all_that_it_lacks_and_shows_a_line(self):
        self.run_once(2, "weir-server", texts=["error: --servers: ", "error: --shard: ", "error: --config: ",
                                               "for example: weir-server --config="])
        output = self.run_once(2, "weir-server", "--config=" + RUN, "--servers=" + self.servers(2),
                               texts=["error: --shard: say which entry of --servers this process is"])
        self.assertNotIn("--config: ", output)
        self.run_once(2, "weir-server", "--config=" + RUN, "--servers=" + self.servers(2), "--shard=2",
                      texts=["--shard: 2 is not an index into the 2 entries"])

    def test_a_run_over_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("this machine has no IPv6 address to listen at")
        ports = free_ports(2, socket.AF_INET6)
        addresses = ",".join("tcp://[::1]:%d" % port for port in ports)
        flags = ["--config=" + RUN, "--servers=" + addresses, "--override=" + self.STAGES]
        servers = [self.start("weir-server", *flags, "--shard=0"),
                   self.start("weir-server", *flags, "--shard=1", "--insecure", "--listen=tcp://*:%d" % ports[1])]
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--link=tcp://[::1]:0"] if i else ["--out=" + self.path("t0")])) for i in range(3)]
        for child in stages + servers:
            self.end(child, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], 20000)

    def lone_server(self):
        address = self.servers(1)
        server = self.start("weir-server", "--config=" + RUN, "--servers=" + address, "--shard=0")
        port = int(address.rpartition(":")[2])

        def listens():
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                return False
            return True
        self.until(listens)
        return server, port

    def stranger(self, port):
        stranger = Stranger(port)
        self.addCleanup(stranger.socket.close)
        return stranger

    def peak_bytes(self, process):
        with open("/proc/%d/status" % process.pid, encoding="ascii") as f:
            return next(1024 * int(line.split()[1]) for line in f if line.startswith("VmHWM"))

    # A part costs its receiver 64 bytes and its sender 2.
    def test_a_message_that_does_not_end_takes_no_memory(self):
        server, port = self.lone_server()
        before = self.peak_bytes(server)
        said = [self.stranger(port).say_parts(100e6) for _ in range(3)]
        self.assertLess(max(said), 100e6)
        self.assertLess(self.peak_bytes(server) - before, 3 * 64e6, "of 3 * 3.2e9 bytes")
        server.send_signal(signal.SIGTERM)
        self.end(server, 130, "bytes of a message that does not end")

    # As a push that ZeroMQ sends again on a new connection, before the hello that belongs to it.
    def test_a_large_message_before_a_hello_is_refused_and_its_connection_stays(self):
        server, port = self.lone_server()
        stranger = self.stranger(port)
        size = 1 << 20
        stranger.socket.sendall(b"\x02" + size.to_bytes(8, "big") + bytes(size // 2))
        time.sleep(0.3)  # for the looks of the server
        stranger.socket.sendall(bytes(size // 2))
        reply = b"a message without a header"
        self.assertIn(reply, stranger.read(len(reply) + 6))
        server.send_signal(signal.SIGTERM)
        self.end(server, 130)

    # What ZeroMQ sends again of them before the new hello is more than a stranger may say.
    def test_connections_that_are_cut_in_large_pushes_are_made_again(self):
        port = free_ports(1)[0]
        proxy = CuttingProxy(port)
        self.addCleanup(proxy.listener.close)
        flags = ["--config=" + RUN, "--override=model { bottom_widths: [1024, 512, 8] } compression { default { none {} } }"
                 "data { epochs: 1 batch_size: 64 synthetic { rows: 3840 } } cluster { concurrency_warmup_steps: 0 }"]
        server = self.start("weir-server", *flags, "--servers=tcp://127.0.0.1:%d" % port, "--shard=0")
        worker = self.start("weir-worker", *flags, "--servers=" + proxy.address, "--out=" + self.path("t0"))
        for child in (worker, server):
            self.end(child, 0, timeout=200)
        self.assertEqual(self.summary("t0")["train"]["samples"], 3840)
        self.assertGreater(proxy.cuts, 2)

    def test_a_peer_that_is_refused_without_end_does_not_fill_the_log(self):
        server, port = self.lone_server()
        stranger = self.stranger(port)
        for _ in range(20000):
            stranger.say(b"x")
        reply = b"a message without a header"
        self.assertIn(reply, stranger.read(20000 * (len(reply) + 6)))
        time.sleep(1.2)
        server.send_signal(signal.SIGTERM)
        output = self.end(server, 130, "more like it before were not told")
        self.assertLess(output.count("refused: a message without a header"), 200)

    def test_unknown_policy(self):
        self.run_once(2, "weir-worker", "--config=" + RUN,
                      "--override=compression { default { telepathy {} } }", texts=["telepathy"])

    def test_policy_without_servers(self):
        self.run_once(2, "weir-worker", "--config=" + RUN,
                      "--override=compression { default { dct { sparsity: 0.9 } } }",
                      texts=["servers"])

    def criteo(self, path, extra=""):
        return ["--config=configs/models/dlrm_tiny.textproto",
                '--override=data { train: "%s" criteo_tsv { rows_per_table: 100 } %s }' % (path, extra)]

    def test_missing_file(self):
        self.run_once(1, "weir-worker", *self.criteo(self.path("nowhere.tsv")),
                      texts=["nowhere.tsv"])

    def test_empty_file(self):
        path = self.write("empty.tsv", b"")
        self.run_once(1, "weir-worker", *self.criteo(path), texts=["empty.tsv", "empty"])

    def test_truncated_gz(self):
        import gzip
        line = b"1" + b"\t5" * 13 + b"\tdeadbeef" * 26 + b"\n"
        numbers = random.Random(1)
        whole = gzip.compress(b"".join(line.replace(b"5", b"%d" % numbers.randrange(10**6))
                                       for _ in range(3000)))
        path = self.write("cut.tsv.gz", whole[: len(whole) // 2])
        self.run_once(1, "weir-worker", *self.criteo(path), texts=["cut.tsv.gz"])

    def test_malformed_rows_beyond_the_share(self):
        line = b"1" + b"\t5" * 13 + b"\tdeadbeef" * 26 + b"\n"
        path = self.write("bad.tsv", line * 50 + b"7" + line[1:] + b"nonsense\n" * 3 + line * 50)
        self.run_once(1, "weir-worker", *self.criteo(path),
                      texts=["bad.tsv:51", "max_malformed_share"])

    def test_a_small_bad_file_to_test_on_is_not_lost_in_a_large_one_to_train_on(self):
        line = b"1" + b"\t5" * 13 + b"\tdeadbeef" * 26 + b"\n"
        good, bad = self.write("good.tsv", line * 20000), self.write("bad.tsv", line + b"7" + line[1:] + b"7\n" * 7)
        self.run_once(1, "weir-worker", *self.criteo(good, 'test: "%s"' % bad),
                      texts=["8 of 9 lines to test on are malformed", "bad.tsv:2"])

    def test_rows_that_a_stray_quote_hides_are_beyond_the_share(self):
        rows = ["y,x"] + ["%d,%d" % (i % 2, i) for i in range(998)]
        rows[10], rows[400] = '1,"x', '1,3"'
        path = self.write("rows.csv", "\n".join(rows).encode() + b"\n")
        config = """model { bottom_widths: [4] top_widths: [1] embedding_dimension: 4 }
            data { train: "%s" max_malformed_share: 0.01
                   csv { label { column: "y" } dense { column: "x" } } }"""
        self.run_once(1, "weir-worker", "--config=" + self.write("rows.textproto", (config % path).encode()),
                      texts=["391 of ", "rows.csv:11-401", "max_malformed_share"])

    def test_scores_that_are_no_numbers(self):
        model, out = self.path("model"), self.path("out")
        # A single step: no loss comes behind it that could tell.
        self.run_once(1, "weir-worker", "--config=configs/runs/local.textproto", "--save=" + model,
                      "--override=model { bottom_activations: LINEAR top_activations: LINEAR } "
                      "data { batch_size: 64 synthetic { rows: 64 } } "
                      "update { dense { sgd { learning_rate: 1e15 } } rows { sgd { learning_rate: 1e15 } } }",
                      texts=["is not a number", "training has diverged"])
        self.assertFalse(os.path.exists(model))
        # One row of the test set is more than the model can take.
        rows = ["y,x"] + ["%d,%d" % (i % 2, i % 7) for i in range(500)]
        train = self.write("train.csv", "\n".join(rows).encode() + b"\n")
        test = self.write("test.csv", "\n".join(rows + ["1,3e38"]).encode() + b"\n")
        config = """model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 bottom_activations: LINEAR
                            interaction: DOT_WITH_SELF }
            data { batch_size: 16 train: "%s" test: "%s"
                   csv { label { column: "y" } dense { column: "x" } categorical { column: "x" name: "t" rows: 64 } } }"""
        self.run_once(0, "weir-worker", "--config=" + self.write("rows.textproto", (config % (train, test)).encode()),
                      "--save=" + model, "--out=" + out, texts=["test.csv:502: the model's score of it is not a number"])
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
            tested = json.load(f)["test"]
        self.assertEqual(tested["samples"], 500)
        self.assertIsNotNone(tested["logloss"])
        scores = self.path("scores.csv")
        self.run_once(0, "weir-predict", "--model=" + model, "--in=" + test, "--out=" + scores,
                      texts=["malformed   1", "test.csv:502: "])
        with open(scores, encoding="utf-8") as f:
            self.assertEqual(len(f.readlines()), 1 + 501)  # the row without a score keeps its place

    def test_one_malformed_row_is_tolerated_in_every_epoch(self):
        line = b"1" + b"\t5" * 13 + b"\tdeadbeef" * 26 + b"\n"
        path = self.write("one.tsv", line * 50 + b"nonsense\n" + line * 50)
        self.run_once(0, "weir-worker", *self.criteo(path, "epochs: 3"))

    def test_closed_standard_streams_are_not_written_to_by_others(self):
        def close():
            for stream in 0, 1, 2:
                os.close(stream)
        done = subprocess.run([os.path.join(BIN, "weir-worker"), "--config=" + RUN, "--out=" + self.path("out"),
                               "--override=run { report_interval_ms: 1 }"], preexec_fn=close, timeout=60)
        self.assertEqual(done.returncode, 0)
        with open(self.path("out/metrics.jsonl"), encoding="utf-8") as f:
            self.assertGreater(len([json.loads(line) for line in f]), 0)

    def without_reader(self, program, *flags):
        """Its output goes to a pipe whose other end is closed, as when `| tee` dies before it."""
        reader, writer = os.pipe()
        child = subprocess.Popen([os.path.join(BIN, program), *flags], stdout=writer, stderr=writer)
        self.children.append(child)
        os.close(reader)
        os.close(writer)
        return child

    def test_a_run_goes_on_when_nobody_reads_its_output(self):
        local = self.without_reader("weir-local", "--config=" + RUN, "--servers=1", "--trainers=1",
                                    "--out=" + self.path("l"))
        self.assertEqual(local.wait(timeout=60), 0)
        self.assertEqual(self.summary("l")["train"]["samples"], 20000)
        flags = ["--config=" + RUN, "--servers=" + self.servers(1)]
        server = self.without_reader("weir-server", *flags, "--shard=0")
        worker = self.without_reader("weir-worker", *flags, "--trainer=0", "--out=" + self.path("t0"))
        self.assertEqual((worker.wait(timeout=60), server.wait(timeout=60)), (0, 0))

    def test_a_log_that_cannot_be_written_does_not_cost_the_model(self):
        out, model = self.path("out"), self.path("model")
        os.mkdir(out)
        os.symlink("/dev/full", os.path.join(out, "metrics.jsonl"))
        self.run_once(1, "weir-worker", "--config=" + RUN, "--out=" + out, "--save=" + model,
                      texts=["cannot write", "metrics.jsonl", "No space left on device"])
        for path in os.path.join(model, "manifest.textproto"), os.path.join(out, "summary.json"):
            self.assertTrue(os.path.exists(path), path)

    def test_id_space_of_zero(self):
        path = self.write("x.tsv", b"1" + b"\t" * 39 + b"\n")
        self.run_once(2, "weir-worker", "--config=configs/models/dlrm_tiny.textproto",
                      '--override=data { train: "%s" criteo_tsv { rows_per_table: 0 } }' % path,
                      texts=["rows_per_table"])

    def test_two_servers_on_one_port(self):
        servers, workers, flags = self.cluster(FOREVER, servers=1, trainers=1)
        self.until(lambda: self.metrics("t0", "train"))
        self.run_once(1, "weir-server", *flags, "--shard=0", texts=["in use"])
        servers[0].send_signal(signal.SIGINT)
        self.end(servers[0], 130)
        self.end(workers[0], 1)

    def test_server_that_is_not_there(self):
        self.run_once(1, "weir-worker", "--config=" + RUN, "--override=" + FAST,
                      "--servers=" + self.servers(1), texts=["tcp://127.0.0.1:"])

    def test_second_process_for_a_trainer(self):
        servers, workers, flags = self.cluster(FOREVER, servers=1, trainers=1)
        self.until(lambda: self.metrics("t0", "train"))
        self.run_once(1, "weir-worker", *flags, "--trainer=0", texts=["already running"])
        workers[0].send_signal(signal.SIGINT)
        self.end(workers[0], 130)
        self.end(servers[0], 1, "interrupted")

    def stages(self, override):
        """A server, and flags for a worker of a stage."""
        addresses = self.servers(1)
        flags = ["--config=" + RUN, "--override=" + self.STAGES + override, "--servers=" + addresses]
        return self.start("weir-server", *flags, "--shard=0"), [*flags, "--trainer=0"]

    def test_stages_that_there_are_not(self):
        whole = ["--config=" + RUN, "--servers=" + self.servers(1), "--trainer=0"]
        self.run_once(2, "weir-worker", *whole, "--stage=0", texts=["no pipeline.split"])
        staged = [*whole, "--override=" + self.STAGES]
        self.run_once(2, "weir-worker", *staged, "--stage=3", texts=["there is no stage 3", "0 to 2"])
        self.run_once(2, "weir-worker", *staged, "--stage=-5", texts=["--stage"])
        self.run_once(2, "weir-worker", *staged, "--stage=1", "--link=t1:7200",
                      texts=["--link: ", "'t1:7200'"])
        self.run_once(2, "weir-worker", *staged, "--stage=1", "--link=tcp://t1:7200",
                      "--link_listen=t1", texts=["--link_listen: ", "'t1'"])
        for host in "*", "0.0.0.0":
            self.run_once(2, "weir-worker", *staged, "--stage=1", f"--link=tcp://{host}:7200",
                          texts=["--link: ", "cannot connect to " + host])
        self.run_once(2, "weir-worker", *staged[:1], staged[-1], "--stage=1", texts=["without --servers"])
        self.run_once(2, "weir-worker", *whole, "--stage=1",
                      "--override=" + self.STAGES + "update { dense { sgd { learning_rate: 0.1 } clip_norm: 1 } }",
                      texts=["update.dense.clip_norm"])
        self.run_once(2, "weir-local", "--config=" + RUN, "--stages=2", "--override=" + self.STAGES,
                      texts=["--stages=2: pipeline.split makes 3 stages"])

    def test_two_processes_for_a_stage(self):
        server, flags = self.stages(FAST)
        first = self.start("weir-worker", *flags, "--stage=1")
        self.until_said(server, "trainer 0 stage 1 joined")
        self.run_once(1, "weir-worker", *flags, "--stage=1",
                      texts=["trainer 0 stage 1 is already running", "--stage"])
        first.send_signal(signal.SIGINT)
        self.end(first, 130)
        self.end(server, 1)

    def test_a_whole_model_among_stages(self):
        server, flags = self.stages(FAST)
        first = self.start("weir-worker", *flags, "--stage=1")
        self.until_said(server, "trainer 0 stage 1 joined")
        self.run_once(1, "weir-worker", *flags, texts=["give all a --stage or none"])
        first.send_signal(signal.SIGINT)
        self.end(first, 130)
        self.end(server, 1)

    def test_a_stage_that_never_comes(self):
        server, flags = self.stages("cluster { join_timeout_ms: 5000 } ")
        first = self.start("weir-worker", *flags, "--stage=0")
        last = self.start("weir-worker", *flags, "--stage=2")
        self.end(first, 1, "no trainer has had all its stages", "trainer 0 lacks stage 1")
        self.end(last, 1, "trainer 0 lacks stage 1")
        self.end(server, 1)

    def test_others_go_on_when_a_trainer_loses_a_stage(self):
        rows = 300000
        server, flags = self.stages("data { synthetic { rows: %d } } run { report_interval_ms: 100 } "
                                    "cluster { member_timeout_ms: 3000 } " % rows)
        stages = {(trainer, stage): self.start("weir-worker", *flags, "--trainer=%d" % trainer,
                                               "--stage=%d" % stage, *(
                                                   [] if stage else ["--out=" + self.path("t%d" % trainer)]))
                  for trainer in range(2) for stage in range(3)}
        self.until(lambda: self.metrics("t0", "train") and self.metrics("t1", "train"))
        lost = stages.pop((1, 1))
        lost.kill()
        self.end(lost, -9)
        self.end(stages.pop((1, 0)), 0, "stage 1 is not there", "given to others")
        for stage in stages.values():
            self.end(stage, 0)
        self.end(server, 0, "its work goes to others")
        self.assertEqual(self.summary("t0")["train"]["samples"], rows)

    def test_others_go_on_when_a_stage_cannot_be_reached(self):
        for silent in 1, 2:
            with self.subTest(silent=silent):
                self.end_without_stage(silent)

    def end_without_stage(self, silent):
        rows = 100000
        server, flags = self.stages("data { synthetic { rows: %d } } cluster { answer_timeout_ms: 3000 "
                                    "join_timeout_ms: 5000 } " % rows)
        wrong, right = self.servers(2).split(",")
        unheard = ["--link=" + wrong, "--link_listen=" + right]  # told to others, and where it is
        stages = {(trainer, stage): self.start(
            "weir-worker", *flags, "--trainer=%d" % trainer, "--stage=%d" % stage,
            *(unheard if (trainer, stage) == (0, silent) else []),
            *([] if stage else ["--out=" + self.path("t%d-%d" % (trainer, silent))]))
            for trainer in range(2) for stage in range(3)}
        self.end(stages.pop((0, 0)), 1, "starting over",
                 "no batch has come back from trainer 0 stage %d at %s" % (silent, wrong),
                 "an address that stage %d reaches" % (silent - 1))
        for stage in stages.values():
            self.end(stage, 0)
        self.end(server, 0, wrong, "the other trainers go on")
        self.assertEqual(self.summary("t1-%d" % silent)["train"]["samples"], rows)

    def test_a_stage_that_comes_back_late_gets_new_work(self):
        rows = 800000
        server, flags = self.stages("data { synthetic { rows: %d } } run { report_interval_ms: 100 } "
                                    "cluster { member_timeout_ms: 3000 } " % rows)

        def start(trainer, stage):
            return self.start("weir-worker", *flags, "--trainer=%d" % trainer, "--stage=%d" % stage,
                              *([] if stage else ["--out=" + self.path("t%d" % trainer)]))
        stages = {(trainer, stage): start(trainer, stage) for trainer in range(2) for stage in range(2)}
        stages[1, 2] = start(1, 2)
        self.until(lambda: self.metrics("t1", "train"))  # it is alone: trainer 0 lacks a stage
        stages[1, 1].kill()
        self.end(stages[1, 1], -9)
        time.sleep(3000 / 1000 * 2 + 1.5)  # noticed, and given up
        shown = len(self.metrics("t0", "train"))
        stages[0, 2] = start(0, 2)
        # For ten of its reports, while the server, which looks ten times a second, gives it what trainer 1 had.
        self.until(lambda: len(self.metrics("t0", "train")) > shown + 10)
        stages[1, 1] = start(1, 1)
        output = [self.end(stage, 0) for stage in stages.values()]
        self.end(server, 0, "trainer 1 has lacked a stage", "its work goes to others")
        self.assertIn("were given to others", "".join(output))
        self.assertIn("there again", "".join(output))
        self.assertEqual(self.summary("t0")["train"]["samples"], rows)
        self.assertLess(self.summary("t0")["test"]["logloss"], 0.66)

    # Silent is dead, to the others: what comes to life again is refused, and another takes its place.
    def test_a_stage_that_stalls_for_too_long_is_replaced(self):
        rows = 400000
        server, flags = self.stages("data { synthetic { rows: %d } } run { report_interval_ms: 100 } "
                                    "cluster { member_timeout_ms: 3000 } " % rows)
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--out=" + self.path("t0")] if i == 0 else [])) for i in range(3)]
        self.until(lambda: self.metrics("t0", "train"))
        for stalled in (1, 2):
            shown = len(self.metrics("t0", "train"))
            stages[stalled].send_signal(signal.SIGSTOP)
            time.sleep(3000 / 1000 + 4)
            stages[stalled].send_signal(signal.SIGCONT)
            self.end(stages[stalled], 1, "trainer 0 stage %d was silent for more than 3000 ms" % stalled)
            stages[stalled] = self.start("weir-worker", *flags, "--stage=%d" % stalled)
            self.until(lambda: len(self.metrics("t0", "train")) > shown + 2)
        self.end(stages[0], 0, "; stage 1 is not there", "; stage 2 is not there", "there again", timeout=180)
        for stage in stages[1:]:
            self.end(stage, 0)
        self.end(server, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], rows)

    def test_a_stage_that_stalls_for_a_moment_goes_on(self):
        server, flags = self.stages("run { report_interval_ms: 100 } data { synthetic { rows: 200000 } } ")
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--out=" + self.path("t0")] if i == 0 else [])) for i in range(3)]
        self.until(lambda: self.metrics("t0", "train"))
        self.assertIsNone(stages[0].poll())
        stages[1].send_signal(signal.SIGSTOP)
        time.sleep(1)
        self.assertIsNone(stages[0].poll(), "it waits")
        stages[1].send_signal(signal.SIGCONT)
        output = "".join(self.end(stage, 0) for stage in stages)
        self.assertNotIn("is not there", output)
        self.assertNotIn("starting over", output)
        self.end(server, 0)
        self.assertEqual(self.summary("t0")["train"]["samples"], 200000)

    def test_stages_end_when_their_server_does(self):
        server, flags = self.stages(FOREVER)
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--out=" + self.path("t0")] if i == 0 else [])) for i in range(3)]
        self.until(lambda: self.metrics("t0", "train"))
        server.kill()
        for stage in stages:
            self.end(stage, 1, "server 0 at", timeout=30)

    def test_a_stage_that_owes_and_is_owed_nothing_hears_of_its_servers_death(self):
        server, flags = self.stages(FOREVER)
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--out=" + self.path("t0")] if i == 0 else [])) for i in range(3)]
        self.until(lambda: self.metrics("t0", "train"))
        stages[1].send_signal(signal.SIGSTOP)
        time.sleep(1)  # until every push is answered, and nothing comes back from stage 1
        server.kill()
        self.end(stages[0], 1, "server 0 at", timeout=30)
        self.end(stages[2], 1, "server 0 at", timeout=30)
        stages[1].kill()

    def test_stages_end_when_one_of_them_is_interrupted(self):
        server, flags = self.stages(FOREVER)
        stages = [self.start("weir-worker", *flags, "--stage=%d" % i,
                             *(["--out=" + self.path("t0")] if i == 0 else [])) for i in range(3)]
        self.until(lambda: self.metrics("t0", "train"))
        stages[1].send_signal(signal.SIGINT)
        self.end(stages[1], 130)
        for child in (stages[0], stages[2], server):
            self.end(child, 1, "interrupted", timeout=30)

    # Its messages came to nobody meanwhile, which is not their senders' silence.
    def test_a_coordinator_that_was_paused_goes_on(self):
        servers, workers, _ = self.cluster(
            "cluster { member_timeout_ms: 3000 } run { report_interval_ms: 100 } "
            "data { synthetic { rows: 800000 } }", servers=1)
        self.until(lambda: self.metrics("t0", "train"))
        servers[0].send_signal(signal.SIGSTOP)
        time.sleep(5)
        servers[0].send_signal(signal.SIGCONT)
        for child in servers + workers:
            self.end(child, 0, timeout=120)
        self.assertEqual(self.summary("t0")["train"]["samples"], 800000)

    # As by a frozen container or a virtual machine's snapshot: nobody was silent for the others.
    def test_a_run_that_was_paused_as_a_whole_goes_on(self):
        servers, workers, _ = self.cluster(
            "cluster { member_timeout_ms: 3000 answer_timeout_ms: 4000 } run { report_interval_ms: 100 } "
            "data { synthetic { rows: 800000 } }", trainers=1)
        self.until(lambda: self.metrics("t0", "train"))
        for child in servers + workers:
            child.send_signal(signal.SIGSTOP)
        time.sleep(6)
        for child in servers + workers:
            child.send_signal(signal.SIGCONT)
        for child in servers + workers:
            self.end(child, 0, timeout=120)
        self.assertEqual(self.summary("t0")["train"]["samples"], 800000)

    # Rows that a shorter copy lacks would be trained by nobody.
    def test_a_worker_with_another_copy_of_the_data_is_refused(self):
        self.run_once(0, "weir-data", "generate", "--config=configs/runs/quickstart.textproto", "--rows=1000",
                      "--out=" + self.path("rows.tsv"))
        with open(self.path("rows.tsv"), "rb") as f:
            lines = f.read().splitlines(keepends=True)
        for name, count in (("all", 1000), ("few", 900)):
            os.mkdir(self.path(name))
            self.write(name + "/rows.tsv", b"".join(lines[:count]))
        data = 'data { criteo_tsv {} train: "rows.tsv" epochs: 100000 root: "%s" } run { report_interval_ms: 100 evaluate_every_samples: 0 }'
        flags = ["--config=" + RUN, "--servers=" + self.servers(1)]
        server = self.start("weir-server", *flags, "--shard=0", "--override=" + data % self.path("all"))
        first = self.start("weir-worker", *flags, "--override=" + data % self.path("all"), "--out=" + self.path("t0"))
        self.until(lambda: self.metrics("t0", "train"))
        self.run_once(1, "weir-worker", *flags, "--trainer=1", "--override=" + data % self.path("few"),
                      texts=["data.train[0] has", "all must read the same files"])
        first.send_signal(signal.SIGINT)
        self.end(first, 130)
        self.end(server, 1)

    # The server has answered; it was the worker that did not listen.
    def test_a_worker_that_was_paused_for_too_long_does_not_blame_the_server(self):
        servers, workers, _ = self.cluster(
            "cluster { member_timeout_ms: 3000 answer_timeout_ms: 6000 } run { report_interval_ms: 100 } "
            "data { epochs: 100000 }", servers=1)
        self.until(lambda: self.metrics("t0", "train"))
        workers[0].send_signal(signal.SIGSTOP)
        time.sleep(8)
        workers[0].send_signal(signal.SIGCONT)
        self.end(workers[0], 1, "trainer 0 was silent for more than 3000 ms", "this process stood still for",
                 "the run may have ended meanwhile", timeout=20)
        workers[1].send_signal(signal.SIGINT)
        self.end(workers[1], 130)
        self.end(servers[0], 1)

    def test_a_worker_that_slept_through_its_run_does_not_disturb_the_next(self):
        servers, workers, flags = self.cluster(
            "cluster { answer_timeout_ms: 3000 } run { report_interval_ms: 100 } "
            "data { epochs: 100000 }", servers=1, trainers=1)
        self.until(lambda: self.metrics("t0", "train"))
        workers[0].send_signal(signal.SIGSTOP)
        servers[0].kill()
        self.end(servers[0], -9)
        server = self.start("weir-server", *flags, "--shard=0")
        worker = self.start("weir-worker", *flags, "--trainer=0", "--out=" + self.path("next"))
        self.until(lambda: self.metrics("next", "train"))
        time.sleep(3)
        workers[0].send_signal(signal.SIGCONT)
        # Less than cluster.member_timeout_ms is no reason for others to go on without it.
        self.assertNotIn("stood still", self.end(workers[0], 1))
        shown = len(self.metrics("next", "train"))
        self.until(lambda: len(self.metrics("next", "train")) > shown + 10)
        worker.send_signal(signal.SIGINT)
        self.end(worker, 130)
        self.end(server, 1)

    def test_two_stages_at_one_address(self):
        server, flags = self.stages(FAST)
        address = self.servers(1)
        first = self.start("weir-worker", *flags, "--stage=1", "--link=" + address)
        self.until(lambda: listens(address))
        self.run_once(1, "weir-worker", *flags, "--stage=2", "--link=" + address,
                      texts=["in use", address])
        first.send_signal(signal.SIGINT)
        self.end(first, 130)
        self.end(server, 1)

    def test_different_configs(self):
        addresses = self.servers(1)
        server = self.start("weir-server", "--config=" + RUN, "--servers=" + addresses, "--shard=0")
        self.run_once(1, "weir-worker", "--config=" + RUN, "--servers=" + addresses,
                      "--override=run { seed: 9 }", texts=["refuses"])
        server.send_signal(signal.SIGTERM)
        self.end(server, 130)

    def test_shard_whose_first_server_is_another_shard(self):
        a, b, c = self.servers(3).split(",")
        first = self.start("weir-server", "--config=" + RUN, "--servers=%s,%s" % (a, b), "--shard=1")
        self.until(lambda: listens(b))
        second = self.start("weir-server", "--config=" + RUN, "--servers=%s,%s" % (b, c), "--shard=1")
        self.end(second, 1, "server 0 at %s refuses: this server is not shard 0" % b)
        first.send_signal(signal.SIGTERM)
        self.end(first, 130)

    # --- what dies

    def test_killed_and_restarted_server_ends_the_run(self):
        servers, workers, flags = self.cluster(FOREVER)
        self.until(lambda: all(self.metrics("t%d" % i, "train") for i in range(2)))
        servers[1].kill()
        servers[1].wait()
        restarted = self.start("weir-server", *flags, "--shard=1")
        outputs = [self.end(worker, 1) for worker in workers]
        self.assertIn("was restarted and has lost", "".join(outputs))
        self.end(servers[0], 1)
        self.end(restarted, 1)

    def test_killed_server_is_named(self):
        servers, workers, flags = self.cluster(FOREVER)
        self.until(lambda: all(self.metrics("t%d" % i, "train") for i in range(2)))
        servers[1].kill()
        servers[1].wait()
        outputs = [self.end(worker, 1) for worker in workers]
        self.assertIn("server 1 at " + flags[2].split(",")[1], "".join(outputs))
        self.end(servers[0], 1)

    def test_killed_trainer_leaves_its_work_to_the_other(self):
        servers, workers, _ = self.cluster(
            "cluster { member_timeout_ms: 3000 } run { report_interval_ms: 50 } "
            "data { epochs: 20 chunk_batches: 2 }")
        self.until(lambda: len(self.metrics("t1", "train")) > 1)  # it has had work
        self.assertIsNone(workers[1].poll())
        workers[1].kill()
        self.end(workers[0], 0)
        self.assertEqual(workers[1].wait(), -signal.SIGKILL)
        for server in servers:
            self.end(server, 0)
        self.assertEqual(self.metrics("t0", "test")[-1]["samples"], 20 * 20000)
        self.assertEqual(self.summary("t0")["train"]["samples"], 20 * 20000)
        self.assertEqual(self.summary("t0")["test"]["samples"], 5000)

    def test_the_only_trainer_is_killed_and_started_again(self):
        servers, workers, flags = self.cluster(
            "cluster { member_timeout_ms: 3000 } run { report_interval_ms: 50 } "
            "data { epochs: 20 chunk_batches: 2 }", trainers=1)
        self.until(lambda: len(self.metrics("t0", "train")) > 1)
        self.assertIsNone(workers[0].poll())
        workers[0].kill()
        workers[0].wait()
        again = self.start("weir-worker", *flags, "--trainer=0", "--out=" + self.path("again"))
        self.end(again, 0)
        for server in servers:
            self.end(server, 0)
        self.assertEqual(self.summary("again")["train"]["samples"], 20 * 20000)

    def test_what_was_not_sent_is_sent_once_by_the_run_that_goes_on(self):
        """Its trainer takes it up; started again after a kill it does not, for it may have been sent."""
        config = ",".join([RUN, "configs/policies/dct_99.textproto"])
        override = ("--override=cluster { member_timeout_ms: 3000 } run { report_interval_ms: 50 } "
                    "data { chunk_batches: 2 epochs: %d }")
        model, residuals = self.path("model"), self.path("left")
        servers = self.servers(1)
        flags = ["--config=" + config, "--servers=" + servers]
        server = self.start("weir-server", *flags, override % 10, "--shard=0")
        saver = self.start("weir-worker", *flags, override % 10, "--trainer=0", "--save=" + model,
                           "--save_residuals=" + residuals)
        other = self.start("weir-worker", *flags, override % 10, "--trainer=1", "--save_residuals=" + residuals)
        for child in (saver, other, server):
            self.end(child, 0)
        self.assertEqual(sorted(os.listdir(residuals)), ["trainer-0.weir", "trainer-1.weir"])
        os.rename(residuals, model + "/residuals")
        flags = ["--config=" + config, "--servers=" + self.servers(1), override % 20, "--warm_start=" + model]
        server = self.start("weir-server", *flags, "--shard=0")
        worker = self.start("weir-worker", *flags, "--trainer=1", "--out=" + self.path("t1"))
        self.until(lambda: len(self.metrics("t1", "train")) > 1)
        self.assertIsNone(worker.poll())
        worker.kill()
        self.assertIn("goes on with what was kept of 8 layers and tables", worker.communicate(timeout=60)[0])
        again = self.start("weir-worker", *flags, "--trainer=1")
        self.assertNotIn("goes on with", self.end(again, 0, "begins with nothing kept"))
        self.end(server, 0)

    def test_a_server_that_cannot_load_tells_who_waits_for_it(self):
        flags = ["--config=" + RUN, "--override=data { synthetic { rows: 2000 } }"]
        model = self.path("model")
        self.run_once(0, "weir-worker", *flags, "--save=" + model)
        with open(model + "/parameters.weir", "r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)[0]
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last ^ 1]))
        servers = self.servers(1)
        flags += ["--servers=" + servers, "--warm_start=" + model]
        worker = self.start("weir-worker", *flags)
        time.sleep(0.5)
        why = model + "/parameters.weir: frame at byte"
        self.end(self.start("weir-server", *flags, "--shard=0"), 1, "error: " + why, timeout=20)
        self.end(worker, 1, "the run has failed: server 0 at %s has ended: %s" % (servers, why), timeout=20)

    def test_a_signal_ends_a_server_that_loads_and_those_who_wait_hear_of_it(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(2),
                 "--override=model { bottom_widths: [65535, 1000, 8] } update { dense { sgd { learning_rate: 0.1 } } }"]
        servers = [self.start("weir-server", *flags, "--shard=%d" % shard) for shard in range(2)]
        # Who comes before a server listens tries again after a while, and it might have loaded by then;
        # so might one that goes on while a worker starts on a busy machine.
        addresses = flags[1].removeprefix("--servers=").split(",")
        for server, address in zip(servers, addresses):
            self.until(lambda address=address: listens(address))
            server.send_signal(signal.SIGSTOP)
        with open(self.path("log"), "wb") as log:
            worker = subprocess.Popen([os.path.join(BIN, "weir-worker"), *flags], stdout=log, stderr=log)
        self.children.append(worker)
        self.until(lambda: is_connected(worker, addresses[0]))
        for server in servers:
            server.send_signal(signal.SIGCONT)

        def said():
            with open(self.path("log"), encoding="utf-8") as f:
                return f.read()
        self.until(lambda: "is loading, " in said(), said=said)
        servers[1].send_signal(signal.SIGINT)
        self.end(servers[1], 130, timeout=10)
        self.end(servers[0], 1, "server 1 at %s was stopped" % addresses[1], timeout=10)
        self.assertEqual(worker.wait(timeout=20), 1)
        self.assertIn("was stopped", said())

    def test_who_saves_the_model_may_come_after_the_end_and_nobody_else(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(2), "--override=data { synthetic { rows: 2000 } }"]
        servers = [self.start("weir-server", *flags, "--shard=%d" % shard) for shard in range(2)]
        residuals = "--save_residuals=" + self.path("left")
        self.end(self.start("weir-worker", *flags, "--trainer=1", residuals), 0)
        self.end(self.start("weir-worker", *flags, "--trainer=2", residuals), 3, "has finished well")
        self.end(self.start("weir-worker", *flags, "--trainer=0", residuals, "--save=" + self.path("model")), 0)
        for server in servers:
            self.end(server, 0, timeout=30)
        self.assertTrue(os.path.exists(self.path("model/manifest.textproto")))
        self.assertEqual(sorted(os.listdir(self.path("left"))), ["trainer-0.weir", "trainer-1.weir"])

    def test_a_model_that_a_full_disk_kept_from_being_saved_another_worker_saves(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(1), "--override=data { synthetic { rows: 2000 } }"]
        server = self.start("weir-server", *flags, "--shard=0")
        model = self.path("model")
        self.end(self.limited("-f 8", "weir-worker", *flags, "--trainer=0", "--save=" + model), 1, "File too large")
        self.assertFalse(os.path.exists(model))
        self.assertIsNone(server.poll(), "it has all that was learned")
        self.end(self.start("weir-worker", *flags, "--trainer=0", "--save=" + model), 0)
        self.end(server, 0, timeout=30)
        self.assertTrue(os.path.exists(self.path("model/manifest.textproto")))

    def test_where_nothing_can_be_left_is_said_before_training(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(1), "--trainer=0"]
        there = self.write("there", b"a file")
        self.run_once(1, "weir-worker", *flags, "--save_residuals=" + there, texts=["cannot make " + there])
        os.makedirs(self.path("model"))
        self.write("model/manifest.textproto", b"any")
        for inside in (self.path("new/residuals"), self.path("model/residuals")):
            self.run_once(2, "weir-worker", *flags, "--save=" + self.path("new"), "--save_residuals=" + inside,
                          texts=["--save_residuals: %s lies in a saved model" % inside])
        self.run_once(2, "weir-worker", "--config=" + RUN, "--save_residuals=" + self.path("r"),
                      texts=["--save_residuals: without --servers"])

    def test_stopped_coordinator_tells_the_others(self):
        servers, workers, _ = self.cluster("data { epochs: 1000 }")
        self.until(lambda: len(self.metrics("t0", "train")) > 1)
        servers[0].terminate()
        for child in workers + servers[1:]:
            self.end(child, 1, "server 0 was stopped", timeout=10)
        self.end(servers[0], 130, timeout=10)

    def test_a_stopped_shard_ends_the_run_at_once_and_is_named(self):
        servers, workers, flags = self.cluster("data { epochs: 100000 } run { report_interval_ms: 100 }")
        self.until(lambda: len(self.metrics("t0", "train")) > 1)
        servers[1].terminate()
        address = flags[2].split(",")[1]
        for child in workers + servers[:1]:
            self.end(child, 1, "server 1 at %s was stopped" % address, timeout=10)
        self.end(servers[1], 130, timeout=10)

    def test_a_shard_without_memory_ends_the_run_at_once_and_is_named(self):
        servers, workers, flags = self.cluster(
            "run { report_interval_ms: 100 } "
            "data { epochs: 100000 synthetic { rows: 2000000 rows_per_table: 1000000 } } ", trainers=1)
        self.until(lambda: self.metrics("t0", "train"))
        with open("/proc/%d/status" % servers[1].pid, encoding="ascii") as f:
            kilobytes = next(int(line.split()[1]) for line in f if line.startswith("VmData"))
        limit = 1024 * kilobytes + (1 << 20)  # new rows take more
        resource.prlimit(servers[1].pid, resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
        output = self.end(servers[1], 1, "not enough memory")
        self.assertNotIn("terminate", output)
        for child in workers + servers[:1]:
            self.end(child, 1, "server 1 at %s has ended: not enough memory" % flags[2].split(",")[1], timeout=15)

    def test_an_earlier_summary_is_not_taken_for_a_failed_runs(self):
        flags = ["--config=" + RUN, "--out=" + self.path("o")]
        self.run_once(0, "weir-worker", *flags)
        self.run_once(1, "weir-worker", *flags,
                      "--override=update { dense { sgd { learning_rate: 1e18 } } }")
        self.assertFalse(os.path.exists(self.path("o/summary.json")))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    # What was learned is worth more than a worker that never joined.
    def test_a_worker_that_does_not_join_leaves_the_results_that_are_there(self):
        servers, workers, flags = self.cluster(servers=1, trainers=1)
        for child in servers + workers:
            self.end(child, 0)
        before = {name: self.read("t0/" + name) for name in ("summary.json", "metrics.jsonl", "config.textproto")}
        worker = [*flags[:1], *flags[2:], "--trainer=0", "--out=" + self.path("t0")]
        self.run_once(1, "weir-worker", *worker, "--override=" + FAST, texts=["could not join the run"])
        self.run_once(1, "weir-worker", *self.criteo(self.path("nowhere.tsv")), "--out=" + self.path("t0"),
                      texts=["nowhere.tsv"])
        for name, text in before.items():
            self.assertEqual(self.read("t0/" + name), text, name)

    def test_weir_local_keeps_earlier_results_until_training_begins(self):
        flags = ["--config=" + RUN, "--servers=1", "--trainers=1", "--out=" + self.path("l")]
        self.run_once(0, "weir-local", *flags)
        before = self.read("l/summary.json")
        missing = '--override=data { criteo_tsv {} train: "%s" }' % self.path("nowhere.tsv")
        self.run_once(1, "weir-local", *flags, missing, texts=["nowhere.tsv"])
        self.assertEqual(self.read("l/summary.json"), before)
        self.assertFalse(os.path.exists(self.path("l/.earlier-results")))
        self.run_once(1, "weir-local", *flags, "--override=update { dense { sgd { learning_rate: 1e18 } } }")
        self.assertFalse(os.path.exists(self.path("l/summary.json")), "it trained")

    def test_a_worker_that_takes_the_place_of_a_dead_one_goes_on_with_its_metrics(self):
        servers, workers, flags = self.cluster(
            "cluster { member_timeout_ms: 3000 } run { report_interval_ms: 50 evaluate_every_samples: 20000 } "
            "data { epochs: 20 chunk_batches: 2 }", servers=1, trainers=1)
        self.until(lambda: self.metrics("t0", "test") and len(self.metrics("t0", "train")) > 1)
        self.assertIsNone(workers[0].poll())
        workers[0].kill()
        workers[0].wait()
        before = self.metrics("t0", "train")
        again = self.start("weir-worker", *flags, "--trainer=0", "--out=" + self.path("t0"))
        self.end(again, 0)
        self.end(servers[0], 0)
        after = self.metrics("t0", "train")
        self.assertEqual(after[:len(before)], before)
        self.assertIsNone(after[len(before)]["samples_per_second"])
        samples = [line["samples"] for line in self.metrics("t0", "test")]
        self.assertEqual(samples, sorted(set(samples)), "each evaluation once")
        self.assertEqual(samples[-1], 20 * 20000)

    def slow_file(self):
        """16 GB of one line in 16 MB: unpacking it takes long."""
        member = gzip.compress(b"a" * (1 << 24))
        return self.write("slow.csv.gz", member * 1000)

    SLOW = """model { bottom_widths: [4] top_widths: [1] embedding_dimension: 4 }
        data { train: "%s" csv { header: %s label { column: "%s" } dense { column: "%s" standardise {} } } }"""

    # Before it joins nothing else can interrupt it: what it reads may take minutes.
    def test_a_signal_is_heard_while_files_are_read(self):
        slow = self.slow_file()
        servers = self.servers(1)
        model = self.path("model")
        for header, label, dense in (("true", "y", "x"), ("false", "1", "2")):
            config = self.write("slow.textproto", (self.SLOW % (slow, header, label, dense)).encode())
            # Without servers it counts rows, then learns from them; with servers it does the latter alone.
            for flags in ([], ["--override=data { train_rows: 10 }"], ["--servers=" + servers]):
                worker = self.start("weir-worker", "--config=" + config, "--save=" + model, *flags)
                if flags:
                    self.until(lambda: [name for name in os.listdir(self.directory.name) if ".partial" in name])
                self.until_signal_is_awaited(worker)
                time.sleep(0.5)
                self.assertIsNone(worker.poll())
                worker.send_signal(signal.SIGINT)
                self.end(worker, 130, "interrupted", timeout=10)
                self.assertEqual([name for name in os.listdir(self.directory.name) if "model" in name], [])

    def test_a_signal_is_heard_while_a_chunk_is_read(self):
        member = gzip.compress(b"a" * (1 << 24))
        rows = gzip.compress(b"y,x\n" + b"0,1\n" * 10)
        slow = self.write("slow.csv.gz", rows + member * 3000)
        config = self.write("slow.textproto", (self.SLOW % (slow, "true", "y", "x")).replace("standardise {}", "")
                            .encode())
        out, model = self.path("out"), self.path("model")
        worker = self.start("weir-worker", "--config=" + config, "--out=" + out, "--save=" + model,
                            "--override=data { train_rows: 10 }")
        self.until(lambda: os.path.exists(out + "/metrics.jsonl"))
        time.sleep(0.5)
        self.assertIsNone(worker.poll())
        worker.send_signal(signal.SIGINT)
        self.end(worker, 130, "interrupted", timeout=15)
        self.assertEqual([name for name in os.listdir(self.directory.name) if "model" in name], [])

    def test_a_second_worker_leaves_the_directory_of_the_first_alone(self):
        flags = ["--config=" + RUN, "--out=" + self.path("o")]
        first = self.start("weir-worker", *flags, "--override=" + FOREVER)
        self.until(lambda: self.metrics("o", "train"))
        shown = len(self.metrics("o", "train"))
        self.run_once(1, "weir-worker", *flags, "--override=run { seed: 77 }", texts=["another run writes to"])
        self.until(lambda: len(self.metrics("o", "train")) > shown)
        with open(self.path("o/config.textproto"), encoding="utf-8") as f:
            self.assertNotIn("seed: 77", f.read())
        first.send_signal(signal.SIGINT)
        self.end(first, 130, timeout=10)

    def test_diverging_run_names_the_layer(self):
        output = self.run_once(1, "weir-worker", "--config=" + RUN,
                               "--override=update { dense { sgd { learning_rate: 1e18 } } }",
                               texts=["error:"])
        self.assertRegex(output, r"(bottom|top)/\d")

    def test_interrupted_worker_ends_while_no_server_is_there(self):
        worker = self.start("weir-worker", "--config=" + RUN, "--servers=" + self.servers(1))
        self.until_signal_is_awaited(worker)
        time.sleep(1)
        self.assertIsNone(worker.poll())
        worker.send_signal(signal.SIGINT)
        self.end(worker, 130, timeout=5)

    def test_interrupted_worker_ends_while_a_shard_is_missing(self):
        flags = ["--config=" + RUN, "--servers=" + self.servers(2)]
        server = self.start("weir-server", *flags, "--shard=0")
        worker = self.start("weir-worker", *flags)
        self.until_said(server, "trainer 0 joined")
        time.sleep(1)  # until it has heard that
        self.assertIsNone(worker.poll())
        worker.send_signal(signal.SIGINT)
        self.end(worker, 130, timeout=5)
        self.end(server, 1, "interrupted", timeout=10)

    def test_interrupted_weir_local_leaves_nothing_running(self):
        local = self.start("weir-local", "--config=" + RUN, "--servers=2", "--trainers=2",
                           "--out=" + self.path("l"), "--override=" + FOREVER)
        self.until(lambda: self.metrics("l/trainer-1", "train"))
        local.send_signal(signal.SIGINT)
        self.end(local, 130)
        time.sleep(0.2)
        left = subprocess.run(["pgrep", "-f", self.path("l")], capture_output=True, text=True)
        self.assertEqual(left.stdout, "")


if __name__ == "__main__":
    unittest.main()
