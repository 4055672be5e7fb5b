#!/usr/bin/env python3
"""tools/pages/make_flags_docs.py, on made-up sources."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/pages"))
import make_flags_docs  # noqa: E402

SOURCE = '''
DEFINE_string(out, "", "directory");
DEFINE_int32(count, 3, "how many; a|b");
DEFINE_string(
    link, "tcp://127.0.0.1:0",
    "where it listens, "
    "and \\"who\\" hears");
constexpr const char* kUsage =
    "does a thing\\n"
    "  thing --out=DIR\\n"
    "kinds:";
'''


def page(source):
    return make_flags_docs.program("thing", [("a/main.cc", source)])


class MakeFlagsDocs(unittest.TestCase):
    def test_every_flag_has_its_line_with_its_type_and_default(self):
        text, mistakes = page(SOURCE)
        self.assertEqual(mistakes, [])
        for line in ("| `--out` | text |  | directory |", "| `--count` | whole number | `3` | how many; a\\|b |",
                     '| `--link` | text | `tcp://127.0.0.1:0` | where it listens, and "who" hears |'):
            self.assertIn(line + "\n", text)

    def test_a_program_says_what_it_is_and_its_commands(self):
        text, _ = page(SOURCE)
        self.assertIn("## thing\n\nDoes a thing.\n\n```\nthing --out=DIR\n```\n", text)

    def test_flags_and_usage_are_found_in_any_source_of_the_folder(self):
        both = make_flags_docs.program("thing", [("a/flags.cc", SOURCE.partition("constexpr")[0]),
                                                 ("a/main.cc", 'run({.usage = "does a thing", 1});')])
        self.assertEqual(both[1], [])
        self.assertIn("Does a thing.", both[0])
        self.assertIn("`--link`", both[0])

    def test_what_is_not_understood_or_says_nothing_is_told_and_not_dropped(self):
        for old, new, told in (('"directory"', "kDirectory", "a/main.cc: 1 of its flags are not understood"),
                               ('"directory"', '""', "a/main.cc: --out has no description"),
                               ("DEFINE_int32", "DEFINE_int16", "a/main.cc: --count: no flag here is a int16"),
                               ("kUsage", "kHelp", "thing: no source says what it is, as kUsage, .usage or Usage()")):
            self.assertEqual(page(SOURCE.replace(old, new))[1], [told])


if __name__ == "__main__":
    unittest.main()
