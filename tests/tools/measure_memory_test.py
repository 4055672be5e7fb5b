#!/usr/bin/env python3
"""tools/measure/measure_memory.py: its arithmetic, and a short run, which would show what leaks tens of bytes a step.

Usage: measure_memory_test.py BIN_DIR [unittest arguments]"""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools/measure"
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOOLS.parent), str(TOOLS)]
import measure_memory  # noqa: E402
from scripting import result_records  # noqa: E402

BIN = "build/release/bin"


def flat(found, bound):
    with contextlib.redirect_stdout(io.StringIO()):
        return measure_memory.report(found, bound)


class MeasureMemory(unittest.TestCase):
    def test_looks_only_at_what_lies_between_warm_up_and_end(self):
        samples = [(0, {"a": 10}), (100, {"a": 99, "b": 7}), (150, {"a": 101, "b": 7}),
                   (199, {"a": 100, "b": 7}), (200, {"a": 5})]
        self.assertEqual(measure_memory.spreads(samples, 100, 200),
                         {"a": (3, 99, 101, 100), "b": (3, 7, 7, 7)})

    def test_moments_are_the_first_values_from_there_on_or_the_last_before_the_end(self):
        samples = [(0, {"a": 10}), (10, {"a": 11}), (40, {"a": 12}), (60, {"a": 13, "b": 7}), (90, {"a": 14}),
                   (100, {"a": 0})]
        self.assertEqual(measure_memory.moments(samples, 100), {"a": [11, 13, 14], "b": [7, 7, 7]})

    def test_flat_is_a_largest_value_within_the_bound_of_the_smallest(self):
        self.assertTrue(flat({"a": (2, 1000, 1020, 1000)}, 0.02))
        self.assertFalse(flat({"a": (2, 1000, 1000, 1000), "b": (2, 1000, 1021, 1000)}, 0.02))

    def test_a_process_that_was_gone_is_not_flat(self):
        self.assertFalse(flat({"a": (2, 0, 1000, 1000)}, 0.02))

    def test_what_weir_bench_reads_is_megabytes(self):
        line = json.loads(measure_memory.as_json({"a": (2, 1000000, 1500000, 1200000)}))
        self.assertEqual(line["values"], {"a/smallest": 1.0, "a/largest": 1.5})

    def test_a_short_run_is_flat(self):
        with tempfile.TemporaryDirectory() as out:
            path = out + "/record.json"
            run = subprocess.run(
                [TOOLS / "measure_memory.py", "--steps=30000", "--warm_up=0.5", "--out=" + out + "/run",
                 "--bin=" + BIN, "--record=" + path], capture_output=True, text=True, timeout=250, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            record = result_records.load(path)
        self.assertEqual(record["command"], "tools/measure/measure_memory.py --steps=30000 --warm_up=0.5")
        table = record["tables"]["processes"]
        self.assertEqual([row[0] for row in table["rows"]], ["weir-server-0", "weir-worker-0", "weir-worker-1"])
        self.assertIn(result_records.markdown(table), run.stdout)
        self.assertEqual([len(row) for row in record["tables"]["moments"]["rows"]], [4, 4, 4])

    # Of small messages, of which there are many for the memory of rows.
    def test_a_short_run_with_a_log_is_flat(self):
        with tempfile.TemporaryDirectory() as out:
            run = subprocess.run(
                [TOOLS / "measure_memory.py", "--steps=100000", "--warm_up=0.5", "--batch=1", "--durability=PROCESS",
                 "--out=" + out + "/run", "--bin=" + BIN], capture_output=True, text=True, timeout=250, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1) if len(sys.argv) > 1 else BIN
    unittest.main()
