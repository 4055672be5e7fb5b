"""What piles up in a process while the other end of a run stands still: no more than cluster.window lets be under way.
Usage: back_pressure_test.py BIN_DIR"""

import json
import os
import signal
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "measure"))
import measure_memory  # noqa: E402
from held_ports import free_ports  # noqa: E402
from passing_proxy import PassingProxy  # noqa: E402
from programs import ProgramTestCase  # noqa: E402

RUN = "configs/runs/local.textproto"
WINDOW = 4
# A push has all of the MLPs, 2.1 MB, and so has an answer. A worker makes dozens while the other end stands still, if it
# may: it has the rows of its chunk. Only whole chunks are told of: one that lasts is waited for long.
MODEL = """model { bottom_widths: [1024, 512, 8] }
           data { epochs: 100000 batch_size: 256 chunk_batches: 100 synthetic { rows: 1000000 rows_per_table: 50 } }
           compression { default { none {} } row_cache { rows: 4000 max_age: 1000000 } }
           cluster { window: %d concurrency_warmup_steps: 0 } run { report_interval_ms: 100 } """
PUSH_BYTES = 4 * (6 * 1024 + 1025 * 512 + 513 * 8)
STILL_S = 3
# As it was made, as it is sent, and what a heap keeps of that.
MOST_BYTES = 3 * WINDOW * PUSH_BYTES


class StandingProxy(PassingProxy):
    """Passes nothing on for the time in which it stands still."""

    def __init__(self, target_port):
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        super().__init__(target_port)

    def pass_on(self, sink, data):
        self.may_go_on.wait()
        super().pass_on(sink, data)


class BackPressureTest(ProgramTestCase):
    def begin(self, window=WINDOW, behind=None):
        """A server and two workers, of which the second may be behind a proxy."""
        port = free_ports(1)[0]
        address = "tcp://127.0.0.1:%d" % port
        self.proxy = StandingProxy(port) if behind else None
        if self.proxy:
            self.addCleanup(self.proxy.listener.close)
        flags = ["--config=" + RUN, "--override=" + MODEL % window]
        self.server = self.start("weir-server", *flags, "--servers=" + address, "--shard=0")
        addresses = [address, self.proxy.address if self.proxy else address]
        self.workers = [self.start("weir-worker", *flags, "--servers=" + addresses[i], "--trainer=%d" % i,
                                   "--out=" + self.path("t%d" % i)) for i in range(2)]
        self.until_trained(50)

    def steps(self):
        """Of all trainers; 0 before there are any."""
        try:
            with open(self.path("t0/metrics.jsonl"), encoding="utf-8") as f:
                lines = [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return 0
        return max((line["steps"] for line in lines if line["kind"] == "train"), default=0)

    def until_trained(self, more):
        end = self.steps() + more
        self.until(lambda: self.steps() >= end)

    def growth(self, processes):
        """Of each one's memory while it is looked at."""
        pids = [process.pid for process in processes]
        before = [measure_memory.resident_bytes(pid) for pid in pids]
        most = list(before)
        end = time.monotonic() + STILL_S
        while time.monotonic() < end:
            most = [max(one, measure_memory.resident_bytes(pid)) for one, pid in zip(most, pids)]
            time.sleep(0.05)
        self.assertGreater(min(before), 1e6, "a process has ended")
        return [one - at_first for one, at_first in zip(most, before)]

    def check(self, stops, goes_on, *processes):
        stops()
        grown = self.growth(processes)
        goes_on()
        for one in grown:
            self.assertLess(one, MOST_BYTES, grown)
        self.until_trained(50)

    def stand_still(self, process, *others):
        self.check(lambda: process.send_signal(signal.SIGSTOP), lambda: process.send_signal(signal.SIGCONT), *others)

    def test_workers_of_a_server_that_stands_still(self):
        self.begin()
        self.stand_still(self.server, *self.workers)

    def test_a_server_and_others_of_a_worker_that_stands_still(self):
        self.begin()
        self.stand_still(self.workers[1], self.server, self.workers[0])

    def test_both_ends_of_a_link_that_stands_still(self):
        self.begin(behind=1)
        self.check(self.proxy.may_go_on.clear, self.proxy.may_go_on.set, self.server, *self.workers)

    def stand_still_from_the_start(self, window):
        """The server, soon after its workers have begun; what of the rows they have is far from its end."""
        self.begin(window=window)
        self.server.send_signal(signal.SIGSTOP)

    def most_resident_bytes(self):
        return max(measure_memory.resident_bytes(worker.pid) for worker in self.workers)

    def test_more_would_be_seen(self):
        """Of all that a worker has, since what a busy machine has let pile up before is no growth any more."""
        self.stand_still_from_the_start(WINDOW)
        time.sleep(STILL_S)
        bounded = self.most_resident_bytes()
        for process in [self.server, *self.workers]:
            process.kill()
        self.stand_still_from_the_start(64)
        self.until(lambda: self.most_resident_bytes() > bounded + MOST_BYTES)


if __name__ == "__main__":
    unittest.main()
