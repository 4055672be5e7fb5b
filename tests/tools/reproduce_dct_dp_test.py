#!/usr/bin/env python3
"""tools/measure/reproduce_dct_dp, tools/measure/paired_runs.py and tools/measure/pair_statistics.py: the arithmetic, and a tiny set from end to end.

Usage: reproduce_dct_dp_test.py BIN_DIR [unittest arguments]"""

import json
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
SCRIPT = str(TOOLS / "reproduce_dct_dp")
BIN = "build/release/bin"

sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(TOOLS), str(Path(__file__).parent)]
import pair_statistics  # noqa: E402
import paired_runs  # noqa: E402
from fake_programs import COMMIT, SUMMARY, write_programs  # noqa: E402
from scripting import result_records  # noqa: E402

loader = SourceFileLoader("reproduce_dct_dp", SCRIPT)
reproduce_dct_dp = module_from_spec(spec_from_loader("reproduce_dct_dp", loader))
loader.exec_module(reproduce_dct_dp)


class Statistics(unittest.TestCase):
    def test_student_t_is_that_of_the_tables(self):
        for share, freedom, value in ((0.95, 1, 6.3138), (0.95, 2, 2.9200), (0.95, 5, 2.0150),
                                      (0.95, 7, 1.8946), (0.95, 30, 1.6973), (0.975, 5, 2.5706),
                                      (0.99, 9, 2.8214), (0.9, 4, 1.5332)):
            self.assertAlmostEqual(pair_statistics.student_t(share, freedom), value, places=4)

    def test_upper_limit_by_hand(self):
        # Deviation sqrt(2.5), standard error sqrt(0.5), t of 4 degrees 2.1318.
        mean, error, limit = pair_statistics.upper_limit([1, 2, 3, 4, 5])
        self.assertEqual(mean, 3)
        self.assertAlmostEqual(error, 0.70711, places=5)
        self.assertAlmostEqual(limit, 3 + 2.1318 * 0.70711, places=4)

    def test_nothing_sent_is_infinitely_many_times_fewer(self):
        results = [{"wire": {"push_bytes": sent, "push_bytes_dense": 2000}} for sent in (0, 0)]
        self.assertEqual(pair_statistics.fewer(results, "push"), float("inf"))
        results[0]["wire"]["push_bytes"] = 100
        self.assertEqual(pair_statistics.fewer(results, "push"), 40)

    def test_one_seed_has_no_limit(self):
        self.assertEqual(pair_statistics.upper_limit([2.5]), (2.5, None, None))


def summary(logloss, density=0.05):
    return {"test": {"logloss": logloss, "auc": 0.75},
            "wire": {"push_bytes": 100, "push_bytes_dense": 2000},
            "layers": [{"elements": 3000, "density": density}, {"elements": 9, "density": 1}]}


class Comparison(unittest.TestCase):
    DENSE = [summary(0.5), summary(0.4)]

    def compare(self, policy, trainers, *loglosses):
        return reproduce_dct_dp.compare(trainers, "sgd", policy, [summary(x) for x in loglosses],
                                        self.DENSE)

    def test_differences_are_relative_to_the_dense_run_of_the_seed(self):
        row = self.compare("dct_99", 1, 0.505, 0.396)
        self.assertAlmostEqual(row["differences"][0], 0.01)
        self.assertAlmostEqual(row["differences"][1], -0.01)
        self.assertAlmostEqual(row["difference"], 0)
        self.assertAlmostEqual(row["limit"], 6.3138 * 0.01, places=5)
        self.assertEqual((row["density"], row["push_times_fewer"]), (0.05, 20))

    def test_the_limit_is_held_to_the_bound_and_not_the_mean(self):
        self.assertTrue(self.compare("dct_95", 1, 0.49, 0.392)["met"])
        self.assertFalse(self.compare("dct_95", 1, 0.505, 0.39)["met"])  # -0.75 % on average
        self.assertNotIn("met", self.compare("dct_99.5", 1, 0.505, 0.39))

    def test_four_trainers_are_only_reported(self):
        row = self.compare("dct_95", 4, 0.49, 0.39)
        self.assertIn("limit", row)
        self.assertNotIn("bound", row)

    def test_the_table_has_a_line_for_each(self):
        table = reproduce_dct_dp.table([self.compare("none", 1, 0.5, 0.4),
                                        self.compare("dct_95", 1, 0.505, 0.396)])
        self.assertEqual([len(row) for row in table["rows"]], [len(table["columns"])] * 2)
        self.assertEqual(table["rows"][1][table["columns"].index("met")], "NO")


class Reuse(unittest.TestCase):
    COMMAND = ["weir-local", "--seed=1"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.out = Path(folder.name) / "program", Path(folder.name) / "out"
        self.out.mkdir()
        self.source.touch()
        self.data = Path(folder.name) / "rows.tsv"
        self.data.touch()
        (self.out / "config.textproto").write_text('data {\n  train: "%s"\n}\n' % self.data)
        (self.out / "summary.json").write_text('{"test": {}}')
        read = paired_runs.data_files(str(self.out))
        self.assertEqual(read, [str(self.data)])
        self.tell_of(read)
        os.utime(self.out / "summary.json", (1e9, 1e9))

    def tell_of(self, read):
        tale = {"command": self.COMMAND, "made_with": paired_runs.states([str(self.source), *read])}
        (self.out / "command.json").write_text(json.dumps(tale))

    def is_current(self, command=None):
        return paired_runs.is_current(str(self.out), command or self.COMMAND, [str(self.source)])

    def test_what_would_come_out_the_same_is_current(self):
        self.assertTrue(self.is_current())

    def test_another_command_is_not(self):
        self.assertFalse(self.is_current(["weir-local", "--seed=2"]))

    def test_nor_results_of_another_program_however_old(self):
        os.utime(self.source, (1e8, 1e8))
        self.assertFalse(self.is_current())

    def test_nor_of_other_data(self):
        self.data.write_text("1\n")
        self.assertFalse(self.is_current())

    def test_nor_of_other_data_whose_name_is_escaped(self):
        self.data = self.data.with_name('zw\u00f6lf "1"\t\\.txt')
        self.data.touch()
        name = "zw\\303\\266lf \\\"1\\\"\\t\\\\.txt"
        (self.out / "config.textproto").write_text(
            'data {\n  train: "%s"\n  test: "a\\x62\\\'"\n  root: "%s"\n}\n' % (name, self.data.parent))
        self.assertEqual(paired_runs.data_files(str(self.out)), [str(self.data), str(self.data.parent / "ab'")])
        self.data.with_name("ab'").touch()
        self.tell_of(paired_runs.data_files(str(self.out)))
        self.assertTrue(self.is_current())
        self.data.write_text("1\n")
        self.assertFalse(self.is_current())

    def test_nor_where_data_could_not_be_looked_at(self):
        self.data.unlink()
        self.tell_of(paired_runs.data_files(str(self.out)))
        self.assertFalse(self.is_current())

    def test_nor_of_a_run_by_hand_in_the_same_place(self):
        (self.out / "summary.json").write_text('{"test": {"logloss": 1}}')
        later = os.stat(self.out / "command.json").st_mtime + 1
        os.utime(self.out / "summary.json", (later, later))
        self.assertFalse(self.is_current())

    def test_a_program_that_changes_during_a_run_ends_all(self):
        programs = self.source.parent / "bin"
        programs.mkdir()
        for name in paired_runs.PROGRAMS:
            (programs / name).write_text("#!/bin/sh\nsleep 0.1; touch %s\n" % (programs / "weir-worker"))
            (programs / name).chmod(0o755)
        with self.assertRaisesRegex(SystemExit, "changed while"):
            paired_runs.run(str(self.out), str(programs), str(self.source), 1, 1, "")

    def test_nor_results_that_are_not_whole(self):
        for name in ("command.json", "summary.json"):
            self.setUp()
            (self.out / name).unlink()
            self.assertFalse(self.is_current(), name)
            for damage in (b"", b"{", b"[]", b"\xff\x00"):
                self.setUp()
                (self.out / name).write_bytes(damage)
                self.assertFalse(self.is_current(), (name, damage))


class Folders(unittest.TestCase):
    def test_other_rows_than_usual_are_in_the_name(self):
        def folder(*words):
            with mock.patch.object(sys, "argv", ["reproduce_dct_dp", *words]):
                return reproduce_dct_dp.folder(reproduce_dct_dp.parse_flags(), 1, "sgd", "none", 3)

        self.assertEqual(folder(), "build/dct_dp/sgd-1x-none-3")
        self.assertEqual(folder("--rows=2000000", "--test_rows=500000"), folder())
        self.assertEqual(folder("--rows=500000"), "build/dct_dp/sgd-1x-none-3-500000")
        self.assertEqual(folder("--rows=500000", "--test_rows=900"), "build/dct_dp/sgd-1x-none-3-500000-test900")
        self.assertNotEqual(folder("--test_rows=900"), folder("--rows=900"))


class Commits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def test_are_those_that_summaries_tell(self):
        for name, summary in (("a", '{"commit": "abc"}'), ("b", '{"commit": "0de, changed"}'), ("c", "{}"),
                              ("d", '{"commit": 3}'), ("e", "[]"), ("f", '{"commit": "abc"}')):
            (self.folder / name).mkdir()
            (self.folder / name / "summary.json").write_text(summary)
        (self.folder / "a" / "commit").write_text("of an earlier tool")
        folders = {name: str(self.folder / name) for name in "abcdef"}
        self.assertEqual(paired_runs.commits([folders["a"], folders["f"]]), "abc")
        self.assertEqual(paired_runs.commits([folders["a"], folders["b"]]), "0de, changed; abc")
        for name in ("c", "d", "e", "none"):
            self.assertEqual(paired_runs.commits([str(self.folder / name)]), "unknown")

    def test_the_tables_tell_the_command_and_the_commits_of_the_programs(self):
        write_programs(self.folder / "bin")
        out = self.folder / "out"
        for commit in (COMMIT, "unknown"):
            done = subprocess.run([SCRIPT, "--rules=sgd", "--policies=dct_99", "--trainers=1", "--seeds=1",
                                   "--bin=%s" % (self.folder / "bin"), "--out=%s" % out,
                                   "--record=%s" % (self.folder / "record.json")], cwd=ROOT,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            command = "tools/measure/reproduce_dct_dp --rules=sgd --policies=dct_99 --trainers=1 --seeds=1"
            told = json.loads((out / "table.json").read_text())
            self.assertEqual((told["command"], told["commits"]), (command, commit))
            self.assertEqual([row["policy"] for row in told["rows"]], ["none", "dct_99"])
            self.assertIn("`%s`, programs of %s\n\n| update " % (command, commit), (out / "table.md").read_text())
            record = result_records.load(str(self.folder / "record.json"))
            self.assertEqual((record["command"], record["commit"]), (command, commit))
            self.assertEqual([row[2] for row in record["tables"]["pairs"]["rows"]], ["none", "dct_99"])
            self.assertFalse(list(out.glob("**/commit")))
            write_programs(self.folder / "bin", summary={key: SUMMARY[key] for key in SUMMARY if key != "commit"})


class EndToEnd(unittest.TestCase):
    def run_script(self, out, *flags):
        return subprocess.run(
            [SCRIPT, "--rules=sgd", "--rows=2000", "--test_rows=500", "--bin=" + BIN, "--out=" + out,
             *flags], capture_output=True, text=True, timeout=250, check=False)

    def logloss(self, out, policy, seed):
        return json.loads(self.summary(out, policy, seed).read_text())["test"]["logloss"]

    def summary(self, out, policy, seed):
        return Path(out) / ("sgd-1x-%s-%d-2000-test500" % (policy, seed)) / "summary.json"

    def test_a_setting_counts_once(self):
        for flag in ("--rules=sgd,sgd", "--trainers=1,1"):
            with tempfile.TemporaryDirectory() as out:
                result = self.run_script(out, flag)
                self.assertEqual(result.returncode, 2)
                self.assertIn("each once", result.stderr)

    def test_what_cannot_be_run_is_told_at_once(self):
        with tempfile.TemporaryDirectory() as out:
            for flags, exit_code, text in (
                    (["--bin=/nonexistent"], 1, "there is no /nonexistent/weir-local"),
                    (["--out=/proc/x"], 1, "error: --out: "),
                    (["--trainers=a"], 2, "numbers, with commas between them"),
                    (["--test_rows=1"], 2, "--test_rows: at least 100")):
                result = self.run_script(out, *flags)
                self.assertEqual(result.returncode, exit_code, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_a_tiny_set(self):
        with tempfile.TemporaryDirectory() as out:
            one = self.run_script(out, "--seeds=2")
            self.assertIn(one.returncode, (0, 1), one.stdout + one.stderr)
            rows = json.loads((Path(out) / "table.json").read_text())["rows"]
            self.assertEqual([(row["trainers"], row["policy"]) for row in rows],
                             [(trainers, policy) for trainers in (1, 4)
                              for policy in ("none", "dct_75", "dct_90", "dct_95", "dct_98", "dct_99",
                                             "dct_99.5")])
            self.assertEqual(rows[0]["push_times_fewer"] // 1, 0)  # everything, and headers
            self.assertLess(rows[5]["density"], 0.1)
            met = [row["met"] for row in rows if "met" in row]
            self.assertEqual(len(met), 5)  # with one trainer, of the sparsities that have a bound
            self.assertEqual(one.returncode, 0 if all(met) else 1)
            dense = [self.logloss(out, "none", seed) for seed in (1, 2)]
            self.assertNotEqual(*dense)
            for i, seed in enumerate((1, 2)):
                self.assertAlmostEqual(rows[5]["differences"][i],
                                       self.logloss(out, "dct_99", seed) / dense[i] - 1)
            self.assertIn((Path(out) / "table.md").read_text().split("\n\n")[1], one.stdout)

            # Runs that are there are used again, and one that is made again comes out the same.
            stamp = self.summary(out, "none", 1).stat().st_mtime_ns
            self.summary(out, "dct_99", 1).unlink()
            again = self.run_script(out, "--seeds=2", "--trainers=1", "--reuse")
            self.assertEqual(again.returncode, one.returncode, again.stdout + again.stderr)
            self.assertEqual(self.summary(out, "none", 1).stat().st_mtime_ns, stamp)
            repeated = json.loads((Path(out) / "table.json").read_text())["rows"]
            self.assertEqual(repeated[5]["differences"], rows[5]["differences"])


if __name__ == "__main__":
    BIN = sys.argv.pop(1) if len(sys.argv) > 1 else BIN
    unittest.main()
