#!/usr/bin/env python3
"""Runs what pages tell a newcomer to run, on made-up clicks.

  page_commands_test.py BIN      BIN: the folder of the programs

Blocks of docs/start/your_data.md and docs/guides/saving.md that follow a line `<!-- run -->` run in the order of
the page, in one folder. The block that follows `<!-- run in PyTorch -->` loads an exported model and must say what
weir-predict says; without PyTorch it is left out. Whatever begins as a section of a config in backticks or in a
block of any page, `cluster { window: 1 }`, is a valid one."""

import csv
import gzip
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

BIN = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/bin")
DOCS = Path(__file__).resolve().parents[2] / "docs"
ROOT = DOCS.parent
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "configs/README.md"]
SECTION = r"(?:model|data|compression|update|cluster|run|pipeline) \{"
BLOCK = r"^<!-- %s -->\n```\w*\n(.*?)^```$"

# Whose ids and dense features follow from the line by what the page says of them.
CONFIG = """
model { bottom_widths: [8, 4] top_widths: [6, 1] embedding_dimension: 4 }
data {
  train: "clicks.csv" batch_size: 32
  csv {
    label { column: "click" }
    dense { column: "age" log1p {} }
    dense { column: "price" }
    categorical { column: "user" rows: 300 integer {} }
    categorical { column: "city" rows: 20 integer {} }
  }
}
"""


def blocks(page, kind):
    found = re.findall(BLOCK % re.escape(kind), (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    assert found, "%s has no block to %s" % (page, kind)
    return found


def configs(text):
    """The parts of a page that begin as a section of a config, but for what leaves something to the reader."""
    found = re.findall(r"^```\n(%s.*?)^```$" % SECTION, text, re.M | re.S)
    found += re.findall(r"`(%s[^`]*\})`" % SECTION, text)
    return [part for part in found if "..." not in part]


def made_up_clicks(count, seed):
    """Lines whose label depends on every column, so that a model that reads them learns."""
    generator = random.Random(seed)
    for _ in range(count):
        user, city = generator.randint(1, 200), generator.choice([0, 1, 2, 7, 11, ""])
        age, price = generator.randint(18, 80), round(generator.random(), 3)
        odds = 0.15 + 0.35 * (user % 2) + 0.3 * (city == 7) + 0.15 * (price < 0.3)
        yield {"click": int(generator.random() < odds), "age": age, "price": price, "user": user, "city": city,
               "device": generator.choice(["phone", "tablet", "desk"])}


def write_csv(path, lines):
    opened = gzip.open(path, "wt", newline="") if path.suffix == ".gz" else open(path, "w", newline="")
    with opened as f:
        writer = csv.DictWriter(f, ["click", "age", "price", "user", "city", "device"])
        writer.writeheader()
        writer.writerows(lines)


OTHER_DATA = "error: data: generate writes the synthetic set; choose it with synthetic {}\n"


class PageCommands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_block(self, text):
        result = subprocess.run(["bash", "-e", "-c", text], cwd=self.folder, capture_output=True, text=True,
                                timeout=120, check=False, env=dict(os.environ, PATH=BIN + ":" + os.environ["PATH"]))
        self.assertEqual(result.returncode, 0, "%s\n%s%s" % (text, result.stdout, result.stderr))
        return result.stdout

    def predictions(self, name):
        with open(self.folder / name, encoding="utf-8") as f:
            return [float(line["probability"]) for line in csv.DictReader(f)]

    def test_from_a_csv_file_to_predictions_and_on_from_the_model(self):
        write_csv(self.folder / "clicks.csv", made_up_clicks(20000, 1))
        printed = [self.run_block(text) for text in blocks("start/your_data.md", "run")]
        auc = re.search(r"^auc +(\S+)$", "".join(printed), re.M)
        self.assertGreater(float(auc[1]), 0.6)
        rows = len((self.folder / "clicks.test.csv").read_text().splitlines()) - 1
        self.assertEqual(len(self.predictions("out/predictions.csv")), rows)
        self.assertTrue((self.folder / "out/clicks.safetensors").exists())
        for part in range(3):
            write_csv(self.folder / ("part-%d.csv.gz" % part), made_up_clicks(3000, 10 + part))
        for text in blocks("guides/saving.md", "run"):
            self.run_block(text)
        self.assertTrue((self.folder / "out/part-2.model/manifest.textproto").exists())

    def test_every_section_of_a_config_on_a_page_is_valid(self):
        checked = 0
        for page in PAGES:
            for text in configs(page.read_text(encoding="utf-8")):
                with self.subTest(page=page.relative_to(ROOT), text=text):
                    self.load(text)
                    checked += 1
        self.assertGreater(checked, 5)

    def load(self, text):
        """Has a program check the config that the text makes of a whole one. It says OTHER_DATA of a config without a
        mistake that reads files."""
        whole = "%s/configs/runs/quickstart.textproto" % ROOT
        result = subprocess.run([BIN + "/weir-data", "generate", "--config=" + whole, "--override=" + text, "--rows=1",
                                 "--out=%s" % (self.folder / "rows.tsv")], capture_output=True, text=True, timeout=60,
                                check=False)
        if result.stderr != OTHER_DATA:
            self.assertNotEqual(result.returncode, 2, result.stderr)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_an_exported_model_predicts_in_pytorch_what_weir_predict_says(self):
        lines = list(made_up_clicks(4000, 2))
        write_csv(self.folder / "clicks.csv", lines)
        (self.folder / "my.textproto").write_text(CONFIG)
        self.run_block("weir-local --config=my.textproto --servers=1 --trainers=1 --out=out --save=model\n"
                       "weir-predict --model=model --in=clicks.csv --out=said.csv --export=model.safetensors")
        page = {}
        exec(blocks("start/your_data.md", "run in PyTorch")[0], page)
        dense = torch.tensor([[float(line["age"]), line["price"]] for line in lines])
        dense[:, 0] = dense[:, 0].log1p()
        ids = [torch.tensor([0 if line[name] == "" else 1 + line[name] % (rows - 1) for line in lines])
               for name, rows in (("user", 300), ("city", 20))]
        found = page["predict"](page["load"](self.folder / "model.safetensors"), dense, ids)
        self.assertLess((found - torch.tensor(self.predictions("said.csv"))).abs().max().item(), 1e-5)
        self.assertGreater(found.max() - found.min(), 0.1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
