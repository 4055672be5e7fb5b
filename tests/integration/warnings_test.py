"""Runs that do not learn say so: in a worker's log, in summary.json and in what weir-local prints.
Usage: warnings_test.py BIN_DIR"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

BIN = sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/bin"
CONFIG = """
model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }
data {
  train: "train.csv" test: "test.csv" root: "%s"
  batch_size: 16 epochs: 2 chunk_batches: 16 max_malformed_share: 0.01
  csv {
    label { column: "y" }
    dense { column: "x" } dense { column: "time" %s }
    categorical { column: "item" rows: 10000 }
  }
}
update { dense { adagrad { learning_rate: 0.05 } } rows { adagrad { learning_rate: 0.1 } } }
"""
TIME = 1_400_000_000
DEADLINE_S = 60


def make_rows(count, seed, item="%d"):
    """y, x, time, item: x and the item tell y, well but not surely."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        x, number = draw.gauss(0, 1), draw.randrange(40)
        y = int(draw.gauss(0, 1) < x + (1 if number % 2 else -1))
        rows.append("%d,%.3f,%d,%s" % (y, x, TIME + draw.randrange(10 ** 8), item % number))
    return rows


class WarningsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.write("train.csv", make_rows(2000, 1))
        self.write("test.csv", make_rows(500, 2))

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, rows):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("\n".join(["y,x,time,item", *rows]) + "\n")

    def run_program(self, program, *flags, transform="standardise {}"):
        with open(self.path("run.textproto"), "w", encoding="utf-8") as f:
            f.write(CONFIG % (self.directory, transform))
        done = subprocess.run(
            [os.path.join(BIN, program), "--config=" + self.path("run.textproto"),
             "--out=" + self.path("out"), *flags],
            capture_output=True, text=True, errors="replace", timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("out/summary.json"), encoding="utf-8") as f:
            return done.stdout + done.stderr, json.load(f)

    def worker(self, **options):
        return self.run_program("weir-worker", **options)

    def assert_warned(self, output, summary, text):
        """Once in the log and once in the summary."""
        found = [warning for warning in summary["warnings"] if text in warning]
        self.assertEqual(len(found), 1, summary["warnings"])
        self.assertEqual(output.count(found[0]), 1, output)
        return found[0]

    def test_a_run_that_learns_has_none(self):
        output, summary = self.run_program("weir-worker", "--override=data { shuffle: true }")
        self.assertEqual(summary["warnings"], [])
        self.assertGreater(summary["test"]["auc"], 0.7, output)
        with open(self.path("out/config.textproto"), encoding="utf-8") as f:
            config = f.read()
        self.assertIn("train_rows: 2000", config)
        self.assertIn("warmup_steps: 25", config)  # a tenth of 4000 samples, in batches of 16

    def test_a_column_of_raw_timestamps_is_named(self):
        output, summary = self.worker(transform="")
        self.assert_warned(output, summary, "column time is large")
        self.assert_warned(output, summary, "the test logloss, ")

    def test_what_was_noticed_before_training_is_told_like_the_rest(self):
        rows = make_rows(2000, 1)
        self.write("train.csv", [",".join([*row.split(",")[:2], "7", row.split(",")[3]]) for row in rows[:256]] + rows[256:])
        output, summary = self.run_program("weir-local", "--servers=1", "--trainers=2",
                                           "--override=data { test: './train.csv' }")
        warning = self.assert_warned(output, summary, "column time does not change in the first chunk")
        self.assertIn("\n  warning " + warning + "\n", output)
        self.assert_warned(output, summary, "train.csv is in data.train and in data.test")

    def test_names_that_are_no_text_and_files_without_number_end_no_run(self):
        with open(os.path.join(os.fsencode(self.directory), b"caf\xe9.csv"), "wb") as f:
            f.write(b"y,x,time,item\n" + "\n".join(make_rows(300, 3)).encode() + b"\n")
        output, summary = self.run_program("weir-local", "--servers=1", "--trainers=1",
                                           "--override=data { train: 'caf*.csv' train: 'caf*.csv' }")
        self.assert_warned(output, summary, "is twice in data.train: their rows count twice")

    def test_a_schedule_that_ended_with_the_saved_model_is_told(self):
        short = "--override=update { dense { schedule { polynomial { steps: 100 } } } }"
        self.run_program("weir-worker", "--save=" + self.path("model"), short)
        output, summary = self.run_program("weir-worker", "--warm_start=" + self.path("model"), short)
        self.assert_warned(output, summary, "update.dense: the learning rate is 0 from step 251 on")

    def test_a_test_file_of_one_label_is_told(self):
        self.write("test.csv", ["0" + row[1:] for row in make_rows(200, 2)])
        output, summary = self.worker()
        self.assert_warned(output, summary, "all 200 test rows have the negative label")

    def test_values_that_are_written_otherwise_are_found(self):
        self.write("test.csv", make_rows(300, 2, item="%d.0"))
        output, summary = self.worker()
        warning = self.assert_warned(output, summary, "column item in the test rows")
        self.assertIn("100 %", warning)
        self.assertIn("test.csv:2 ", warning)

    def test_malformed_lines_are_counted_and_the_first_is_shown(self):
        rows = make_rows(1000, 1)
        self.write("train.csv", rows[:500] + ["?,1,1,1"] * 3 + rows[500:])
        output, summary = self.worker()
        warning = [each for each in summary["warnings"] if "lines to train on" in each]
        self.assertEqual(len(warning), 1, output)
        self.assertIn("6 of 2006", warning[0])  # in two epochs
        self.assertIn("train.csv:502: ", warning[0])

    def test_all_workers_of_a_cluster_find_out_that_the_rows_are_sorted(self):
        self.write("train.csv", sorted(make_rows(8000, 1)))
        output, summary = self.run_program(
            "weir-local", "--servers=2", "--trainers=2", "--override=data { epochs: 1 }")
        warning = self.assert_warned(output, summary, "sorted by their label")
        self.assertIn("\n  warning " + warning + "\n", output)
        with open(self.path("out/logs/trainer-1.log"), encoding="utf-8") as f:
            self.assertEqual(f.read().count(warning), 1)


if __name__ == "__main__":
    unittest.main()
