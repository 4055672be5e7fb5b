#!/usr/bin/env python3
"""tools/pages/make_results.py: pages of small records, and what it says of those that do not fit."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/pages/make_results.py"
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(SCRIPT.parent)]
import make_results  # noqa: E402
import result_tables  # noqa: E402

MACHINE = {"processor": "a processor", "simd": "AVX2", "cores": 2, "memory_gib": None, "os": "Debian 12",
           "compiler": "g++ 12"}
RECORD = {"what": "A trial.", "source": "measured", "command": "tools/trial --seeds=2", "commit": "abc", "machine": MACHINE,
          "tables": {"learning": {"columns": ["policy", "AUC", "limit", "empty"],
                                  "rows": [["none", "0.75", "", ""], ["dct", "0.76", "+0.1", ""]]},
                     "traffic": {"columns": ["policy", "times fewer"], "rows": [["dct", "134"], ["none", "1.0"]]},
                     "pairs": {"columns": ["update", "policy", "AUC"],
                               "rows": [["sgd", "none", "0.7"], ["sgd", "dct", "0.8"]]}},
          "pictures": {"loss": "trial-loss.svg"}, "note": "Other work ran beside it."}


def line(name, value=None, ratio=None, goal=None, **more):
    return {"name": name, "value": value, "unit": "M rows/s", "peer": "PyTorch", "peer_value": None, "ratio": ratio,
            "goal": goal, **more}


BENCH = {key: RECORD[key] for key in RECORD if key not in ("tables", "pictures", "note")}


class Calls(unittest.TestCase):
    RECORDS = {"trial": RECORD, "other": {**BENCH, "lines": [], "machine": {**MACHINE, "memory_gib": 23.5405}}}

    def fill(self, template):
        return make_results.fill(self.RECORDS, template, "a.md.in").split("-->\n\n", 1)[1]

    def assert_refused(self, template, words):
        with self.assertRaises(ValueError) as raised:
            self.fill(template)
        self.assertIn(words, str(raised.exception))

    def test_a_table_without_columns_that_say_nothing(self):
        self.assertEqual(self.fill("{{table trial learning}}\n"),
                         "| policy | AUC | limit |\n| --- | --- | --- |\n| none | 0.75 |  |\n| dct | 0.76 | +0.1 |\n")

    def test_chosen_rows_and_columns_may_have_other_names(self):
        self.assertEqual(self.fill('{{table trial learning+traffic columns="policy=sent;times fewer" rows="dct=one percent"}}\n'),
                         "| sent | times fewer |\n| --- | --- |\n| one percent | 134 |\n")

    def test_a_value_is_told_by_row_and_column(self):
        self.assertEqual(self.fill("It is {{value trial learning dct AUC}} and {{value trial pairs sgd;dct AUC}}."),
                         "It is 0.76 and 0.8.")

    def test_a_record_is_told_with_its_machine_and_command(self):
        self.assertEqual(self.fill("{{record trial}}\n"), "A trial. On 2 cores of a processor, AVX2:\n\n"
                                                          "```\ntools/trial --seeds=2\n```\n")

    def test_rows_that_are_not_made_so_any_more_are_named(self):
        self.RECORDS["trial"]["rows_of"] = "configs/data/waves.textproto"
        self.addCleanup(self.RECORDS["trial"].pop, "rows_of")
        self.assertIn("On 2 cores of a processor, AVX2; made-up rows of `configs/data/waves.textproto`:\n\n",
                      self.fill("{{record trial}}\n"))

    def test_what_was_printed_is_code(self):
        self.RECORDS["trial"]["printed"] = {"Build": "a\n  b"}
        self.addCleanup(self.RECORDS["trial"].pop, "printed")
        self.assertEqual(self.fill("{{printed trial Build}}\n"), "```\na\n  b\n```\n")
        self.assert_refused("{{printed trial Test}}", "the record has nothing printed by Test")

    def test_a_note_is_told_where_there_is_one(self):
        self.assertEqual(self.fill("{{note trial}}"), "Other work ran beside it.")
        self.assert_refused("{{note other}}", "the record has no note")

    def test_a_machine_of_which_nothing_is_known(self):
        unknown = {**RECORD, "machine": dict.fromkeys(MACHINE)}
        self.assertEqual(make_results.machine(unknown), "an unknown machine")

    def test_pictures_and_all_records(self):
        self.assertEqual(self.fill("{{picture trial loss}}"), "![loss](trial-loss.svg)")
        self.assertIn("| [trial](trial.json) | A trial. | a processor |\n", self.fill("{{records}}\n"))

    def test_all_machines_are_told_once(self):
        self.assertEqual(self.fill("{{machines}}\n").splitlines()[2:],
                         ["| a processor | AVX2 | 2 |  | Debian 12 | g++ 12 |",
                          "| a processor | AVX2 | 2 | 23.5 | Debian 12 | g++ 12 |"])

    def test_what_is_not_there_is_told_with_its_place(self):
        self.assert_refused("a\n{{value trial learning dct auc}}", "a.md.in:2: {{value trial learning dct auc}}: there is no column 'auc'")
        self.assert_refused("{{value trial learning top_k AUC}}", "0 rows are called 'top_k'")
        self.assert_refused("{{value trial pairs sgd AUC}}", "2 rows are called 'sgd'")
        self.assert_refused("{{table trial losses}}", "there is no table losses; there are learning, ")
        self.assert_refused("{{table gone learning}}", "there is no record docs/results/gone.json")
        self.assert_refused("{{picture trial density}}", "no picture density")
        self.assert_refused("{{dream trial}}", "no call of a template")
        self.assert_refused("{{table trial}}", "a.md.in:1: ")
        self.assert_refused("{{line other train/x ratio}}", "no line train/x with a ratio")
        self.assert_refused("{{line other a+b value}}", "no line a with a value")

    def test_lines_are_added_and_divided(self):
        self.RECORDS["sums"] = {**BENCH, "lines": [line("a", 9.563, 1.2, peer_value=47.89), line("b", 20.62)]}
        self.addCleanup(self.RECORDS.pop, "sums")
        self.assertEqual(self.fill("{{line sums a ratio}} {{line sums a+b value}} {{line sums a peer_value over=a+b}}"), "1.20 30.18 1.59")
        self.assert_refused("{{line sums a value over=b+c}}", "no line c with a value")


class Bench(unittest.TestCase):
    def bench(self, *columns):
        text = result_tables.bench([(heading, [{**BENCH, "lines": lines}]) for heading, lines in columns])
        return [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()]

    def test_a_part_has_its_peer_its_goals_and_a_column_for_each_run(self):
        names = ["train/f32/batch_%d" % batch for batch in (128, 512, 2048)]
        first = [line(name, ratio=found, goal=goal) for name, found, goal in zip(names, (2, 1.4499, 1.5), (1.7, 1.45, 1.4))]
        rows = self.bench(("first", first), ("second", first[2:]))
        self.assertEqual(rows[0], ["what", "compared with", "goal", "first", "second", "bound by"])
        self.assertEqual(rows[2], ["training, one thread, batch 128, 512, 2048", "PyTorch", "1.7, 1.45, 1.4",
                                   "2.00, **1.45**, 1.50", "-, -, 1.50", "its matrix products"])

    def test_a_rate_is_beside_its_goal_in_the_same_unit(self):
        rows = self.bench(("a", [line("store/row_reads", value=42.5, goal=0.5, peer_value=12.0)]),
                          ("b", [line("store/row_reads", value=5.5, goal_value=6)]))
        self.assertEqual(rows[2][:5], ["embedding rows read and updated, of 10 M", "in M rows/s", "6", "42.5, -", "**5.5**, -"])

    def test_words_of_a_part_replace_those_of_its_lines(self):
        rows = self.bench(("a", [line("distributed/dct_99", ratio=1.1)]))
        self.assertEqual(rows[2][:2], ["a server and a trainer, DCT-DP 99 %", "one process without servers"])

    def test_what_nobody_measured_has_no_row(self):
        self.assertEqual(len(self.bench(("a", [line("train/f32/batch_512"), line("unknown/x", ratio=3)]))), 2)

    def test_a_goal_that_nobody_set_is_empty(self):
        self.assertEqual(self.bench(("a", [line("read/criteo_tsv_gz", ratio=0.689)]))[2][1:4], ["PyTorch", "", "0.689"])

    def test_of_two_records_of_a_column_the_first_counts(self):
        records = [{**BENCH, "lines": [line("read/csv", ratio=number)]} for number in (0.8, 0.7)]
        self.assertIn("| 0.80 |", result_tables.bench([("a", records)]))

    def test_a_grid_has_a_line_in_each_cell(self):
        record = {**BENCH, "lines": [line("p/a/1M", 0.5, 0.25), line("p/b/1M", 2000)]}
        self.assertEqual(result_tables.grid(record, "a;b=the other", "ms=p/*/1M;by dct=p/*/1M:ratio"),
                         "|  | ms | by dct |\n| --- | --- | --- |\n| a | 0.5 | 0.25 |\n| the other | 2,000 |  |\n")
        with self.assertRaisesRegex(ValueError, "no line for the column x"):
            result_tables.grid(record, "a", "x=p/*/2M")


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.results = self.root / "docs/results"
        self.results.mkdir(parents=True)
        self.templates = self.root / "tools/pages/results"
        self.templates.mkdir(parents=True)
        self.record = {**BENCH, "tables": dict(RECORD["tables"])}
        self.write(self.record)
        (self.templates / "a.md.in").write_text("# A\n\n{{value trial learning dct AUC}}\n")

    def write(self, record):
        (self.results / "trial.json").write_text(json.dumps(record))

    def run_script(self, *flags):
        return subprocess.run([SCRIPT, f"--root={self.root}", *flags], capture_output=True, text=True, timeout=60, check=False)

    def test_writes_pages_and_finds_them_as_they_are(self):
        self.assertEqual(self.run_script("--check").returncode, 1)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertTrue((self.results / "a.md").read_text().endswith("# A\n\n0.76\n"))
        done = self.run_script("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_page_that_was_edited_or_whose_record_changed_is_stale(self):
        stale = "docs/results/a.md is not what its records say: run tools/pages/make_results.py\n"
        self.run_script()
        page = self.results / "a.md"
        whole = page.read_text()
        page.write_text(whole.replace("0.76", "0.77"))
        done = self.run_script("--check")
        self.assertEqual((done.returncode, done.stdout), (1, stale))
        self.assertIn("0.77", page.read_text())
        page.write_text(whole)
        self.record["tables"]["learning"] = {"columns": ["policy", "AUC"], "rows": [["dct", "0.78"]]}
        self.write(self.record)
        self.assertEqual(self.run_script("--check").stdout, stale)

    def test_a_page_without_a_template_is_told(self):
        self.run_script()
        (self.results / "b.md").write_text("# By hand\n")
        done = self.run_script("--check")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "docs/results/b.md has no template in tools/pages/results\n"))

    def test_damaged_records_are_told_together(self):
        self.write({**self.record, "commit": 3})
        (self.results / "other.json").write_text("{")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("trial.json: commit is of another kind\n", done.stderr)
        self.assertIn("other.json: no JSON", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse((self.results / "a.md").exists())


class Tree(unittest.TestCase):
    def test_every_line_that_the_page_asks_for_was_measured_once(self):
        lines = result_tables.lines_of(make_results.load_records(ROOT).values())
        self.assertEqual([name for part in result_tables.PARTS for name in part.names if name not in lines], [])

    def test_every_picture_is_of_a_record(self):
        named = {name for record in make_results.load_records(ROOT).values() for name in record.get("pictures", {}).values()}
        self.assertEqual({path.name for path in (ROOT / "docs/results").glob("*.svg")}, named)


if __name__ == "__main__":
    unittest.main()
