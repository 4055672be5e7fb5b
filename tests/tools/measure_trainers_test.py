#!/usr/bin/env python3
"""tools/measure/measure_trainers, with Weir's own programs and very few rows."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from scripting import result_records  # noqa: E402

BINARIES = sys.argv.pop(1) if len(sys.argv) > 1 else str(ROOT / "build/release/bin")


class MeasureTrainers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_tool(self, *flags):
        return subprocess.run([ROOT / "tools/measure/measure_trainers", f"--out={self.folder}/out", f"--bin={BINARIES}",
                               *flags], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)

    def test_writes_what_trainers_and_servers_cost(self):
        done = self.run_tool("--trainers=1,2", "--servers=1,2", "--many=2", "--waiting=3", "--wait_seconds=1", "--rows=12800",
                             "--repeats=1", f"--record={self.folder}/costs.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        tables = result_records.load(str(self.folder / "costs.json"))["tables"]
        self.assertEqual([line[:3] for line in tables["trainers"]["rows"]],
                         [["1", "1", "none"], ["2", "1", "none"], ["1", "1", "dct_99"], ["2", "1", "dct_99"]])
        self.assertEqual([line[:2] for line in tables["servers"]["rows"]], [["2", "1"], ["2", "2"]])
        for line in tables["trainers"]["rows"]:
            self.assertTrue(all(float(cell) > 0 for cell in line[3:]), line)
        self.assertEqual(tables["projected"]["rows"][3][0], "1000")
        self.assertGreater(float(tables["others"]["rows"][1][1]), 0)

    def test_wrong_flags_are_told(self):
        for flag, words in (("--trainers=0", "--trainers"), ("--repeats=0", "at least 1")):
            done = self.run_tool(flag)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
