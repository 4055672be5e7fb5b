#!/usr/bin/env python3
"""From a CSV file to predictions, as a user would go: train and save, predict, export, go on.

  predict_test.py BIN      BIN: the folder of the programs

The probabilities of weir-predict, those of the evaluation at the end of the run, and those of the
exported parameters, computed here in plain Python and, where it is installed, by PyTorch with the
layers and names of facebookresearch/dlrm, must be the same."""

import csv
import gzip
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import torch
except ImportError:
    torch = None

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
    categorical { column: "town" rows: 50 integer {} }
    categorical { column: "tags" rows: 40 integer {} separator: "|" }
    categorical { column: "word" rows: 64 }
  }
}
update { dense { adam { learning_rate: 0.01 } } rows { adam { learning_rate: 0.01 } } }
cluster { window: 1 }
"""


# Without a warm-up, which would be longer in a longer run.
ADAGRAD = "adagrad { learning_rate: 0.05 } schedule { warmup_steps: 0 }"

# Rows that a standardised column learns from: batch_size times the default of chunk_batches.
LEARNED_ROWS = 16 * 32


def write_rows(path, count, seed, labelled=True):
    generator = random.Random(seed)
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f)
        writer.writerow((["paid"] if labelled else []) + ["age", "visits", "town", "tags", "word"])
        for _ in range(count):
            age, visits = generator.randint(18, 80), generator.randint(0, 300)
            town = generator.choice([7, 100, -3, 48, ""])
            tags = generator.sample([1, 2, 3, 4000], generator.randint(0, 3))
            word = generator.choice(["", "one, two", '"quoted"', "zwölf"])
            paid = generator.random() < (0.8 if town == 7 or 1 in tags else 0.2)
            writer.writerow((["yes" if paid else "no"] if labelled else []) +
                            [age, visits, town, "|".join(map(str, tags)), word])


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def integer_id(text, rows):
    """Of an integer encoding: 0 is for missing values; the value counts as 64 bits without a sign."""
    return 1 + (int(text) & (1 << 64) - 1) % (rows - 1)


def model_input(row, mean, deviation):
    """Dense features, and for each table the ids to sum; None: of the hashed column, unknown here."""
    dense = [(int(row["age"]) - mean) / deviation, math.log1p(int(row["visits"]))]
    town = [integer_id(row["town"], 50) if row["town"] else 0]
    tags = [integer_id(tag, 40) for tag in row["tags"].split("|") if tag]
    return dense, [town, tags, None if row["word"] else [0]]


def model_inputs(train, rows):
    ages = [int(row["age"]) for row in train[:LEARNED_ROWS]]
    mean = sum(ages) / len(ages)
    deviation = math.sqrt(sum((age - mean) ** 2 for age in ages) / len(ages))
    return [model_input(row, mean, deviation) for row in rows]


def interact(vectors, interaction):
    """As interact_features of facebookresearch/dlrm."""
    if interaction == "CAT":
        return [x for vector in vectors for x in vector]
    offset = 1 if interaction == "DOT_WITH_SELF" else 0
    dots = [sum(a * b for a, b in zip(vectors[i], vectors[j]))
            for i in range(len(vectors)) for j in range(i + offset)]
    return vectors[0] + dots


def run_mlp(tensors, name, x, last_is_linear):
    layers = sorted(int(key.split(".")[1]) for key in tensors if re.fullmatch(name + r"\.\d+\.bias", key))
    for layer in layers:
        (_, width), weights = tensors["%s.%d.weight" % (name, layer)]
        biases = tensors["%s.%d.bias" % (name, layer)][1]
        x = [bias + sum(w * v for w, v in zip(weights[i * width:(i + 1) * width], x))
             for i, bias in enumerate(biases)]
        if layer != layers[-1] or not last_is_linear:
            x = [max(0.0, v) for v in x]
    return x


def predict_in_python(tensors, dense, tables, interaction):
    vectors = [run_mlp(tensors, "bot_l", dense, False)]
    for number, ids in enumerate(tables):
        (_, width), weights = tensors["emb_l.%d.weight" % number]
        vectors.append([sum(weights[i * width + k] for i in ids) for k in range(width)])
    logit, = run_mlp(tensors, "top_l", interact(vectors, interaction), True)
    return 1 / (1 + math.exp(-logit))


def predict_in_torch(tensors, inputs, interaction):
    """With the layers of facebookresearch/dlrm, loaded by its names."""
    def sequence(name, last):
        layers = sorted(int(key.split(".")[1]) for key in tensors
                        if re.fullmatch(name + r"\.\d+\.bias", key))
        modules = []
        for layer in layers:
            rows, columns = tensors["%s.%d.weight" % (name, layer)][0]
            modules += [torch.nn.Linear(columns, rows),
                        last if layer == layers[-1] else torch.nn.ReLU()]
        return torch.nn.Sequential(*modules)

    model = torch.nn.Module()
    shapes = [tensors["emb_l.%d.weight" % i][0] for i in range(3)]
    model.emb_l = torch.nn.ModuleList(torch.nn.EmbeddingBag(*shape, mode="sum") for shape in shapes)
    model.bot_l, model.top_l = sequence("bot_l", torch.nn.ReLU()), sequence("top_l", torch.nn.Sigmoid())
    model.load_state_dict({name: torch.tensor(values).reshape(shape)
                           for name, (shape, values) in tensors.items()})
    probabilities = []
    for dense, tables in inputs:
        x = model.bot_l(torch.tensor([dense]))
        rows = [table(torch.tensor(ids, dtype=torch.long), torch.tensor([0]))
                for table, ids in zip(model.emb_l, tables)]
        if interaction == "CAT":
            z = torch.cat([x] + rows, dim=1)
        else:
            t = torch.cat([x] + rows, dim=1).view(1, -1, x.shape[1])
            products = torch.bmm(t, t.transpose(1, 2))
            offset = 1 if interaction == "DOT_WITH_SELF" else 0
            pairs = [(i, j) for i in range(t.shape[1]) for j in range(i + offset)]
            z = torch.cat([x, products[:, [i for i, _ in pairs], [j for _, j in pairs]]], dim=1)
        probabilities.append(model.top_l(z).item())
    return probabilities


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
                labels = [row["paid"] == "yes" for row in read_rows(self.test)]
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
                inputs = model_inputs(read_rows(self.train), read_rows(self.test))
                known = [i for i, (_, tables) in enumerate(inputs) if None not in tables]
                self.assertGreater(len(known), 50)
                self.agree([predict_in_python(tensors, *inputs[i], interaction) for i in known],
                           [probabilities[i] for i in known])
                if torch:
                    self.agree(predict_in_torch(tensors, [inputs[i] for i in known], interaction),
                               [probabilities[i] for i in known])

    def agree(self, ours, theirs):
        self.assertLess(max(abs(a - b) for a, b in zip(ours, theirs)), AGREEMENT)
        self.assertGreater(max(theirs) - min(theirs), 0.3, "it has learned something")

    def test_nothing_is_written_over_what_is_read(self):
        self.train_model()
        rows = self.path("rows.csv")
        shutil.copy(self.test, rows)
        os.link(rows, self.path("same.csv"))
        model, out = "--model=" + self.path("model"), "--out=" + self.path("p.csv")
        for flags, text in ((["--in=" + rows, out, "--export=" + rows], "is the file of --in"),
                            (["--in=" + rows, "--out=" + self.path("same.csv")], "is the file of --in"),
                            (["--in=" + rows, out, "--export=" + self.path("./p.csv")],
                             "is the file of --out")):
            self.assertIn(text, run("weir-predict", model, *flags, status=2))
        with open(rows, "rb") as left, open(self.test, "rb") as before:
            self.assertEqual(left.read(), before.read())

    def test_going_on_keeps_what_was_learned(self):
        first = self.train_model()
        again = self.path("again")
        run("weir-local", "--config=" + self.config, "--servers=2", "--trainers=1",
            "--out=" + again, "--warm_start=" + self.path("model"),
            "--override=update { dense { adam { learning_rate: 1e-9 } } "
            "rows { adam { learning_rate: 1e-9 } } }")
        with open(os.path.join(again, "summary.json"), encoding="utf-8") as f:
            second = json.load(f)
        # Not the same: under another rule, what momentum still owed is done at once.
        self.assertAlmostEqual(first["test"]["logloss"], second["test"]["logloss"], delta=5e-3)

    def go_on(self, servers, update):
        """Test logloss and the saved model's rule_starts."""
        out, model = self.path("on"), self.path("on.model")
        run("weir-local", "--config=" + self.config, "--servers=%d" % servers, "--trainers=1",
            "--out=" + out, "--save=" + model, "--warm_start=" + self.path("model"),
            "--override=update { %s }" % update)
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
            logloss = json.load(f)["test"]["logloss"]
        with open(os.path.join(model, "manifest.textproto"), encoding="utf-8") as f:
            return logloss, re.search(r"rule_starts \{([^}]*)\}", f.read()).group(1)

    def test_a_rule_of_another_kind_begins_with_the_run_that_goes_on(self):
        """Its schedule ends after as many steps as the model has behind it: counted on, it would be over."""
        still = "adam { learning_rate: 1e-9 }"
        parts = {"dense": "dense { %%s } rows { %s }" % still, "rows": "dense { %s } rows { %%s }" % still}
        for servers in (0, 2):
            steps = self.train_model(servers)["train"]["steps"]
            rule = "sgd { learning_rate: 1 } schedule { polynomial { end: 0 steps: %d } }" % steps
            for part, update in parts.items():
                with self.subTest(servers=servers, part=part):
                    learned, starts = self.go_on(servers, update % rule)
                    unchanged, _ = self.go_on(servers, update % "sgd { learning_rate: 1e-9 }")
                    self.assertGreater(abs(learned - unchanged), 1e-4)
                    self.assertIn("%s: %d" % (part, steps), starts)

    def test_going_on_is_the_same_as_not_having_stopped(self):
        def epochs(count):
            return "--override=data { epochs: %d }" % count

        for servers in (0, 1):
            with self.subTest(servers=servers):
                self.train_model(servers, epochs(2))
                at_once, _ = self.predict(self.test)
                self.train_model(servers, epochs(1))
                os.rename(self.path("model"), self.path("half%d" % servers))
                self.train_model(servers, epochs(1), "--warm_start=" + self.path("half%d" % servers))
                self.assertEqual(self.predict(self.test)[0], at_once)

    def config_files(self, rules, *more):
        """The config with rules of compression over it, and update rules that do nothing to rows at rest:
        Adam's momentum moves them, and many steps at once round in another way than one by one."""
        compressed = self.path("compressed.textproto")
        with open(compressed, "w", encoding="utf-8") as f:
            f.write("compression { %s } update { dense { %s } rows { %s } }\n" % (rules, ADAGRAD, ADAGRAD))
            f.write("\n".join(more))
        return "--config=%s,%s" % (self.config, compressed)

    def run_model(self, name, config, *flags):
        """A run of one trainer that saves a model; what weir-local said."""
        return run("weir-local", config, "--trainers=1", "--out=" + self.path("out"),
                   "--save=" + self.path(name), *flags)

    def predictions_of(self, name):
        run("weir-predict", "--model=" + self.path(name), "--in=" + self.test,
            "--out=" + self.path("predictions.csv"))
        return read_predictions(self.path("predictions.csv"))[0]

    def test_what_was_not_sent_is_sent_by_the_run_that_goes_on(self):
        rows = 'layer { match: "table/*" lazy_rows { threshold: 0.05 max_age: 9 } values: BF16 }'
        for policy in ("dct { sparsity: 0.9 lifespan: 20 }", "top_k { sparsity: 0.95 }",
                       "random_k { sparsity: 0.9 }", "sidco { sparsity: 0.95 }",
                       "variance { alpha: 1 }", "qsgd {}"):
            config = self.config_files("default { %s } %s" % (policy, rows))
            once, twice = "--override=data { epochs: 1 }", "--override=data { epochs: 2 }"
            with self.subTest(policy=policy):
                self.run_model("at_once", config, "--servers=2", twice)
                self.run_model("half", config, "--servers=2", once)
                warm = "--warm_start=" + self.path("half")
                self.run_model("model", config, "--servers=1", once, warm)
                self.assertEqual(self.predictions_of("model"), self.predictions_of("at_once"))
                shutil.rmtree(self.path("half/residuals"))
                self.run_model("model", config, "--servers=1", once, warm)
                self.assertNotEqual(self.predictions_of("model"), self.predictions_of("at_once"))

    def test_stages_take_over_what_the_whole_had_not_sent_and_back(self):
        pipeline = 'pipeline { in_flight: 1 split { after: "bottom/0" none {} } split { after: "top/0" none {} } }'
        rules = ('default { top_k { sparsity: 0.9 } } '
                 'layer { match: "table/*" lazy_rows { threshold: 0.05 } }')
        config = self.config_files(rules, pipeline, "cluster { prefetch_batches: 0 }")
        flags = ("--servers=1", "--override=data { epochs: 1 }")
        self.run_model("at_once", config, "--servers=1", "--override=data { epochs: 3 }")
        self.run_model("first", config, *flags)
        self.assertEqual(os.listdir(self.path("first/residuals")), ["trainer-0.weir"])
        self.run_model("second", config, "--stages=3", "--warm_start=" + self.path("first"), *flags)
        self.assertEqual(sorted(os.listdir(self.path("second/residuals"))),
                         ["trainer-0-stage-%d.weir" % stage for stage in range(3)])
        self.run_model("third", config, "--warm_start=" + self.path("second"), *flags)
        self.assertEqual(self.predictions_of("third"), self.predictions_of("at_once"))

    def test_a_model_goes_on_in_its_own_folder(self):
        config = self.config_files("default { dct { sparsity: 0.9 } }")
        model = self.path("model")
        flags = ("weir-local", config, "--servers=1", "--trainers=1", "--out=" + self.path("out"), "--save=" + model)
        run(*flags)
        for _ in range(2):
            self.assertNotIn("lost", run(*flags, "--warm_start=" + model))
            self.assertIn("trainer-0.weir", os.listdir(model + "/residuals"))
            self.assertEqual([name for name in os.listdir(self.folder.name) if "residuals-" in name], [])
        with open(model + "/residuals/notes.txt", "w", encoding="utf-8") as f:
            f.write("ours")
        self.assertIn("holds other files", run(*flags, status=1))

    def test_uncompressed_models_have_lost_nothing(self):
        self.train_model(1)
        self.assertNotIn("lost", run("weir-local", "--config=" + self.config, "--servers=0", "--trainers=1",
                                     "--out=" + self.path("on"), "--warm_start=" + self.path("model")))

    def test_says_what_of_it_is_lost_or_damaged(self):
        config = self.config_files("default { dct { sparsity: 0.9 } }")
        self.run_model("model", config, "--servers=1")
        residuals = self.path("model/residuals/")
        warm = ("weir-local", "--servers=1", "--trainers=1", "--out=" + self.path("on"),
                "--warm_start=" + self.path("model"))
        shutil.copy(residuals + "trainer-0.weir", residuals + "trainer-3.weir")
        shutil.copy(residuals + "trainer-0.weir", self.path("old.weir"))
        self.assertIn("trainer-3 of the run before had not sent is lost: this run has no", run(*warm, config))
        run(*warm, "--config=" + self.config)
        with open(self.path("on/logs/trainer-0.log"), encoding="utf-8") as f:
            self.assertIn("what the policy dct had not sent of top/0/weight is lost", f.read())
        another = self.config_files("default { dct { sparsity: 0.5 } }")
        run(*warm, another)
        shutil.copy(residuals + "trainer-0.weir", residuals + "trainer-0-stage-1.weir")
        self.assertIn("bottom/0/weight comes twice", run(*warm, config, status=1))
        self.train_model(1)
        shutil.copy(self.path("old.weir"), residuals + "trainer-0.weir")
        self.assertIn("is of another run than the model; remove it", run(*warm, config, status=1))
        self.run_model("model", config, "--servers=1")
        size = os.path.getsize(residuals + "trainer-0.weir")
        for cut in (size - 1, size - 40, 0):
            with open(residuals + "trainer-0.weir", "r+b") as f:
                f.truncate(cut)
            self.assertIn("residuals/trainer-0.weir: ", run(*warm, config, status=1))

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

    def test_nothing_is_written_into_the_model(self):
        self.train_model()
        model = "--model=" + self.path("model")
        for flags in (["--export=" + self.path("model/parameters.weir")],
                      ["--in=" + self.test, "--out=" + self.path("model/../model/p.csv")],
                      ["--in=" + self.test, "--out=" + self.path("model/residuals/p.csv")]):
            self.assertIn("would be in the saved model", run("weir-predict", model, *flags, status=2))
        self.predict(self.test)

    def test_blank_lines_are_no_rows(self):
        self.train_model()
        with open(self.test, "a", encoding="utf-8") as f:
            f.write("\n\n")
        self.assertNotIn(302, self.predict(self.test)[1])

    def test_a_file_without_rows_is_told_so(self):
        self.train_model()
        with open(self.test, encoding="utf-8") as f:
            header = f.readline()
        with open(self.path("blank.csv"), "w", encoding="utf-8") as f:
            f.write(header + "\n\n")
        message = run("weir-predict", "--model=" + self.path("model"), "--in=" + self.path("blank.csv"),
                      "--out=" + self.path("p.csv"), status=1)
        self.assertRegex(message, r"blank\.csv has (no rows|one line, a header, and no row below it)")

    def edited(self, name, edit):
        """A copy of the test rows, each changed by edit(number of its line, line)."""
        with open(self.test, encoding="utf-8") as f:
            lines = f.read().splitlines()
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.writelines(edit(number, line) + "\n" for number, line in enumerate(lines, 1))
        return self.path(name)

    def predict_with(self, *flags, status=0, stdin=None):
        arguments = [os.path.join(BIN, "weir-predict"), "--model=" + self.path("model"), *flags]
        done = subprocess.run(arguments, stdin=stdin, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_a_row_that_cannot_be_scored_keeps_its_place(self):
        self.train_model()
        whole, _ = self.predict(self.test)
        broken = self.edited("broken.csv", lambda number, line: "yes,x" if number in (2, 50, 301) else line)
        done = self.predict_with("--in=" + broken, "--out=" + self.path("p.csv"))
        self.assertIn("malformed   3, without a probability\n", done.stdout)
        with open(self.path("p.csv"), encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([int(row["line"]) for row in rows], list(range(2, 302)))
        self.assertEqual([row["probability"] for row in rows if row["line"] in ("2", "50", "301")], [""] * 3)
        for row, score in zip(rows, whole):
            if row["probability"]:
                self.assertEqual(float(row["probability"]), score)
        self.assertNotIn("labels ", done.stdout)

    def test_lines_in_a_quote_that_is_open_keep_their_places_too(self):
        self.train_model()
        rows = {10: 'yes,"20,3,7,1,open', 14: 'no,20,3,7,1,shut"'}
        broken = self.edited("broken.csv", lambda number, line: rows.get(number, line.replace('"', "")))
        done = self.predict_with("--in=" + broken, "--out=" + self.path("p.csv"), "--max_malformed_share=0.5")
        with open(self.path("p.csv"), encoding="utf-8") as f:
            written = [line.split(",")[0] for line in f.read().splitlines()[1:]]
        self.assertEqual(written, [str(line) for line in range(2, 302)])
        self.assertIn("broken.csv:10-14: ", done.stdout)

    def test_how_many_malformed_lines_there_may_be_can_be_said(self):
        self.train_model()
        broken = self.edited("broken.csv", lambda number, line: "x" if 2 <= number < 62 else line)
        files = ("--in=" + broken, "--out=" + self.path("p.csv"))
        told = self.predict_with(*files, status=1).stderr
        self.assertIn("60 of 300 lines are malformed, more than a share of 0.05; mend them, or allow more by "
                      "--max_malformed_share; the first is " + broken + ":2: ", told)
        self.assertFalse(os.path.exists(self.path("p.csv")))
        self.assertIn("rows        240\n", self.predict_with(*files, "--max_malformed_share=0.2").stdout)
        self.assertIn("--max_malformed_share: 0 to 1",
                      self.predict_with(*files, "--max_malformed_share=2", status=2).stderr)
        self.predict_with("--in=" + self.edited("one.csv", lambda number, line: "x" if number == 2 else line),
                          "--out=" + self.path("p.csv"), "--max_malformed_share=0", status=1)

    def test_metrics_are_of_the_rows_with_a_label(self):
        self.train_model()
        every = self.predict_with("--in=" + self.test, "--out=" + self.path("p.csv")).stdout
        def half(number, line):
            return "dummy" + line[line.index(","):] if number > 151 else line
        some = self.predict_with("--in=" + self.edited("half.csv", half), "--out=" + self.path("q.csv")).stdout
        self.assertIn("labels      of 150 rows; 150 have none, or an unknown one, and no part in what follows\n"
                      "logloss ", some)
        self.assertNotEqual(every.split("logloss")[1], some.split("logloss")[1])
        alike = self.edited("alike.csv", lambda number, line: "yes" + line[line.index(","):] if number > 1 else line)
        self.assertIn("auc         undefined: all labels are alike\n",
                      self.predict_with("--in=" + alike, "--out=" + self.path("a.csv")).stdout)
        none = self.edited("none.csv", lambda number, line: "0" + line[line.index(","):] if number > 1 else line)
        told = self.predict_with("--in=" + none, "--out=" + self.path("r.csv")).stdout
        self.assertIn("labels      of 0 rows; 300 have none, or an unknown one\n", told)
        self.assertNotIn("logloss", told)
        with open(self.path("p.csv"), encoding="utf-8") as p, open(self.path("r.csv"), encoding="utf-8") as r:
            self.assertEqual(p.read(), r.read())

    def test_rows_come_through_pipes(self):
        self.train_model()
        with gzip.open(self.path("test.csv.gz"), "wb") as packed, open(self.test, "rb") as f:
            shutil.copyfileobj(f, packed)
        self.predict(self.test)
        with open(self.path("predictions.csv"), encoding="utf-8") as f:
            expected = f.read()
        for source in (self.test, self.path("test.csv.gz")):
            cat = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
            done = self.predict_with("--in=-", "--out=-", stdin=cat.stdout)
            cat.stdout.close()
            self.assertEqual(cat.wait(), 0)
            self.assertEqual(done.stdout, expected)
            self.assertIn("rows        300\n", done.stderr)
        os.mkfifo(self.path("rows"))
        cat = subprocess.Popen("cat '%s' > '%s'" % (self.test, self.path("rows")), shell=True)
        self.assertEqual(self.predict_with("--in=" + self.path("rows"), "--out=-").stdout, expected)
        self.assertEqual(cat.wait(), 0)
        broken = self.edited("broken.csv", lambda number, line: "x" if number == 2 else line)
        with open(broken, "rb") as f:
            self.assertIn("  standard input:2: ", self.predict_with("--in=-", "--out=-", stdin=f).stderr)

    def test_a_pipe_that_stays_silent_can_be_interrupted(self):
        self.train_model()
        with open(self.test, "rb") as f:
            head = f.read(2000)
        program = subprocess.Popen([os.path.join(BIN, "weir-predict"), "--model=" + self.path("model"), "--in=-",
                                    "--out=" + self.path("p.csv")], stdin=subprocess.PIPE)
        try:
            program.stdin.write(head)
            program.stdin.flush()
            deadline = time.monotonic() + 60
            while not any(name.startswith("p.csv.partial") for name in os.listdir(self.folder.name)):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            time.sleep(0.5)  # it has begun to read
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(timeout=60), 130)  # its input is still open
        finally:
            program.kill()
            program.stdin.close()
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("p.csv")], [])

    def test_too_little_memory_is_told(self):
        wide = "--override=data { epochs: 1 } model { bottom_widths: [3000, 3000, 4] }"
        self.train_model(0, wide)
        program = os.path.join(BIN, "weir-predict")
        arguments = ["--model=" + self.path("model"), "--in=" + self.test, "--out=" + self.path("p.csv")]
        few = os.path.getsize(self.path("model/parameters.weir"))  # address space
        while True:  # until the file fits, beside the program; the parameters take 36 MB more
            few += 8 << 20
            done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (few, few)))
            if "parameters.weir cannot be read" not in done.stderr:
                break
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr, "error: not enough memory for the model and its predictions\n")
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("p.csv")], [])

    def test_masks_that_depend_on_the_sample_alone_are_kept(self):
        """Of others, everything crosses: the same row has the same probability at another place."""
        for policy, evaluated in (("dct_mp { sparsity: 0.5 }", ""), ("random_k { sparsity: 0.5 }", "unmasked"),
                                  ("quantize { bits: 2 }", "unmasked")):
            with self.subTest(policy=policy):
                summary = self.train_model(0, '--override=pipeline { split { after: "top/0" %s } }' % policy)
                probabilities, _ = self.predict(self.test)
                labels = [row["paid"] == "yes" for row in read_rows(self.test)]
                logloss = -sum(math.log(p if label else 1 - p)
                               for p, label in zip(probabilities, labels)) / len(labels)
                both = {name: figures["logloss"] for name, figures in
                        (("", summary["test"]), ("unmasked", summary["test"]["unmasked"]))}
                self.assertAlmostEqual(logloss, both[evaluated], delta=AGREEMENT)
                self.assertGreater(abs(both[""] - both["unmasked"]), 10 * AGREEMENT, "masks leave something out")
                with open(self.test, encoding="utf-8") as f:
                    header, *rows = f.read().splitlines()
                with open(self.path("turned.csv"), "w", encoding="utf-8") as f:
                    f.write("\n".join([header, *reversed(rows)]) + "\n")
                turned = self.predict(self.path("turned.csv"))[0]
                self.assertLess(max(abs(a - b) for a, b in zip(probabilities, reversed(turned))), AGREEMENT)

    def test_a_file_of_another_schema_is_refused(self):
        self.train_model()
        with open(self.path("other.csv"), "w", encoding="utf-8") as f:
            f.write("age,visits,town\n1,2,3\n")
        message = run("weir-predict", "--model=" + self.path("model"),
                      "--in=" + self.path("other.csv"), "--out=" + self.path("p.csv"), status=1)
        self.assertIn("names column 'tags', which the file does not have", message)
        self.assertFalse(os.path.exists(self.path("p.csv")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
