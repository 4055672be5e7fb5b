#!/usr/bin/env python3
"""Runs tools/checks/check_docs.py on small trees, each with one thing wrong."""

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
    "docs/reference/results.md": "`samples`, `bytes`, the latter also with `_dense`.\n",
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
                         "common/metrics/summary.cc:2: docs/reference/results.md does not say what steps is")

    def test_pages_of_folders_below_are_looked_at(self):
        self.assert_only({"docs/guides/deep/b.md": "[x](gone.md)\n"},
                         "docs/guides/deep/b.md:1: the link gone.md leads to no file")

    def test_a_line_that_is_too_long_to_read(self):
        long = "word " * 41
        self.assert_only({"docs/b.md": f"short\n{long}\n"}, "docs/b.md:2: more than 200 characters in a line")
        self.assertEqual(self.mistakes({"docs/b.md": f"| {long} |\n```\n{long}\n```\n{'x' * 200}\n"}), [])

    def test_a_readme_that_is_too_long(self):
        self.assertEqual(self.mistakes({"README.md": "\n" * 120}), [])
        self.assert_only({"README.md": "\n" * 121}, "README.md:121: more than 120 lines")

    def test_a_commit_stands_in_no_page(self):
        for word in ("d972bf8", "0334716a", "3c2434900aa1"):
            self.assert_only({"docs/guides/b.md": f"measured at {word}\n"},
                             f"docs/guides/b.md:1: {word} looks like a commit, which no page tells")
        self.assertEqual(self.mistakes({"docs/guides/b.md": "2000000 rows, defaced, 0x1234abcd, ab12\n",
                                        "common/a.md": "at d972bf8\n"}), [])

    def test_a_page_of_results_that_is_not_as_its_records_say(self):
        folder = self.root / "docs/results"
        self.assert_only({"docs/results/by_hand.md": "# Figures\n"},
                         "docs/results:1: docs/results/by_hand.md has no template in tools/pages/results")
        (folder / "by_hand.md").unlink()
        self.assert_only({"docs/results/a.json": "{"}, f"docs/results:1: {folder}/a.json: no JSON: "
                         "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)")

    def test_comments_that_name_what_is_there(self):
        self.assertEqual(self.mistakes({
            "common/wire/FORMAT.md": "",
            "common/wire/a.h": "// FORMAT.md, and (Wen et al., NeurIPS 2017, section 3.1), algorithm 1.\n",
            "tests/common/wire/a_test.cc": "  // README.md, FORMAT.md, common/wire/FORMAT.md, common/wire/a, tests/.\n",
            "tools/a.py": 'x = "# docs/gone.md"\ny = "a // docs/gone.md"  # tools/test\n',
            "tests/a.cc": 'Open("gone.md");\n'}), [])

    def test_a_comment_that_names_no_file(self):
        for path, text, name in (
                ("common/base/hogwild.h", "int x;\n// Of algorithms.md.\n", "algorithms.md"),
                ("common/base/hogwild.h", "\nint x;  // see docs/gone.md\n", "docs/gone.md"),
                ("server/s.cc", "\n  // As FORMAT.md says.\n", "FORMAT.md"),
                ("common/CMakeLists.txt", "\n# What tools/gone.py allows.\n", "tools/gone.py"),
                ("common/proto/c.proto", "\n// docs/gone.md\n", "docs/gone.md"),
                ("tools/run", "#!/bin/sh\n# By docs/gone.md.\n", "docs/gone.md"),
                ("tools/a.py", '#!/usr/bin/env python3\n"""Of tools/gone.py.\n"""\n', "tools/gone.py")):
            with self.subTest(path=path, text=text):
                self.setUp()
                self.assert_only({path: text}, f"{path}:2: there is no {name}")

    def test_a_comment_that_names_a_numbered_section_of_no_page(self):
        self.assert_only({"server/s.cc": "// A state machine (architecture 6.7).\n"},
                         "server/s.cc:1: architecture 6.7 is in no page: name the file, or the paper")

    def test_the_command_prints_mistakes_and_exits_with_1(self):
        self.mistakes({"README.md": "[x](y)\n"})
        result = subprocess.run([sys.executable, TOOLS / "check_docs.py", f"--root={self.root}"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "README.md:1: the link y leads to no file\n")


if __name__ == "__main__":
    unittest.main()
