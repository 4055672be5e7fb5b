#!/usr/bin/env python3
"""tools/measure/measure_flood.py: its arithmetic, its strangers and its flags. A short run is weir-bench's own test."""

import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools/measure"
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOOLS.parent), str(TOOLS)]
import measure_flood  # noqa: E402


class MeasureFlood(unittest.TestCase):
    def test_ratios_are_of_each_turn(self):
        turns = [(100, 50, 10), (200, 180, 11), (10, 8, 12)]
        self.assertEqual(measure_flood.medians(turns), (100, 0.8, 11))

    def test_rates_are_by_the_trainers_clock(self):
        with tempfile.TemporaryDirectory() as out:
            self.assertIsNone(measure_flood.trained(out))
            (Path(out) / "trainer-0").mkdir()
            (Path(out) / "trainer-0/metrics.jsonl").write_text(
                '{"kind": "train", "samples": 10, "seconds": 2}\n{"kind": "test", "samples": 1, "seconds": 3}\n{"ki',
                encoding="utf-8")
            self.assertEqual(measure_flood.trained(out), (10, 2))

    def test_strangers_come_as_often_as_they_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            program = measure_flood.build_strangers(folder)
            for kind in measure_flood.KINDS:
                self.check_strangers(program, kind)

    def check_strangers(self, program, kind):
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
            listener.settimeout(60)
            crowd = measure_flood.Strangers(program, listener.getsockname()[1], kind, 200, 0.5)
            stranger, (host, _) = listener.accept()
            self.assertEqual(host, "127.0.0.2")
            with stranger:
                stranger.settimeout(60)
                if kind == "failing":
                    self.assertEqual(stranger.recv(1), b"\xff", "a greeting of ZMTP")
                self.assertLessEqual(crowd.attempts(), 104)

    def test_refuses_flags_that_mean_nothing(self):
        for flag in ("--repeats=0", "--window=0", "--rate=0"):
            run = subprocess.run([sys.executable, str(TOOLS / "measure_flood.py"), flag], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2, flag)
            self.assertIn("--rate: above 0", run.stderr)


if __name__ == "__main__":
    unittest.main()
