#!/usr/bin/env python3
"""weir-bench as a program: every section runs at its smallest sizes and verifies its results."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = None  # the program, from the command line


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=500)


class Smoke(unittest.TestCase):
    def test_all_sections_verify_and_write_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.json"
            result = run("all", "--quick", f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            report = json.loads(path.read_text())
        names = [line["name"] for line in report["lines"]]
        self.assertGreater(len(names), 0)
        self.assertEqual(len(names), len(set(names)), "lines are told apart by their names")
        for line in report["lines"]:
            self.assertEqual(
                set(line), {"name", "value", "unit", "peer", "peer_value", "ratio", "goal"}
            )
            self.assertGreater(line["value"], 0, line)
            self.assertIn(line["name"] + " ", result.stdout)
        self.assertEqual(
            set(report["machine"]),
            {"processor", "simd", "cores", "memory_gib", "compiler", "commit"},
        )

    def test_mistakes_are_told_together(self):
        result = run("gemm", "nonsense", "--repeats=0")
        self.assertEqual(result.returncode, 2)
        self.assertIn('"nonsense" is no section', result.stderr)
        self.assertIn("--repeats=0 is less than 1", result.stderr)

    def test_a_file_that_cannot_be_written(self):
        result = run("gemm", "--quick", "--json=/nonexistent/lines.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write /nonexistent/lines.json", result.stderr)


if __name__ == "__main__":
    BENCH = sys.argv.pop()
    unittest.main()
