#!/usr/bin/env python3
"""tools/measure/launching.py, by the tools that start programs: none of these outlives its tool."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/measure"), str(Path(__file__).parent)]
import launching  # noqa: E402
from fake_programs import DEADLINE_S, LONG, STUBBORN, is_running, numbers, until, write_programs  # noqa: E402

# What each starts at once.
TOOLS = {("reproduce_dct", "--only=loss", "--jobs=2"): 2, ("reproduce_dct", "--only=bytes"): 1,
         ("reproduce_dct_dp", "--jobs=3"): 3, ("compare_policies", "--policies=dct_99"): 1,
         ("measure_memory.py",): 1, ("measure_criteo.py",): 1}


class Launching(unittest.TestCase):
    def setUp(self):
        for number in launching.SIGNALS:  # under nohup, or behind &, the tools would ignore some
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_DFL))
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "bin"
        self.addCleanup(self.kill_what_is_left)
        write_programs(self.folder, LONG)

    def kill_what_is_left(self):
        for number in filter(is_running, numbers(self.folder, "started")):
            os.kill(number, signal.SIGKILL)

    def start(self, tool, count, **options):
        for left in [*self.folder.glob("started-*"), *self.folder.glob("ended-*")]:
            left.unlink()
        process = subprocess.Popen(
            [ROOT / "tools/measure" / tool[0], *tool[1:], f"--bin={self.folder}", f"--out={self.folder}/out"], cwd=ROOT,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: len(numbers(self.folder, "started")) == count or process.poll() is not None)
        return process

    def assert_interrupted(self, process, count):
        self.assertEqual(process.wait(DEADLINE_S), 130)
        self.assertRegex(process.stderr.read(), r"^interrupted.*\n$")
        started = numbers(self.folder, "started")
        self.assertEqual(len(started), count, "others began afterwards")
        self.assertFalse([number for number in started if is_running(number)])
        return started

    def test_programs_are_told_to_end_and_waited_for(self):
        for i, (tool, count) in enumerate(TOOLS.items()):
            with self.subTest(tool):
                process = self.start(tool, count)
                process.send_signal(launching.SIGNALS[i % 3])
                started = self.assert_interrupted(process, count)
                self.assertEqual(numbers(self.folder, "ended"), started)

    def test_every_signal_interrupts_a_tool_with_several_at_once(self):
        for number in launching.SIGNALS:
            process = self.start(("reproduce_dct_dp", "--jobs=2"), 2)
            process.send_signal(number)
            self.assert_interrupted(process, 2)

    def test_a_second_interruption_kills_them(self):
        write_programs(self.folder, STUBBORN)
        process = self.start(("reproduce_dct_dp", "--jobs=2"), 2)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        time.sleep(launching.SAME_INTERRUPTION_S + 0.3)
        self.assertIsNone(process.poll(), "two kinds together are one")
        while process.poll() is None:  # a slow machine may have taken the first only now
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        self.assertEqual(process.returncode, 130)
        until(lambda: not any(map(is_running, numbers(self.folder, "started"))))

    def test_programs_end_when_their_tool_is_killed(self):
        for tool in (("measure_memory.py",), ("reproduce_dct_dp", "--jobs=1")):
            process = self.start(tool, 1)
            process.kill()
            until(lambda: numbers(self.folder, "ended") == numbers(self.folder, "started"))

    def test_a_hangup_that_is_ignored_is_none(self):
        hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = self.start(("measure_criteo.py",), 1, restore_signals=False)
        finally:
            signal.signal(signal.SIGHUP, hangup)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assert_interrupted(process, 1)

    def test_a_program_that_fails_is_told_with_what_it_said(self):
        write_programs(self.folder, "echo no luck; exit 3")
        process = self.start(("measure_criteo.py",), 1)
        self.assertEqual(process.wait(DEADLINE_S), 1)
        self.assertRegex(process.stderr.read(), r"^error: \S+/weir-local .*\nno luck\n\n?$")


if __name__ == "__main__":
    unittest.main()
