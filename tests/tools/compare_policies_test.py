#!/usr/bin/env python3
"""tools/compare_policies on a small synthetic set: every policy runs to the end and has its row.

  compare_policies_test.py BIN      BIN: the folder of the programs; from the repository's folder"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tools")
BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
TOOL = "tools/compare_policies"
SMALL = "data { synthetic { rows: 12000 test_rows: 1000 } }"


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, "--bin=" + BIN, *arguments], capture_output=True,
                          text=True, timeout=250)


class ComparePolicies(unittest.TestCase):
    def test_every_policy_has_a_row_and_pictures(self):
        names = [name[:-len(".textproto")] for name in os.listdir("configs/policies")]
        with tempfile.TemporaryDirectory() as out:
            done = run("--config=configs/runs/quickstart.textproto", "--override=" + SMALL, "--seeds=2",
                       "--out=" + out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(out, "table.md"), encoding="utf-8") as f:
                rows = [line.split(" | ") for line in f.read().splitlines()]
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
            self.assertEqual(rows[2][0], "| none")
            self.assertEqual(sorted(row[0][2:] for row in rows[2:]), sorted(names))
            sent = {row[0][2:]: float(row[rows[0].index("density")]) for row in rows[2:]}
            self.assertEqual(sent["none"], 1)
            self.assertLess(sent["top_k"], 0.02)
            for heading in ("test logloss", "excess over none, %", "excess over the best possible, %", "test AUC", "difference to none",
                            "density", "push, kB/step", "pull, kB/step", "rows up, kB/step", "rows down, kB/step",
                            "select and code, ms/step", "samples/s"):
                at = [cell.strip("| ") for cell in rows[0]].index(heading)
                for row in rows[3:]:  # behind none, which is what others exceed
                    self.assertRegex(row[at], r"^[-+0-9.]+( \+- [0-9.]+)?( \|)?$", heading)
            for name in ("index.html", "loss.svg", "density.svg", "threshold.svg"):
                self.assertTrue(os.path.getsize(os.path.join(out, name)) > 0)

    def test_a_rule_with_a_name_is_a_policy(self):
        with tempfile.TemporaryDirectory() as out:
            done = run("--config=configs/runs/quickstart.textproto", "--seeds=1",
                       "--override=" + SMALL + " run { evaluate_every_samples: 640 }",
                       "--rule=tenth=top_k { sparsity: 0.9 }", "--out=" + out)
            with open(os.path.join(out, "tenth-1", "config.textproto"), encoding="utf-8") as f:
                self.assertRegex(f.read(), r"run \{[^}]*evaluate_every_samples: 640\b")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(out, "table.md"), encoding="utf-8") as f:
                rows = [line.split(" | ") for line in f.read().splitlines()]
            self.assertEqual([row[0] for row in rows[2:]], ["| none", "| tenth"])
            self.assertAlmostEqual(float(rows[3][rows[0].index("density")]), 0.1, delta=0.01)
            self.assertAlmostEqual(float(rows[3][rows[0].index("elements by elements sent")]), 10, delta=1)
            self.assertNotIn("upper 95 % limit, %", rows[0])
            self.assertFalse([cell for row in rows for cell in row if "+-" in cell], "one seed has no deviation")
        for rule in ("half", "none=top_k {}", "a/b=top_k {}", "=top_k {}", "half="):
            done = run("--rule=" + rule)
            self.assertEqual(done.returncode, 2, rule)
            self.assertIn("is no new name", done.stderr)

    def test_the_largest_layers_have_bits_an_element(self):
        with tempfile.TemporaryDirectory() as out:
            done = run("--config=configs/runs/quickstart.textproto", "--seeds=2", "--override=" + SMALL, "--layers=2",
                       "--rule=half=top_k { sparsity: 0.5 } values: BF16", "--out=" + out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(out, "table.md"), encoding="utf-8") as f:
                table = f.read().split("\n\n")[1].splitlines()
            self.assertEqual(table[0], "| policy | top/0/weight | bottom/1/weight |")
            self.assertRegex(table[2], r"^\| none \| 32\.\d \(0\.0\) \| 32\.\d \(0\.0\) \|$")
            # Where they do not cluster an index of one in two takes two bits; 16 are the value's.
            self.assertRegex(table[3], r"^\| half \| 1[78]\.\d \(2\.0\) \| 1[78]\.\d \(2\.0\) \|$")
        self.assertIn("--layers: 0 or more", run("--layers=-1").stderr)

    def test_indexes_are_bound_by_the_density_of_their_time(self):
        import compare_policies_tables as tool
        stretches = [(100, {"a": 0.25, "b": 0.5}), (300, {"a": 0.01, "b": 0.5}), (50, {"b": 0})]
        at_times = (100 * tool.entropy(0.25) + 300 * tool.entropy(0.01)) / (100 * 0.25 + 300 * 0.01)
        self.assertAlmostEqual(tool.random_position_bits(stretches, "a"), at_times)
        mean = (100 * 0.25 + 300 * 0.01) / 400
        self.assertLess(at_times, 0.95 * tool.entropy(mean) / mean)
        self.assertAlmostEqual(tool.random_position_bits(stretches, "b"), 2)
        self.assertEqual(tool.random_position_bits(stretches, "c"), 0)

    def test_a_page_gets_its_place_filled(self):
        with tempfile.TemporaryDirectory() as out:
            page = os.path.join(out, "page.md")
            with open(page, "w", encoding="utf-8") as f:
                f.write("above\n<!-- compare_policies small -->\nold\n<!-- end of small -->\nbelow\n")
            arguments = ("--config=configs/runs/quickstart.textproto", "--override=" + SMALL, "--seeds=1",
                         "--policies=dct_99", "--out=" + os.path.join(out, "runs"), "--page=" + page)
            done = run(*arguments, "--block=other")
            self.assertEqual(done.returncode, 2)
            self.assertIn("has no place 'other'", done.stderr)
            self.assertEqual(run(*arguments).returncode, 2)
            done = run(*arguments, "--block=small")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(page, encoding="utf-8") as f:
                text = f.read()
            self.assertRegex(text, r"^above\n<!-- compare_policies small -->\n\n```\ntools/compare_policies "
                                   r"--policies=dct_99 --config=configs/runs/quickstart.textproto '--override=data [^\n]*' "
                                   r"--seeds=1\n```\n\nAt [^\n]+, on \d+ cores, ")
            self.assertTrue(text.endswith("<!-- end of small -->\nbelow\n"))
            self.assertNotIn("\nold\n", text)
            for name in ("loss", "density", "threshold"):
                self.assertIn("![%s](page_small_%s.svg)" % (name, name), text)
                self.assertTrue(os.path.getsize(os.path.join(out, "page_small_%s.svg" % name)) > 0)
            done = run(*arguments, "--block=small", "--reuse", "--pictures=loss")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(page, encoding="utf-8") as f:
                self.assertEqual(re.findall(r"!\[(\w+)\]", f.read()), ["loss"])
            self.assertEqual([name for name in os.listdir(out) if name.endswith(".svg")], ["page_small_loss.svg"])
            self.assertIn("there are loss, ", run(*arguments, "--block=small", "--pictures=losses").stderr)

    def test_pictures_are_those_of_a_page(self):
        done = run("--pictures=loss")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give --page and --block as well", done.stderr)

    def test_a_policy_that_is_not_there_is_named(self):
        done = run("--policies=none,best")
        self.assertEqual(done.returncode, 2)
        self.assertIn("configs/policies has no 'best'; there are none, ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
