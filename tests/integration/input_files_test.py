#!/usr/bin/env python3
"""Which files a run reads, told from outside: patterns and folders, and what is refused before anything starts.

  input_files_test.py BIN      BIN: the folder of the programs"""

import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import unittest

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"

CONFIG = """
model { bottom_widths: [4, 2] top_widths: [4, 1] embedding_dimension: 2 }
data {
  train: "%s" test: "test.csv" batch_size: 16 chunk_batches: 2
  csv { header: %s label { column: "%s" } dense { column: "%s" } categorical { column: "%s" rows: 64 } }
}
update { dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 0.1 } } }
"""
NAMES = ("true", "click", "hour", "site")
NUMBERS = ("false", "0", "1", "2")


class InputFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rows = random.Random(1)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, count, more="", header=True):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("click,hour,site\n" if header else "")
            for _ in range(count):
                f.write("%d,%s%d,s%d\n" % (self.rows.randint(0, 1), more, self.rows.randint(0, 23),
                                          self.rows.randint(0, 9)))

    def config(self, train, columns=NAMES):
        with open(self.path("c.textproto"), "w", encoding="utf-8") as f:
            f.write(CONFIG % (train, *columns))
        return "--config=" + self.path("c.textproto")

    def run_in_folder(self, *arguments, status=0):
        command = [os.path.abspath(os.path.join(BIN, arguments[0])), *arguments[1:]]
        done = subprocess.run(command, cwd=self.folder.name, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def trained(self, *arguments):
        self.run_in_folder("weir-local", *arguments, "--out=out")
        with open(self.path("out/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def test_every_trainer_finds_what_a_pattern_matches(self):
        for number, rows in enumerate((100, 50, 70)):
            self.write("days/part-%d" % number, rows)
        for left in ("days/_SUCCESS", "days/.part-0.crc"):
            self.write(left, 9)
        self.write("test.csv", 40)
        for train in ("days/part-*", "days"):
            for cluster in (("--servers=0", "--trainers=1"), ("--servers=2", "--trainers=2")):
                with self.subTest(train=train, cluster=cluster):
                    summary = self.trained(self.config(train), *cluster)
                    self.assertEqual(summary["train"]["samples"], 220)
                    self.assertEqual(summary["train"]["malformed_lines"], 0)
                    self.assertEqual(summary["test"]["samples"], 40)
                    with open(self.path("out/config.textproto"), encoding="utf-8") as f:
                        self.assertIn('train: "%s"\n' % train, f.read())
        with open(self.path("out/logs/trainer-0.log"), encoding="utf-8") as f:
            self.assertIn("data.train[0]: days means 3 files, days/part-0 to days/part-2", f.read())

    def test_stages_find_them_too_and_name_a_file_that_a_pattern_matched(self):
        self.write("train.csv", 300)
        self.write("test/part-0", 10)
        os.makedirs(self.path("test"), exist_ok=True)
        with open(self.path("test/part-1"), "w", encoding="utf-8") as f:
            f.write("click,hour,site\n" + "".join("%d,1,new%d\n" % (i % 2, i) for i in range(200)))
        for stages in (1, 2):
            with self.subTest(stages=stages):
                summary = self.trained(self.config("train.csv"), "--servers=1", "--trainers=1", "--stages=%d" % stages,
                                       '--override=data { test: "test/*" } pipeline { split { after: "top/0" none {} } }')
                self.assertEqual(summary["test"]["samples"], 210)
                told = [text for text in summary["warnings"] if "column site" in text]
                self.assertEqual(len(told), 1, summary["warnings"])
                self.assertRegex(told[0], r"that of test/part-\d:\d+ for one")

    def test_rows_are_counted_only_for_a_run_that_begins(self):
        self.write("test.csv", 40)
        for name in ("part-0", "part-1"):
            self.write(name, 9)
        found = "part-* means 2 files"  # logged wherever they are counted
        adagrad = "--override=update { dense { adagrad { learning_rate: 0.1 } } }"
        push = adagrad + " compression { default { none {} values: BF16 } }"  # without servers there are none
        config = self.config("part-*")
        self.assertIn(found, self.run_in_folder("weir-local", config, adagrad, "--out=out"))
        for program in (("weir-local", "--servers=0", "--trainers=1"), ("weir-worker",)):
            for flags in (("--threads=0", adagrad), ("stray", adagrad), (push,)):
                with self.subTest(program=program, flags=flags):
                    self.assertNotIn(found, self.run_in_folder(*program, config, *flags, status=2))

    def test_a_pattern_without_a_file_is_told(self):
        self.write("test.csv", 40)
        self.assertIn("data.train[0]: no file matches part-*.gz; correct it or data.root",
                      self.run_in_folder("weir-worker", self.config("part-*.gz"), status=1))

    def test_a_file_that_is_not_there_is_told_with_what_to_do(self):
        self.write("test.csv", 40)
        self.assertIn("data.train[0]: train.csv: no such file; correct it, or say where the files are: "
                      "--override='data { root: \"FOLDER\" }'",
                      self.run_in_folder("weir-worker", self.config("train.csv"), status=1))

    def test_files_of_other_widths_are_refused_at_the_start(self):
        self.write("train.csv", 100, header=False)
        self.write("test.csv", 40, header=False)
        self.write("wider.csv", 40, more="3,", header=False)
        config = self.config("train.csv", NUMBERS)
        self.run_in_folder("weir-worker", config)
        for override, field in (('test: "wider.csv"', "test[0]"),
                                ('train: "train.csv" train: "wider.csv"', "train[1]")):
            told = self.run_in_folder("weir-worker", config, "--override=data { %s }" % override, status=1)
            self.assertIn("data.%s: wider.csv: the first line has 4 fields, and those of training had 3" % field,
                          told)
            self.assertNotIn("samples", told)

    def test_an_archive_is_refused_at_the_start(self):
        self.write("train.csv", 100, header=False)
        self.write("test.csv", 40, header=False)
        with tarfile.open(self.path("train.tar.gz"), "w:gz") as archive:
            archive.add(self.path("train.csv"), "train.csv")
        told = self.run_in_folder("weir-worker", self.config("train.tar.gz", NUMBERS), status=1)
        self.assertIn("data.train[0]: train.tar.gz is a tar archive; unpack it, and name the files in it: "
                      "tar -xf train.tar.gz", told)

    def test_what_can_be_read_once_only_is_refused(self):
        self.write("test.csv", 40)
        for train, kind in (("-", "would be standard input"), ("/dev/stdin", "is a "), ("fifo", "is a pipe")):
            if train == "fifo":
                os.mkfifo(self.path("fifo"))
            told = self.run_in_folder("weir-worker", self.config(train), status=1)
            self.assertIn("data.train[0]: %s %s" % (train, kind), told)
            self.assertIn("gives its rows once; training reads a file several times", told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
