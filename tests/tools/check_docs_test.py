#!/usr/bin/env python3
"""Runs tools/check_docs.py on small trees, each with one thing wrong."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools/checks"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))
import check_docs  # noqa: E402

SOUND = {
    "README.md": "# A tree\n\nSee [the page](docs/a.md), [its part](docs/a.md#the-second-part), [this](#a-tree),\n"
                 "[elsewhere](https://example.org/x). `tools/test`, `configs/policies/P.textproto`, `tools/data/*.py`,\n"
                 "`build/tools/nothing`, `common/base/hogwild`, and not tools/nothing in prose.\n",
    "docs/a.md": "# A\n\n```\n# no heading\ntools/test --config=configs/a.textproto\n```\n\n## The `second` part\n",
    "docs/results.md": "`samples`, `bytes`, the latter also with `_dense`.\n",
    "configs/a.textproto": "",
    "tools/test": "",
    "common/base/hogwild.h": "",
    "common/metrics/summary.cc": '{"samples", 1},\n{"bytes", 2}, {"bytes_dense", 3},\n',
}


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def mistakes(self, changes):
        for path, text in (SOUND | changes).items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return [str(mistake) for mistake in check_docs.check(self.root)]

    def assert_only(self, changes, expected):
        self.assertEqual(self.mistakes(changes), [expected])

    def test_accepts_a_sound_tree(self):
        self.assertEqual(self.mistakes({}), [])

    def test_a_link_to_no_file(self):
        self.assert_only({"docs/a.md": "\n[b](b.md)\n## The second part\n"},
                         "docs/a.md:2: the link b.md leads to no file")

    def test_a_link_to_no_heading(self):
        self.assert_only({"docs/a.md": "[b](#no-heading)\n```\n# no heading\n```\n## The second part\n"},
                         "docs/a.md:1: the link #no-heading leads to no heading of a.md")

    def test_a_path_that_is_not_there(self):
        self.assert_only({"configs/README.md": "of `tools/gone`\n"},
                         "configs/README.md:1: there is no tools/gone")

    def test_a_command_with_a_file_that_is_not_there(self):
        self.assert_only({"CONTRIBUTING.md": "```\nweir-local --config=configs/a.textproto,configs/b.textproto\n```\n"},
                         "CONTRIBUTING.md:2: there is no configs/b.textproto")

    def test_a_name_of_the_summary_that_no_page_explains(self):
        self.assert_only({"common/metrics/summary.cc": 'x;\n{"steps", 1},\n'},
                         "common/metrics/summary.cc:2: docs/results.md does not say what steps is")

    def test_the_command_prints_mistakes_and_exits_with_1(self):
        self.mistakes({"README.md": "[x](y)\n"})
        result = subprocess.run([sys.executable, TOOLS / "check_docs.py", f"--root={self.root}"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "README.md:1: the link y leads to no file\n")


if __name__ == "__main__":
    unittest.main()
