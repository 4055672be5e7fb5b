#!/usr/bin/env python3
"""tools/measure/reproduce_dct: its arithmetic, and a tiny set from end to end.

Usage: reproduce_dct_test.py BIN_DIR [unittest arguments]"""

import argparse
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools/measure"
SCRIPT = str(TOOLS / "reproduce_dct")
BIN = "build/release/bin"

sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/report"), str(TOOLS), str(Path(__file__).parent)]

import reproduce_dct_loss  # noqa: E402
import reproduce_dct_speed  # noqa: E402
import reproduce_dct_thresholds  # noqa: E402

from fake_programs import write_programs  # noqa: E402
from scripting import result_records  # noqa: E402

loader = SourceFileLoader("reproduce_dct", SCRIPT)
reproduce_dct = module_from_spec(spec_from_loader("reproduce_dct", loader))
loader.exec_module(reproduce_dct)


def summary(logloss, unmasked=None, splits=()):
    test = {"logloss": logloss, "auc": 0.75}
    if unmasked is not None:
        test["unmasked"] = {"logloss": unmasked, "auc": 0.7}
    return {"test": test, "splits": [
        {"elements": 1000, "forward_bytes": forward, "backward_bytes": backward}
        for forward, backward in splits]}


class Arithmetic(unittest.TestCase):
    ROW = next(row for row in reproduce_dct.LOSS_ROWS if row.name == "2-stages-90")

    def test_differences_are_relative_and_in_percent(self):
        line = reproduce_dct_loss.loss_line(
            self.ROW, [summary(0.505, 0.51, [(100, 80)]), summary(0.408, 0.4, [(100, 80)])],
            [summary(0.5), summary(0.4)])
        self.assertAlmostEqual(line["difference"], 1.5)
        self.assertAlmostEqual(line["whole"], 1.0)
        self.assertEqual(line["bound"], 0.15)
        self.assertFalse(line["met"])
        self.assertAlmostEqual(line["forward"], 40)
        self.assertAlmostEqual(line["backward"], 50)

    def test_a_run_without_masks_is_its_own_with_everything_sent(self):
        line = reproduce_dct_loss.loss_line(self.ROW, [summary(0.5)], [summary(0.5)])
        self.assertEqual(line["whole"], 0)
        self.assertNotIn("met", line, "a seed alone has no limit")

    def test_time_is_saved_beside_the_uncompressed_run_alone(self):
        self.assertEqual(reproduce_dct_speed.less_time(10.0, 4.0), "60")
        self.assertEqual(reproduce_dct_speed.less_time(10.0, math.inf), "")
        self.assertEqual(reproduce_dct_speed.less_time(math.inf, 4.0), "")
        self.assertEqual(reproduce_dct_speed.less_time(math.inf, math.inf), "")

    def test_what_masks_cost_is_told_beside_what_sends_everything(self):
        rates = iter((100, 90, 81, 80, 60))
        flags = argparse.Namespace(repeats=1)
        with mock.patch.object(reproduce_dct_speed, "samples_per_second", lambda *_: next(rates)):
            _, lines = reproduce_dct_speed.cost_table(flags)
        self.assertEqual([line[1:] for line in lines],
                         [("100", "", "100.0"), ("90", "", "90.0"), ("81", "90.0", "81.0"),
                          ("80", "", "80.0"), ("60", "75.0", "60.0")])

    def test_rates_as_tc_writes_them(self):
        self.assertEqual(reproduce_dct_speed.bits_per_second("1gbit"), 1e9)
        self.assertEqual(reproduce_dct_speed.bits_per_second("2.5mbit"), 2.5e6)
        with self.assertRaises(argparse.ArgumentTypeError):
            reproduce_dct_speed.bits_per_second("fast")

    def test_every_row_has_a_folder_of_its_own_and_a_base_that_is_there(self):
        names = [row.name for row in reproduce_dct.LOSS_ROWS]
        self.assertEqual(len(set(names)), len(names))
        for row in reproduce_dct.LOSS_ROWS:
            self.assertIn(row.base, [None, *names])

    def test_other_rows_than_usual_are_in_the_names_of_folders(self):
        def folders(part, *words):
            with mock.patch.object(sys, "argv", ["reproduce_dct", "--only=" + part, "--runs=none", "--seeds=1", *words]):
                return reproduce_dct.folders(reproduce_dct.parse_flags(), part)

        self.assertEqual(folders("loss"), ["build/dct/adagrad-none-1"])
        self.assertEqual(folders("loss", "--rows=9000"), ["build/dct/adagrad-none-1-9000"])
        self.assertEqual(folders("loss", "--test_rows=200"), ["build/dct/adagrad-none-1-test200"])
        self.assertIn("build/dct/threshold-adagrad-0.75-False", folders("thresholds"))
        self.assertIn("build/dct/threshold-adagrad-0.75-True-9000", folders("thresholds", "--rows=9000"))
        self.assertEqual(folders("steadiness", "--test_rows=200"),
                         ["build/dct/steadiness-policy-adagrad", "build/dct/steadiness-exact-adagrad"])
        self.assertEqual(folders("steadiness", "--rows=9000")[0], "build/dct/steadiness-policy-adagrad-9000")
        self.assertEqual(folders("bytes"), ["build/dct/bytes"])

    def test_the_criteo_sample_has_folders_a_record_and_a_config_of_its_own(self):
        ran = []
        with mock.patch("sys.argv", ["reproduce_dct", "--only=loss", "--data=criteo", "--rule=sgd", "--runs=hybrid-90",
                                     "--seeds=1", "--jobs=1"]), \
                mock.patch.object(reproduce_dct_loss.paired_runs, "run",
                                  lambda *words: ran.append(words) or summary(0.5)), \
                contextlib.redirect_stdout(io.StringIO()):
            flags = reproduce_dct.parse_flags()
            reproduce_dct_loss.run_loss(flags)
        self.assertEqual([(words[0], words[2], words[3]) for words in ran],
                         [("build/dct/criteo-sgd-none-1", "configs/runs/criteo_sample.textproto", 0),
                          ("build/dct/criteo-sgd-hybrid-90-1", "configs/runs/criteo_sample.textproto", 1)])
        self.assertIn('data { batch_size: 128 shuffle: true root: "../shared/data" }', ran[1][5])
        self.assertIn("dct_mp { sparsity: 0.9 }", ran[1][5])
        self.assertIn("dct { sparsity: 0.9 ", ran[1][5])
        self.assertEqual(reproduce_dct.record_name(flags, "loss"), "loss-criteo-sgd")
        self.assertEqual(reproduce_dct.command(flags, "loss"), "tools/measure/reproduce_dct --only=loss --data=criteo "
                                                               "--rule=sgd --runs=hybrid-90 --seeds=1")

    def test_every_part_has_a_record_of_its_own(self):
        def name(part, *words):
            with mock.patch("sys.argv", ["reproduce_dct", "--only=loss", *words]):
                return reproduce_dct.record_name(reproduce_dct.parse_flags(), part)

        self.assertEqual(name("loss", "--rule=sgd"), "loss-sgd")
        self.assertEqual(name("loss", "--rule=sgd", "--rows=9000"), "loss-sgd-9000")
        self.assertEqual(name("loss", "--rule=sgd", "--records=/tmp", "--choice=x"), "loss-sgd-x")
        self.assertEqual(name("thresholds", "--records=/tmp", "--choice=x"), "thresholds-adagrad")
        self.assertEqual(name("headline", "--rate=1gbit"), "headline-1gbit")
        self.assertEqual(name("bytes"), "bytes")
        for words, message in ((("--choice=x",), "give --records as well"),
                               (("--records=/absent",), "there is no folder /absent")):
            with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
                name("loss", *words)
            self.assertIn(message, told.getvalue())

    def test_the_quantile_of_each_step_is_exact(self):
        self.assertIn("lifespan: 1 ", reproduce_dct_thresholds.RULES["exact"])
        self.assertIn("quantile: SORTED", reproduce_dct_thresholds.RULES["exact"])

    def test_a_choice_of_runs_has_what_they_are_compared_with(self):
        def names(*chosen):
            return [row.name for row in reproduce_dct.chosen_rows(chosen)]

        self.assertEqual(names("2-stages-75"), ["none", "2-stages-75"])
        self.assertEqual(names("deep-90", "hybrid"), ["none", "hybrid", "deep-none", "deep-90"])
        self.assertEqual(names(*(row.name for row in reproduce_dct.LOSS_ROWS)),
                         [row.name for row in reproduce_dct.LOSS_ROWS])

    def test_what_is_nearest_to_a_number_of_samples(self):
        points = [(i, i * 10) for i in range(100)]
        self.assertEqual(reproduce_dct_thresholds.near(points, 50), 500)

    def test_a_threshold_beside_its_running_mean(self):
        warm = 128 * reproduce_dct_thresholds.WARM_UP_STEPS
        points = [(100, 50.0), (warm, 1.0), (warm + 10, 3.0), (warm + 20, 2.0), (warm + 30, 2.5)]
        relative = reproduce_dct_thresholds.relative_to_mean(points, 20)
        self.assertEqual(relative, [(warm + 10, 1.5), (warm + 20, 2 / 2.5), (warm + 30, 2.5 / 2.25)])
        self.assertEqual(reproduce_dct_thresholds.percents(relative), ("50", "50"))
        steady = [(i, 1.0) for i in range(998)] + [(998, 0.75), (999, 1.2)]
        self.assertEqual(reproduce_dct_thresholds.percents(steady), ("25", "0"))
        self.assertEqual(reproduce_dct_thresholds.percents([]), ("", ""))


class Tool(unittest.TestCase):
    def call(self, *flags, **options):
        return subprocess.run([SCRIPT, "--bin=" + BIN, *flags], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def test_makes_the_tables_the_picture_and_records(self):
        with tempfile.TemporaryDirectory() as out:
            done = self.call("--only=loss,thresholds,steadiness", "--seeds=1", "--rows=2560", "--test_rows=200",
                             "--records=" + out, "--out=" + os.path.join(out, "runs"))
            self.assertEqual(done.returncode, 0, done.stdout)
            records = {part: result_records.load(os.path.join(out, "stages-%s-adagrad-2560.json" % part))
                       for part in ("loss", "thresholds", "steadiness")}
            self.assertEqual([record["command"] for record in records.values()], [
                "tools/measure/reproduce_dct --only=loss --rule=adagrad --seeds=1 --rows=2560 --test_rows=200",
                "tools/measure/reproduce_dct --only=thresholds --rule=adagrad --rows=2560",
                "tools/measure/reproduce_dct --only=steadiness --rule=adagrad --rows=2560"])
            for part, record in records.items():
                self.assertNotEqual(record["commit"], "unknown")
                with open(os.path.join(out, "runs", part + ".md"), encoding="utf-8") as f:
                    self.assertEqual(f.read(), result_records.markdown(record["tables"]["result"]))
            picture = "stages-thresholds-adagrad-2560-curves.svg"  # of such short runs there is one by chance
            self.assertEqual(records["thresholds"].get("pictures") == {"curves": picture},
                             os.path.exists(os.path.join(out, picture)))
            self.assertEqual(records["steadiness"]["tables"]["result"]["columns"][:2], ["layer", "furthest from the mean, %"])
            out = os.path.join(out, "runs")
            with open(os.path.join(out, "table.json"), encoding="utf-8") as f:
                lines = json.load(f)
            self.assertEqual(len(lines), len(reproduce_dct.LOSS_ROWS))
            masked = next(line for line in lines if line["what"] == "2 stages, 95 %")
            self.assertGreater(masked["forward"], 14)
            self.assertGreater(masked["backward"], 18)
            with open(os.path.join(out, "loss.md"), encoding="utf-8") as f:
                self.assertEqual(len(f.readlines()), 2 + len(lines))
            self.assertTrue(os.path.exists(os.path.join(out, "thresholds.md")))

    def test_wrong_flags_are_told(self):
        for flag, words in (("--only=dreams", "no dreams"), ("--runs=none,dreams", "no dreams"),
                            ("--runs=none,none", "each once"), ("--seeds=0", "at least 1"),
                            ("--repeats=0", "at least 1"), ("--headline_rows=0", "at least 1"),
                            ("--data=criteo", "give --only=loss"), ("--data=all", "invalid choice"),
                            ("--target=nan", "a logloss, above 0"), ("--target=0", "a logloss, above 0"),
                            ("--rate=fastgbit", "as tc does"), ("--rate=0gbit", "as tc does")):
            done = self.call(flag)
            self.assertEqual(done.returncode, 2, flag)
            self.assertIn(words, done.stdout)
        done = self.call("--only=loss", "--bin=/absent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no /absent", done.stdout)
        self.assertIn("from the root of the repository", done.stdout)

    def test_what_a_slow_network_needs_is_missed_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "unshare")
            with open(program, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho tc: not found; exit 127\n")
            os.chmod(program, 0o755)
            there = {"env": {**os.environ, "PATH": folder + ":" + os.environ["PATH"]}}
            for flags in ((), ("--only=links",), ("--only=headline,loss",)):
                done = self.call(*flags, **there)
                self.assertEqual(done.returncode, 2)
                self.assertIn("iproute2: tc: not found; without them: --only=loss,thresholds,steadiness,bytes,cost\n",
                              done.stdout)
            write_programs(os.path.join(folder, "bin"))
            done = self.call("--only=loss", "--runs=none", "--seeds=1", "--bin=" + os.path.join(folder, "bin"),
                             "--out=" + folder, **there)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_explains_itself_to_the_end(self):
        self.assertIn("of the paper, translation, is outside of this system.\n", self.call("--help").stdout)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
