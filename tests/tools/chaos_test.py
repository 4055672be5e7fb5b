#!/usr/bin/env python3
"""tools/chaos: its plans are a seed's and no more than a run bears, a run that goes on ends well, one that does not is
told, and so is a push that is lost, or applied twice.

Usage: chaos_test.py BIN_DIR [unittest arguments]"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/measure")]
import disks  # noqa: E402
import disturbed_run  # noqa: E402
import harm  # noqa: E402
import ledger  # noqa: E402
import network_path  # noqa: E402
import storm  # noqa: E402

BIN = "build/release/bin"


def flags(**changes):
    return argparse.Namespace(**{"durabilities": ("PROCESS", "MACHINE"), "kills": 8, "spare": [], **changes})


class Plans(unittest.TestCase):
    def test_a_seed_always_draws_the_same(self):
        self.assertEqual(harm.draw(7, flags(), 5), harm.draw(7, flags(), 5))
        self.assertNotEqual(harm.draw(7, flags(), 5), harm.draw(8, flags(), 5))

    def test_every_kind_of_harm_is_drawn_and_no_spared_one(self):
        def kinds(*spare):
            plans = [harm.draw(seed, flags(spare=spare), 5) for seed in range(50)]
            return {one.kind if one.kind != "kill" else plan.name(one.victim).split("-")[0] + "0" * (one.victim == 0)
                    for plan in plans for one in plan.harm} | {"full" for plan in plans if plan.full}
        self.assertEqual(kinds(), {"server0", "server", "trainer", "stop", "cut", "silence", "delay", "narrow", "slow",
                                   "full"})
        self.assertEqual(kinds("server0", "stop", "network", "slow", "full"), {"server", "trainer"})

    def test_stages_can_be_left_out(self):
        def stages(spare):
            return {harm.draw(seed, flags(spare=spare), 5).stages for seed in range(50)}
        self.assertEqual((stages([]), stages(["stages"])), ({1, 2}, {1}))

    def test_harm_is_in_the_order_in_which_it_is_done(self):
        for seed in range(20):
            for act in harm.draw(seed, flags(), 5).acts():
                times = [one.at_s for one in act]
                self.assertEqual(times, sorted(times))

    def test_what_is_not_done_when_a_disk_is_full_is_done_when_the_run_goes_on(self):
        plan = next(plan for plan in (harm.draw(seed, flags(), 5) for seed in range(50)) if plan.full)
        before, behind = plan.acts()
        self.assertEqual([one.victim for one in plan.harm if one not in before], [one.victim for one in behind])
        self.assertTrue(all(one.end_s() < plan.full[1] for one in before))


class Bearing(unittest.TestCase):
    """Of plans, at a member timeout of five seconds."""

    def is_borne(self, trainers, *done, stages=1):
        return harm.is_borne(harm.Plan(1, 2, trainers, stages, "PROCESS", list(done)))

    def test_what_is_drawn(self):
        for seed in range(100):
            self.assertTrue(harm.is_borne(harm.draw(seed, flags(kills=20), 3)), seed)

    def test_some_trainer_is_there(self):
        away = [harm.Harm(1, 2 + i, restart_after_s=4) for i in range(2)]
        self.assertFalse(self.is_borne(1, away[0]))
        self.assertTrue(self.is_borne(2, away[0]))
        self.assertFalse(self.is_borne(2, *away))
        self.assertTrue(self.is_borne(1, harm.Harm(1, 2), harm.Harm(9, 2)))
        self.assertFalse(self.is_borne(1, harm.Harm(1, 2), harm.Harm(3, 2)))
        self.assertFalse(self.is_borne(1, harm.Harm(1, 2), harm.Harm(3, 3), stages=2))

    def test_nobody_is_silent_for_too_long(self):
        self.assertTrue(self.is_borne(2, harm.Harm(1, 2, "stop", for_s=2), harm.Harm(6, 2, "stop", for_s=2)))
        self.assertFalse(self.is_borne(2, harm.Harm(1, 2, "stop", for_s=2), harm.Harm(4, 2, "stop", for_s=2)))
        self.assertFalse(self.is_borne(2, harm.Harm(1, 2, "stop", for_s=2), harm.Harm(3, 0, "silence", for_s=2)))
        self.assertTrue(self.is_borne(2, harm.Harm(1, 2, "stop", for_s=2), harm.Harm(3, 1, "silence", for_s=2)))

    def test_servers_are_back_in_time(self):
        self.assertTrue(self.is_borne(2, harm.Harm(1, 1, restart_after_s=6)))
        self.assertFalse(self.is_borne(2, *(harm.Harm(1 + 7 * i, 1, restart_after_s=6) for i in range(3))))


class Rounds(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def chaos(self, *words):
        return subprocess.run([ROOT / "tools/chaos", "--bin=" + BIN, f"--out={self.folder}/out", "--rounds=1",
                               "--rows=100000", *words], capture_output=True, text=True, timeout=280, check=False)

    def test_a_run_goes_on(self):
        """One with proxies and slow disks, one of which is full where something can be mounted."""
        done = self.chaos("--seed=68", "--kills=3", "--spare=end,stages")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for told in ("ok, logloss", "slow of disk", "| back, nothing else was wrong | ", "| lost | 0 | 0 |"):
            self.assertIn(told, done.stdout)
        if "no full disks" not in done.stdout:
            self.assertIn(" full at ", done.stdout)


class Ends(unittest.TestCase):
    """Of processes that stand for a server and a trainer; the second is killed and started again."""

    def fault(self, *scripts, patience_s=1):
        plan = harm.Plan(seed=1, servers=1, trainers=1, stages=1, durability="PROCESS", harm=[harm.Harm(0.1, 1)])
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
            members = [storm.Member(["sh", "-c", script], f"{folder}/{i}", running) for i, script in enumerate(scripts)]
            running.callback(disturbed_run.end_all, members)
            self.result = storm.Result()
            return disturbed_run.await_end(storm.Storm(plan, plan.harm, members, self.result), members, patience_s)

    def test_all_end_well(self):
        self.assertEqual(self.fault("sleep 2", "sleep 2", patience_s=60), "")
        self.assertEqual(self.result.kills, ["trainers"])

    def test_one_that_does_not_end_is_told(self):
        self.assertEqual(self.fault("exit 0", "exec sleep 100"),
                         "not over 1 s after the last harm: exit codes [0, None]")

    def test_one_that_fails_is_told(self):
        self.assertEqual(self.fault("sleep 0.5; exit 1", "sleep 0.3", patience_s=60), "exit codes: [1, 0]")

    def test_a_trainer_that_was_killed_may_come_when_the_run_is_over(self):
        self.assertEqual(self.fault("sleep 2", "sleep 2; exit 3", patience_s=60), "")
        self.assertEqual(self.fault("sleep 0.5; exit 3", "sleep 0.3", patience_s=60), "exit codes: [3, 0]")

    def is_over(self, *scripts):
        """Of two servers, of which the disk of the second is full, and a trainer."""
        plan = harm.Plan(seed=1, servers=2, trainers=1, stages=1, durability="PROCESS", harm=[])
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
            members = [storm.Member(["sh", "-c", script], f"{folder}/{i}", running) for i, script in enumerate(scripts)]
            for member in members:
                member.process.wait()
            return disturbed_run.was_over(storm.Storm(plan, [], members, storm.Result()), members, 1)

    def test_a_disk_that_is_full_behind_the_end_is_said_by_its_server_alone(self):
        full = "echo No space left on device; exit 1"
        self.assertTrue(self.is_over("exit 0", "exit 0", "exit 0"))
        self.assertTrue(self.is_over("exit 0", full, "exit 0"))
        for others in (("exit 0", "exit 1", "exit 0"), (full, "exit 0", "exit 0"), ("exit 0", full, full),
                       ("exit 1", full, "exit 0")):
            self.assertFalse(self.is_over(*others), others)


def varint(value):
    return bytes([value & 127 | (128 if value > 127 else 0)]) + (varint(value >> 7) if value > 127 else b"")


def coded(kind, numbers):
    """A header with a message of numbers, as protobuf has it; and what is behind it."""
    body = b"".join(varint(field << 3) + varint(value) for field, value in numbers.items())
    return varint(kind << 3 | 2) + varint(len(body)) + body + varint(2047 << 3 | 1) + bytes(8)


class Ledger(unittest.TestCase):
    """Of a server 1 to which incarnation 7 of trainer 2 sends pushes."""

    def fault(self, sent, acknowledged, applied, is_witnessed=True):
        book = ledger.Ledger()
        hear = book.listener(1)
        hear(coded(ledger.HELLO, {2: 2, 4: 7}), True)
        for sequence in sent:
            hear(coded(ledger.PUSH, {1: 1, 2: sequence}), True)
        hear(coded(ledger.ANSWER, {2: 300, 3: acknowledged, 5: acknowledged}), False)
        book.read_log(1, "".join("%d step trainer 2 stage 0 incarnation 7 sequence %d%s, 99 bytes\n" % (
            10 + sequence, sequence, " (no step)" if sequence % 2 else "") for sequence in applied))
        self.sum = book.sum()
        return book.fault(is_witnessed)

    def test_all_is_well(self):
        self.assertEqual(self.fault([1, 2, 2, 3, 300], 299, range(1, 301)), "")
        self.assertEqual(self.sum, ledger.Sum(300, 299, 300, 0, 0))

    def test_of_what_is_acknowledged_all_is_there(self):
        self.assertEqual(self.fault([3], 3, [1, 2]), "trainer 2 stage 0 incarnation 7 at server 1: 3 pushes sent, "
                                                     "2 applied, 3 acknowledged")
        self.assertEqual(self.sum.lost, 1)
        self.assertIn("of 3 pushes 0 were applied twice and 1 never", self.fault([3], 3, [1, 3]))

    def test_once(self):
        self.assertIn("of 2 pushes 1 were applied twice and 0 never", self.fault([2], 2, [1, 1, 2], is_witnessed=False))

    def test_what_was_sent(self):
        self.assertIn("2 pushes sent, 3 applied", self.fault([2], 2, [1, 2, 3]))
        self.assertEqual(self.fault([], 0, [1, 2, 3], is_witnessed=False), "")

    def test_pushes_of_a_round_are_one_record(self):
        book = ledger.Ledger()
        book.read_log(0, "5 step trainer 0 stage 0 incarnation 1 sequence 1, trainer 1 stage 0 incarnation 2 sequence 1, "
                         "9 bytes\n6 worker trainer 0 stage 0 incarnation 1 sequence 4, 9 bytes\n")
        self.assertEqual((book.sum().applied, book.fault(False)), (2, ""))

    def test_logs_without_pushes_show_nothing(self):
        self.assertEqual(self.fault([1], 0, []), "no push in any log")


class Network(unittest.TestCase):
    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.path = network_path.Path(0, self.server.getsockname(), lambda server: lambda header, is_up: None)
        self.addCleanup(self.path.close)

    def connect(self):
        host, _, port = self.path.address.removeprefix("tcp://").rpartition(":")
        near = socket.create_connection((host, int(port)), timeout=60)
        self.addCleanup(near.close)
        far = self.server.accept()[0]
        self.addCleanup(far.close)
        near.sendall(b"x")
        self.assertEqual(far.recv(10), b"x")
        return near, far

    def is_ended(self, end):
        end.settimeout(60)
        try:
            return end.recv(10) == b""
        except ConnectionResetError:
            return True

    def test_all_that_is_sent_comes_whatever_it_is(self):
        near, far = self.connect()
        for kind, amount in (("delay", 0.01), ("narrow", 1e7), ("silence", 0)):
            self.path.do(harm.Harm(0, 0, kind, for_s=0.1, amount=amount))
            sender = threading.Thread(target=near.sendall, args=(kind.encode() * 50000,))
            sender.start()
            got = b""
            while len(got) < 50000 * len(kind):
                got += far.recv(1 << 20)
            sender.join()
            self.assertEqual(got, kind.encode() * 50000)

    def test_both_ends_hear_of_a_cut(self):
        for seed in range(8):
            near, far = self.connect()
            self.assertTrue(self.path.do(harm.Harm(0, 0, "cut", amount=seed)))
            self.assertTrue(self.is_ended(near) and self.is_ended(far), seed)

    def test_there_may_be_none_to_cut(self):
        self.assertFalse(self.path.do(harm.Harm(0, 0, "cut")))
        self.connect()
        with self.path.lock:
            self.path.connections[0].is_cut = True  # by somebody else, just now
        self.assertFalse(self.path.do(harm.Harm(0, 0, "cut")))

    def test_an_end_is_passed_on(self):
        near, far = self.connect()
        near.close()
        self.assertTrue(self.is_ended(far))


@unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
class Disks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.disk = disks.Disk(scratch.name + "/disk", disks.build_shim(scratch.name), is_small=False)
        os.mkdir(self.disk.data)

    def run_script(self, script):
        """In the data folder, as a server; with the library's own functions, as C++ has them."""
        said = subprocess.run([sys.executable, "-c", "import ctypes, os, time\nlibc = ctypes.CDLL(None)\n" + script],
                              env=self.disk.environment(), cwd=self.disk.data, capture_output=True, text=True,
                              check=True)
        return said.stdout

    def test_what_is_removed_of_a_log_is_kept(self):
        self.run_script("""for text in 'first', 'second':
    for name in 'log-1.weir', 'snapshot-1.weir':
        with open(name, 'w') as f: f.write(text)
        libc.remove(os.path.abspath(name).encode())
with open('log-2.weir', 'w') as f: f.write('left')""")
        self.assertEqual(os.listdir(self.disk.data), ["log-2.weir"])
        kept, again = (Path(folder) for folder in self.disk.logs())
        self.assertEqual({path.name: path.read_text() for path in kept.iterdir()},
                         {"log-1.weir": "first", "log-2.weir": "left"})
        self.assertEqual({path.name: path.read_text() for path in again.iterdir()}, {"log-1.weir": "second"})

    def test_is_slow_until_it_is_told_otherwise(self):
        script = """begin = time.monotonic()
with open('log-1.weir', 'wb') as f: os.writev(f.fileno(), [b'x']); os.fdatasync(f.fileno())
with open('other', 'wb') as f: os.writev(f.fileno(), [b'x'] * 1)
print(time.monotonic() - begin)"""
        self.disk.slow(0.5)
        self.assertGreaterEqual(float(self.run_script(script)), 1)
        self.disk.slow(0)
        self.assertFalse(os.path.exists(self.disk.folder + "/slow"))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        BIN = sys.argv.pop(1)
    unittest.main()
