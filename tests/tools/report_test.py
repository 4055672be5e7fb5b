#!/usr/bin/env python3
"""Runs tools/report/report.py on made-up runs."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools/report"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))
import report  # noqa: E402
import report_pictures as pictures  # noqa: E402


def summary(push_bytes=4_000_000):
    return {
        "mode": "async", "servers": 2, "trainers": 1, "threads": 1, "config_hash": "00ff",
        "train": {"samples": 1000, "samples_per_second": 1234.5, "steps": 10, "logloss": 0.5},
        "test": {"samples": 100, "logloss": 0.4567, "auc": 0.7511},
        "wire": {"push_bytes": push_bytes, "pull_bytes": 2_000_000, "row_push_bytes": 1000,
                 "row_pull_bytes": 2000, "control_bytes": 0, "total_bytes": push_bytes + 2_003_000},
        "layers": [{"name": "top/0/weight", "density": push_bytes / 4_000_000},
                   {"name": "top/0/bias", "density": None}],
    }


METRICS = [
    {"kind": "train", "samples": 500, "logloss": 0.6, "bytes": {"total": 3_000_000}},
    {"kind": "test", "samples": 500, "logloss": 0.55},
    {"kind": "train", "samples": 1000, "logloss": 0.5, "bytes": {"total": 6_000_000}},
    {"kind": "train", "samples": 1000, "logloss": None, "bytes": {"total": 6_000_000}},
]


class Thresholds(unittest.TestCase):
    METRICS = [{"samples": n, "layers": [{"name": "a", "threshold": t}, {"name": "b", "threshold": 9}]}
               for n, t in ((10, 0.5), (20, 0.25), (30, None), (40, 0))]

    def test_are_those_of_the_largest_layer_where_it_has_one(self):
        layers = [{"name": "b", "elements": 5}, {"name": "a", "elements": 50}, {"name": "c"}]
        self.assertEqual(report.largest_layer(layers), "a")
        self.assertIsNone(report.largest_layer([{"name": "c"}]))
        self.assertEqual(report.over_time("threshold", "a", self.METRICS), [(10, 0.5), (20, 0.25)])
        self.assertEqual(report.over_time("threshold", "a", [{"samples": 3}, {"layers": None}]), [])

    def test_odd_ones_are_none(self):
        odd = [{"samples": 3, "layers": layers} for layers in (
            [3], 7, {"name": "a"}, [{"threshold": 1}], [{"name": "a", "threshold": -0.5}],
            [{"name": "a", "threshold": 10**400}])]
        self.assertEqual(report.over_time("threshold", "a", odd), [])

    def test_are_drawn_for_the_runs_that_have_some(self):
        runs = [{"name": "none", "largest_layer": "a", "thresholds": []},
                {"name": "dct", "largest_layer": "a", "thresholds": [(10, 0.5), (20, 0.25)]}]
        drawn = xml.fromstring(pictures.threshold_picture(runs))
        self.assertEqual(len(drawn.findall("{http://www.w3.org/2000/svg}polyline")), 1)
        self.assertIsNone(pictures.threshold_picture(runs[:1]))


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.out = self.root / "deep" / "report"

    def add_run(self, name, content, metrics=METRICS):
        directory = self.root / name
        directory.mkdir()
        (directory / "summary.json").write_text(json.dumps(content))
        if metrics is not None:
            (directory / "metrics.jsonl").write_text("".join(json.dumps(m) + "\n" for m in metrics))
        return f"{name}={directory}"

    def run_report(self, *runs):
        command = [sys.executable, "-B", TOOLS / "report.py", f"--out={self.out}", *runs]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def assert_fails(self, runs, *words, exit_code=1):
        result = self.run_report(*runs)
        self.assertEqual(result.returncode, exit_code)
        usage_lines = {1: 0, 2: 1}[exit_code]
        self.assertEqual(result.stderr.count("\n"), usage_lines + 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_prints_a_table_with_times_fewer_than_the_first_run(self):
        result = self.run_report(self.add_run("none", summary()),
                                 self.add_run("dct", summary(push_bytes=40_000)))
        self.assertEqual(result.returncode, 0, result.stderr)
        headings, _, none, dct = (re.split(r"\s{2,}", line)
                                  for line in result.stdout.splitlines()[:4])
        none, dct = dict(zip(headings, none)), dict(zip(headings, dct))
        self.assertEqual(none["samples/s"], "1.23 k")
        self.assertEqual(none["test AUC"], "0.7511")
        self.assertEqual(none["push/step"], "400 kB")
        self.assertEqual(none["rows/step"], "300 B")
        self.assertEqual((none["push fewer"], none["all fewer"]), ("1.0x", "1.0x"))
        self.assertEqual((dct["push fewer"], dct["pull fewer"]), ("100x", "1.0x"))
        self.assertEqual(dct["all fewer"], "2.9x")

    def test_writes_pictures_that_are_xml_and_a_page_that_needs_nothing_else(self):
        self.run_report(self.add_run("none", summary()), self.add_run("a<b", summary(40_000)))
        for name in ("loss.svg", "density.svg"):
            text = (self.out / name).read_text()
            self.assertTrue(xml.fromstring(text).tag.endswith("svg"))
            self.assertNotIn("nan", text)
        self.assertIn("top/0/weight", (self.out / "density.svg").read_text())
        page = (self.out / "index.html").read_text()
        self.assertEqual(page.count("<svg"), 3)
        self.assertIn("a&lt;b", page)
        self.assertNotIn("a<b", page)
        self.assertIsNone(re.search(r'(src|href)="', page))

    def test_shows_a_dash_for_what_a_run_does_not_have(self):
        result = self.run_report(self.add_run("empty", {}, metrics=None),
                                 self.add_run("full", summary()))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(set(result.stdout.splitlines()[2].split()), {"empty", "-"})
        self.assertIn("metrics.jsonl, so it has no curve", result.stdout)

    def test_survives_odd_values_and_a_line_cut_short(self):
        odd = summary() | {"train": {"steps": 0, "samples": "many"}, "layers": [3, {"name": 5}],
                           "test": None, "wire": []}
        run = self.add_run("odd", odd)
        with open(self.root / "odd" / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write('{"samples": 5, "layers": [3]}\n{"samples": 6, "layers": 7}\n[]\n{"kind": "train", "samp')
        result = self.run_report(run)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 unreadable line(s) skipped", result.stdout)

    def test_draws_what_has_not_been_sent_where_a_run_kept_something(self):
        metrics = [line | {"layers": [{"name": "top/0/weight", "threshold": None, "residual_norm": norm}]}
                   for line, norm in zip(METRICS, (1.5, None, 2.5, 3.5))]
        layers = {"layers": [{"name": "top/0/weight", "elements": 4}]}
        kept = self.add_run("kept", summary() | layers, metrics)
        none = self.add_run("none", summary() | layers)
        self.assertEqual(self.run_report(none, kept).returncode, 0)
        drawn = xml.fromstring((self.out / "residual.svg").read_text())
        self.assertEqual(len(drawn.findall("{http://www.w3.org/2000/svg}polyline")), 1)
        self.assertFalse((self.out / "threshold.svg").exists())
        self.assertEqual((self.out / "index.html").read_text().count("<svg"), 4)
        self.run_report(none)
        self.assertFalse((self.out / "residual.svg").exists(), "that of an earlier report")

    def test_draws_the_time_of_a_step_where_a_run_tells_it(self):
        times = {"stages_time": {"forward": 2.0, "select": 1.0, "other": 0.5, "stage 0 computing": 9, "encode": "x"}}
        told = self.add_run("told", summary() | times)
        stages = self.add_run("stages", summary() | {"stages_time": {"stage 0 computing": 9.0}})
        self.assertEqual(self.run_report(stages, told).returncode, 0)
        drawn = xml.fromstring((self.out / "times.svg").read_text())
        titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(titles, ["Time of a step", "told: forward 200 ms", "told: select 100 ms", "told: other 50 ms"])
        self.run_report(stages)
        self.assertFalse((self.out / "times.svg").exists(), "that of an earlier report")

    def test_names_the_run_and_the_file_that_is_missing_or_broken(self):
        self.assert_fails(["dct=/no/such"], "run dct", "/no/such/summary.json", "No such file")
        run = self.add_run("broken", {})
        (self.root / "broken" / "summary.json").write_text("{")
        self.assert_fails([run], "run broken", "is not JSON")

    def test_wrong_flags_are_told(self):
        run = self.add_run("none", summary())
        self.assert_fails([run, run], "same name", exit_code=2)
        self.assert_fails(["=/no/such"], "is not NAME=DIR", exit_code=2)

    def test_takes_a_directory_without_a_name(self):
        self.add_run("plain", summary())
        self.assertIn("\nplain ", self.run_report(str(self.root / "plain")).stdout)


class Curves(unittest.TestCase):
    def test_places_tests_among_the_bytes(self):
        curves = report.loss_curves(summary(), METRICS)
        self.assertEqual(curves["steps"]["train"], [(5, 0.6), (10, 0.5)])
        self.assertEqual(curves["bytes"]["train"], [(3_000_000, 0.6), (6_000_000, 0.5)])
        self.assertEqual(curves["steps"]["test"], [(5, 0.55)])
        self.assertEqual(curves["bytes"]["test"], [(3_000_000, 0.55)])

    def test_takes_the_only_test_from_the_summary(self):
        curves = report.loss_curves(summary(), METRICS[:1])
        self.assertEqual(curves["steps"]["test"], [(10, 0.4567)])
        self.assertEqual(curves["bytes"]["test"], [(6_003_000, 0.4567)])

    def test_interpolates_between_reports(self):
        self.assertEqual(report.interpolate([(10, 100), (20, 300)], 5), 50)
        self.assertEqual(report.interpolate([(10, 100), (20, 300)], 15), 200)
        self.assertEqual(report.interpolate([(10, 100), (20, 300)], 99), 300)


class Pictures(unittest.TestCase):
    def test_numbers_are_short(self):
        self.assertEqual(pictures.si(0), "0")
        self.assertEqual(pictures.si(999.6, "B"), "1 kB")
        self.assertEqual(pictures.si(1_234_567, "B"), "1.23 MB")

    def test_axes_have_a_handful_of_round_ticks(self):
        self.assertEqual(pictures.Axis(0, 1, (0, 100)).ticks(), [0, 0.2, 0.4, 0.6, 0.8, 1])
        self.assertEqual(pictures.Axis(0.01, 1, (0, 100), True).ticks(), [0.01, 0.1, 1])
        for low, high in ((0.44, 0.51), (3, 3), (0, 1e12), (0, -5), (1e20, 1e20)):
            self.assertIn(len(pictures.Axis(low, high, (0, 1)).ticks()), range(3, 9))

    def test_labels_do_not_overlap(self):
        placed = pictures.spread([50, 50, 51, 10], 15, 0, 100)
        placed.sort()
        self.assertTrue(all(b - a >= 15 for a, b in zip(placed, placed[1:])), placed)

    def test_a_line_of_a_long_run_has_no_more_points_than_can_be_told_apart(self):
        most = pictures.MOST_POINTS
        for count in (0, 1, 2, most, most + 1, 3 * most, 100_000):
            points = [(i, -i) for i in range(count)]
            thinned = pictures.thinned(points)
            self.assertLessEqual(len(thinned), most, count)
            self.assertEqual((thinned[:1], thinned[-1:]), (points[:1], points[-1:]))
            if count <= most:
                self.assertEqual(thinned, points)
        self.assertLessEqual(pictures.polyline([(i, i) for i in range(9 * most)], "red", 1).count(","), most)

    def test_smoothing_keeps_a_constant(self):
        for _, y in pictures.smoothed([(i, 0.5) for i in range(100)]):
            self.assertAlmostEqual(y, 0.5)


if __name__ == "__main__":
    unittest.main()
