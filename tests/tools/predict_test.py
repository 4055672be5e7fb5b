#!/usr/bin/env python3
"""From a CSV file to predictions, as a user would go: train and save, predict, export, go on.

  predict_test.py BIN      BIN: the folder of the programs

The probabilities of weir-predict, those of the evaluation at the end of the run, and those of the
exported parameters, computed here in plain Python (and in PyTorch where that is installed), must be
the same."""

import csv
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
AGREEMENT = 1e-5

CONFIG = """
model { bottom_widths: [8, 4] top_widths: [6, 1] embedding_dimension: 4 interaction: %s }
data {
  train: "%s" test: "%s" batch_size: 16 epochs: 2 max_malformed_share: 0.05
  csv {
    label { column: "paid" positive: "yes" negative: "no" }
    dense { column: "age" standardise {} }
    dense { column: "visits" log1p {} }
    categorical { column: "town" rows: 50 }
    categorical { column: "tags" rows: 40 separator: "|" }
  }
}
update { dense { adam { learning_rate: 0.01 } } rows { adam { learning_rate: 0.01 } } }
cluster { window: 1 }
"""


def write_rows(path, count, seed, labelled=True):
    generator = random.Random(seed)
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f)
        writer.writerow((["paid"] if labelled else []) + ["age", "visits", "town", "tags"])
        for _ in range(count):
            age, visits = generator.randint(18, 80), generator.randint(0, 300)
            town = generator.choice(["Ulm", "Bonn", "Kiel", "new, or old", ""])
            tags = "|".join(generator.sample(["a", "b", "c", "d"], generator.randint(0, 3)))
            paid = "yes" if generator.random() < (0.8 if town == "Ulm" or "a" in tags else 0.2) else "no"
            writer.writerow(([paid] if labelled else []) + [age, visits, town, tags])


def run(*arguments, status=0):
    result = subprocess.run([os.path.join(BIN, arguments[0])] + list(arguments[1:]),
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == status, "%s: exit %d\n%s%s" % (
        " ".join(arguments), result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


def read_predictions(path):
    with open(path, encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    return [float(row["probability"]) for row in rows], [int(row["line"]) for row in rows]


def read_safetensors(path):
    with open(path, "rb") as f:
        length, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["shape"], struct.unpack("<%df" % ((end - begin) // 4), data[begin:end]))
    return tensors


class Workflow(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.train, self.test = self.path("train.csv"), self.path("test.csv")
        write_rows(self.train, 2000, 1)
        write_rows(self.test, 300, 2)
        self.config = self.path("config.textproto")
        self.write_config("DOT")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write_config(self, interaction):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(CONFIG % (interaction, self.train, self.test))

    def train_model(self, servers=1, *more):
        run("weir-local", "--config=" + self.config, "--servers=%d" % servers, "--trainers=1",
            "--out=" + self.path("out"), "--save=" + self.path("model"), *more)
        with open(self.path("out/summary.json"), encoding="utf-8") as f:
            return json.load(f)

    def predict(self, rows):
        run("weir-predict", "--model=" + self.path("model"), "--in=" + rows,
            "--out=" + self.path("predictions.csv"))
        return read_predictions(self.path("predictions.csv"))

    def test_predictions_are_those_of_the_evaluation(self):
        for servers in (0, 1, 3):
            with self.subTest(servers=servers):
                summary = self.train_model(servers)
                probabilities, lines = self.predict(self.test)
                self.assertEqual(lines, list(range(2, 302)))
                with open(self.test, encoding="utf-8") as f:
                    labels = [row["paid"] == "yes" for row in csv.DictReader(f)]
                logloss = -sum(math.log(p if label else 1 - p)
                               for p, label in zip(probabilities, labels)) / len(labels)
                self.assertAlmostEqual(logloss, summary["test"]["logloss"], delta=AGREEMENT)
                self.assertLess(logloss, 0.6, "it has learned something")

    def test_rows_without_labels_have_the_same_probabilities(self):
        self.train_model()
        labelled, _ = self.predict(self.test)
        write_rows(self.path("new.csv"), 300, 2, labelled=False)
        self.assertEqual(self.predict(self.path("new.csv"))[0], labelled)

    def test_the_export_gives_the_same_probabilities(self):
        for interaction in ("DOT", "DOT_WITH_SELF", "CAT"):
            with self.subTest(interaction=interaction):
                self.write_config(interaction)
                self.train_model()
                probabilities, _ = self.predict(self.test)
                run("weir-predict", "--model=" + self.path("model"),
                    "--export=" + self.path("model.safetensors"))
                tensors = read_safetensors(self.path("model.safetensors"))
                self.assertEqual(tensors["emb_l.0.weight"][0], [50, 4])
                self.assertEqual(tensors["bot_l.2.weight"][0], [4, 8])
                self.assertEqual(tensors["top_l.2.bias"][0], [1])
                self.assertGreater(len(set(probabilities)), 100)

    def test_going_on_keeps_what_was_learned(self):
        first = self.train_model()
        again = self.path("again")
        run("weir-local", "--config=" + self.config, "--servers=2", "--trainers=1",
            "--out=" + again, "--warm_start=" + self.path("model"),
            "--override=update { dense { adam { learning_rate: 1e-9 } } "
            "rows { adam { learning_rate: 1e-9 } } }")
        with open(os.path.join(again, "summary.json"), encoding="utf-8") as f:
            second = json.load(f)
        self.assertAlmostEqual(first["test"]["logloss"], second["test"]["logloss"], delta=1e-4)

    def test_a_model_is_refused_when_it_is_incomplete_or_another(self):
        self.train_model()
        parameters = self.path("model/parameters.weir")
        with open(parameters, "r+b") as f:
            f.truncate(os.path.getsize(parameters) - 1)
        predict = ("weir-predict", "--model=" + self.path("model"), "--in=" + self.test,
                   "--out=" + self.path("p.csv"))
        self.assertIn("the model is incomplete", run(*predict, status=1))
        self.train_model()
        with open(parameters, "r+b") as f:
            f.seek(200)
            byte = f.read(1)[0]
            f.seek(200)
            f.write(bytes([byte ^ 1]))
        self.assertIn("parameters.weir: ", run(*predict, status=1))
        self.train_model()
        message = run("weir-local", "--config=" + self.config, "--servers=1", "--trainers=1",
                      "--out=" + self.path("other"), "--warm_start=" + self.path("model"),
                      "--override=model { top_widths: [7, 1] }", status=1)
        self.assertIn("top/0/weight of 6 x", message)

    def test_a_file_of_another_schema_is_refused(self):
        self.train_model()
        with open(self.path("other.csv"), "w", encoding="utf-8") as f:
            f.write("age,visits,town\n1,2,Ulm\n")
        message = run("weir-predict", "--model=" + self.path("model"),
                      "--in=" + self.path("other.csv"), "--out=" + self.path("p.csv"), status=1)
        self.assertIn("names column 'tags', which the file does not have", message)
        self.assertFalse(os.path.exists(self.path("p.csv")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
