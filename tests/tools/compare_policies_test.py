#!/usr/bin/env python3
"""tools/measure/compare_policies on a small synthetic set: every policy runs to the end and has its row.

  compare_policies_test.py BIN      BIN: the folder of the programs; from the repository's folder"""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = ["tools", "tools/measure"]
from scripting import result_records  # noqa: E402

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
TOOL = "tools/measure/compare_policies"
SMALL = "data { synthetic { rows: 12000 test_rows: 1000 } }"


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, "--bin=" + BIN, *arguments], capture_output=True,
                          text=True, timeout=250)


def tables(out):
    """What it wrote: {heading: {policy: cell}} of what was learned, of what was sent, and of layers if it has them."""
    with open(os.path.join(out, "table.md"), encoding="utf-8") as f:
        texts = f.read().split("\n\n")
    found = []
    for text in texts:
        headings, _, *lines = [line.strip("| ").split(" | ") for line in text.splitlines()]
        found.append({heading: {line[0]: line[i] for line in lines} for i, heading in enumerate(headings)})
    return found


class ComparePolicies(unittest.TestCase):
    def test_every_policy_has_a_row_and_pictures(self):
        names = [name[:-len(".textproto")] for name in os.listdir("configs/policies")]
        with tempfile.TemporaryDirectory() as out:
            done = run("--config=configs/runs/quickstart.textproto", "--override=" + SMALL, "--seeds=2",
                       "--out=" + out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            learned, sent = tables(out)
            for table in (learned, sent):
                self.assertEqual(sorted(table["policy"]), sorted(names))
                self.assertEqual(next(iter(table["policy"])), "none")
            self.assertEqual(float(sent["density"]["none"]), 1)
            self.assertLess(float(sent["density"]["top_k"]), 0.02)
            for heading, cells in {**learned, **sent}.items():
                for policy in set(names) - {"none"}:  # which is what others exceed
                    if heading != "policy":
                        self.assertRegex(cells[policy], r"^[-+0-9.]+( \+- [0-9.]+)?$", heading)
            for heading in ("test logloss", "excess over none, %", "excess over the best possible, %", "test AUC",
                            "difference to none", "all bytes, times fewer", "select and code, ms/step", "samples/s"):
                self.assertIn(heading, learned)
            for heading in ("density", "push, kB/step", "pull, kB/step", "rows up, kB/step", "rows down, kB/step"):
                self.assertIn(heading, sent)
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
            learned, sent = tables(out)
            self.assertEqual(list(sent["policy"]), ["none", "tenth"])
            self.assertAlmostEqual(float(sent["density"]["tenth"]), 0.1, delta=0.01)
            self.assertAlmostEqual(float(sent["elements by elements sent"]["tenth"]), 10, delta=1)
            self.assertNotIn("upper 95 % limit, %", learned)
            self.assertFalse([cell for cells in learned.values() for cell in cells.values() if "+-" in cell],
                             "one seed has no deviation")
        for rule in ("half", "none=top_k {}", "a/b=top_k {}", "=top_k {}", "half="):
            done = run("--rule=" + rule)
            self.assertEqual(done.returncode, 2, rule)
            self.assertIn("is no new name", done.stderr)

    def test_what_sends_everything_may_learn_as_is_best_for_it(self):
        none = ["update { dense { sgd { learning_rate: %s } } }" % rate for rate in ("1e-9", "0.05", "1e-8")]
        with tempfile.TemporaryDirectory() as out:
            path = os.path.join(out, "small.json")
            arguments = ["--config=configs/runs/quickstart.textproto", "--seeds=1", "--trainers=2",
                         "--override=update { dense { sgd { learning_rate: 1e-9 } } } " + SMALL,
                         "--rule=tenth=top_k { sparsity: 0.9 }", "--out=" + os.path.join(out, "runs"), "--record=" + path]
            done = run(*arguments, *("--none=%s %s" % (text, SMALL) for text in none))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            learned, _, tried = tables(os.path.join(out, "runs"))
            self.assertEqual([text.replace(" " + SMALL, "") for text in tried["laid over"]], none)
            losses = list(map(float, tried["test logloss"].values()))
            self.assertEqual(min(losses), losses[1])
            self.assertEqual(list(tried["the best"].values()), ["no", "yes", "no"])
            self.assertEqual(float(learned["test logloss"]["none"]), losses[1])
            self.assertGreater(float(learned["excess over none, %"]["tenth"]), 0)
            record = result_records.load(path)
            self.assertEqual(list(record["tables"]), ["learning", "traffic", "none"])
            self.assertIn(" --trainers=2 ", record["command"])
            self.assertEqual(record["command"].count("--none="), 3)
        self.assertIn("--seeds, --trainers: at least 1", run("--trainers=0").stderr)

    def test_the_largest_layers_have_bits_an_element(self):
        with tempfile.TemporaryDirectory() as out:
            done = run("--config=configs/runs/quickstart.textproto", "--seeds=2", "--override=" + SMALL, "--layers=2",
                       "--rule=half=top_k { sparsity: 0.5 } values: BF16", "--out=" + out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            layers = tables(out)[2]
            self.assertEqual(list(layers), ["policy", "top/0/weight", "bottom/1/weight"])
            for cells in (layers["top/0/weight"], layers["bottom/1/weight"]):
                self.assertRegex(cells["none"], r"^32\.\d \(0\.0\)$")
                # Where they do not cluster an index of one in two takes two bits, a little more where the layer
                # has zeros, which are never sent; 16 are the value's.
                self.assertRegex(cells["half"], r"^1[78]\.\d \(2\.[01]\)$")
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

    def test_a_record_has_what_the_tables_say_and_its_pictures(self):
        with tempfile.TemporaryDirectory() as out:
            path = os.path.join(out, "small.json")
            arguments = ("--config=configs/runs/quickstart.textproto", "--override=" + SMALL, "--seeds=1",
                         "--policies=dct_99", "--out=" + os.path.join(out, "runs"), "--record=" + path)
            done = run(*arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            record = result_records.load(path)
            self.assertRegex(record["command"], r"^tools/measure/compare_policies --policies=dct_99 "
                                                r"--config=configs/runs/quickstart.textproto '--override=data .*' --seeds=1$")
            self.assertNotEqual(record["commit"], "unknown")
            self.assertEqual(list(record["tables"]), ["learning", "traffic"])
            for told, content in zip(tables(os.path.join(out, "runs")), record["tables"].values()):
                self.assertEqual([list(cells.values()) for cells in told.values()],
                                 [[row[i] for row in content["rows"]] for i in range(len(content["columns"]))])
            self.assertEqual(record["pictures"], {name: "small-%s.svg" % name for name in ("loss", "density", "threshold")})
            done = run(*arguments, "--reuse", "--pictures=loss")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(result_records.load(path)["pictures"], {"loss": "small-loss.svg"})
            self.assertEqual([name for name in os.listdir(out) if name.endswith(".svg")], ["small-loss.svg"])
            self.assertIn("there are loss, ", run(*arguments, "--pictures=losses").stderr)

    def test_a_record_that_cannot_be_written_is_told_at_once(self):
        done = run("--record=/absent/a.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/absent/a.json: a file NAME.json in a folder that is there", done.stderr)

    def test_pictures_are_those_of_a_record(self):
        done = run("--pictures=loss")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give --record as well", done.stderr)

    def test_a_policy_that_is_not_there_is_named(self):
        done = run("--policies=none,best")
        self.assertEqual(done.returncode, 2)
        self.assertIn("configs/policies has no 'best'; there are none, ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
