"""tools/fuzz: which inputs it keeps, what it calls a finding, and what it counts."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("fuzz", os.path.join(ROOT, "tools", "fuzz"))
SPEC = importlib.util.spec_from_loader("fuzz", LOADER)
fuzz = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz)

CONTROL = ["3", "0", "c/a", "c/b", "c/d e",
           "STARTED 0 10", "FT 0 1 2 3", "COV 0 7", "STARTED 1 10", "FT 1 2 3", "STARTED 2 5000", "FT 2 1 2 3 4"]
# A target that knows seeds, and ends as its --max_total_time says.
PROGRAM = """#!/bin/sh
case "$1" in --seeds=*) echo seed > "${1#--seeds=}/seed-1"; exit 0;; esac
echo "stat::number_of_executed_units: 700" >&2
case "$*" in *max_total_time=9*) echo "a.cc:1: runtime error: index 3 out of bounds" >&2; exit 77;; esac
"""


class FuzzTest(unittest.TestCase):
    def target(self, folder, name="x"):
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
        program = os.path.join(folder, "bin", name + "_fuzz")
        with open(program, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        os.chmod(program, 0o755)
        return fuzz.Target(name, folder)

    def test_a_control_file_says_which_features_each_input_reaches(self):
        self.assertEqual(fuzz.reached_in(CONTROL), {"c/a": (10, frozenset("123")), "c/b": (10, frozenset("23")),
                                                    "c/d e": (5000, frozenset("1234"))})

    def test_inputs_that_add_nothing_or_are_large_are_left_out(self):
        self.assertEqual(fuzz.choose(fuzz.reached_in(CONTROL)), ["c/a"])
        small = {"a": (1, frozenset("12")), "b": (100, frozenset("123")), "c": (2, frozenset("4"))}
        self.assertEqual(fuzz.choose(small), ["a", "c", "b"])
        many = {str(i): (1000, frozenset([i])) for i in range(100)}
        self.assertEqual(len(fuzz.choose(many)), fuzz.MOST_BYTES // 1000)

    def test_executions_are_counted_and_an_end_before_time_is_a_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            target = self.target(folder)
            target.prepare()
            self.assertEqual(os.listdir(target.corpus), ["seed-1"])
            target.take_turn(1, 1)
            self.assertEqual((target.executions, target.findings), (700, []))
            target.take_turn(9, 2)
            self.assertEqual((target.executions, target.findings),
                             (1400, ["runtime error: index 3 out of bounds"]))

    def test_a_table_has_the_sums(self):
        self.assertEqual(fuzz.table({"x": 1400, "y": 20}, {"x": 1})["rows"],
                         [["x", "1,400", "1"], ["y", "20", "0"], ["all", "1,420", "1"]])

    def test_a_record_counts_on_and_only_without_findings(self):
        with tempfile.TemporaryDirectory() as folder:
            record, calls = os.path.join(folder, "fuzzing.json"), []

            def call(seconds, name):
                flags = argparse.Namespace(executions=700, seconds=seconds, jobs=2, record=record)
                target = self.target(folder, name)
                target.prepare()
                fuzz.fuzz(flags, [target])
                with open(record, encoding="utf-8") as f:
                    made = json.load(f)
                calls.append(len(made["command"].splitlines()))
                return [row for row in made["tables"]["targets"]["rows"] if row[1] != "0"]

            self.assertEqual(call(1, "csv"), [["csv", "700", "0"], ["all", "700", "0"]])
            both = [["csv", "700", "0"], ["frame", "700", "0"], ["all", "1,400", "0"]]
            self.assertEqual(call(1, "frame"), both)
            self.assertEqual(call(9, "csv"), both)
            self.assertEqual(calls, [1, 2, 2])

    def test_every_target_of_the_tree_is_known_and_built_by_the_preset(self):
        files = sorted(name.removesuffix("_fuzz.cc") for name in os.listdir(os.path.join(ROOT, "tests", "fuzz"))
                       if name.endswith("_fuzz.cc"))
        self.assertEqual(sorted(fuzz.all_targets()), files)


if __name__ == "__main__":
    unittest.main()
