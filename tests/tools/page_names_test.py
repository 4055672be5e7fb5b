#!/usr/bin/env python3
"""What pages name is there: fields of a config, `cluster.window`, and the flags of commands in blocks."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/pages"))
import make_config_docs  # noqa: E402
import make_flags_docs  # noqa: E402

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md",
         ROOT / "configs/README.md"]
FIELD = r"`((?:model|data|compression|update|cluster|run|pipeline)(?:\.[a-z_]+)+)`"
BLOCK = r"^```\w*\n(.*?)^```$"
COMMAND = r"\s*(?:build/release/bin/)?(weir-\w+) (.*)"


def commands(text):
    """The commands of a page's blocks, as (program, flags)."""
    for block in re.findall(BLOCK, text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(COMMAND, line.partition(" # ")[0])
            if found:
                without_texts = re.sub(r"'[^']*'", "", found[2])
                yield found[1], re.findall(r"(?<!\S)--(\w+)", without_texts)


def has_field(messages, path):
    """Whether a path of names leads from the whole config to a field."""
    kind = "Config"
    for name in path:
        fields = {field.name: field.kind for field in messages[kind].fields} if kind in messages else {}
        if name not in fields:
            return False
        kind = fields[name]
    return True


class PageNames(unittest.TestCase):
    def test_every_field_of_a_config_that_a_page_names_is_there(self):
        messages = make_config_docs.parse((ROOT / "common/proto/config.proto").read_text(encoding="utf-8"))[0]
        names = 0
        for page in PAGES:
            for path in re.findall(FIELD, page.read_text(encoding="utf-8")):
                with self.subTest(page=page.relative_to(ROOT), path=path):
                    self.assertTrue(has_field(messages, path.split(".")))
                    names += 1
        self.assertGreater(names, 20)

    def test_every_flag_of_a_command_on_a_page_is_there(self):
        known = {name: {"help", "version"} | {flag.name for _, source in make_flags_docs.sources_of(folder)
                                              for flag in make_flags_docs.flags_of(source)[0]}
                 for name, folder in make_flags_docs.PROGRAMS}
        used = [(page, program, flag) for page in PAGES
                for program, flags in commands(page.read_text(encoding="utf-8")) for flag in flags]
        for page, program, flag in used:
            with self.subTest(page=page.relative_to(ROOT), program=program, flag=flag):
                self.assertIn(flag, known[program])
        self.assertGreater(len(used), 50)


if __name__ == "__main__":
    unittest.main()
