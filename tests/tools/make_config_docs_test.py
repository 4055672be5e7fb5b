#!/usr/bin/env python3
"""tools/pages/make_config_docs.py, on made-up files."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/pages"))
import make_config_docs  # noqa: E402

WHOLE = """// A file.
syntax = "proto3";

package weir.v1;

message Config {
  reserved 9;
  // How many. Default 3; 1 to 64.
  optional int32 count = 1;
  enum Colour {
    COLOUR_UNSPECIFIED = 0;
    // As the sky.
    BLUE = 1;
  }
  // Which. Default BLUE.
  Colour colour = 2;
  // Names, in order.
  repeated string name = 3;
  oneof kind {
    Empty empty = 4;
  }
  // Of everything random. Default 1.
  optional uint64 seed = 5;
}

message Empty {}
"""


def parse(text):
    return make_config_docs.parse(text)


def mistakes(text):
    messages, enums, _ = parse(text)
    return make_config_docs.mistakes(messages, enums)


class MakeConfigDocs(unittest.TestCase):
    def test_every_field_has_its_line(self):
        messages, enums, strange = parse(WHOLE)
        self.assertEqual(strange, [])
        self.assertEqual(make_config_docs.mistakes(messages, enums), [])
        page = make_config_docs.page(messages, enums)
        for line in ("| `count` | whole number | 3 | 1 to 64 | How many. |",
                     "| `colour` | `BLUE` | BLUE |  | Which. `BLUE`: As the sky. |",
                     "| `name` | list of text |  |  | Names, in order. |", "| `empty` (one of `kind`) | `{}` |  |  |  |"):
            self.assertIn(line, page)

    def test_a_long_comment_of_a_message_is_several_lines_and_its_empty_lines_part_paragraphs(self):
        comment = "// First." + " word" * 40 + "\n//\n// Then.\n"
        messages, enums, _ = parse(WHOLE.replace("message Config {", comment + "message Config {"))
        page = make_config_docs.page(messages, enums)
        self.assertLessEqual(max(len(line) for line in page.splitlines() if not line.startswith("|")), 200)
        self.assertIn("First. word word", page)
        self.assertIn("\n\nThen.\n\n", page)

    def test_what_a_comment_lacks_is_told(self):
        for old, new, told in (("Default 3; 1 to 64.", "1 to 64.", "Config.count: the comment says neither"),
                               ("Default 3; 1 to 64.", "Default 3.", "Config.count: the comment has no range"),
                               ("Default BLUE.", "", "Config.colour: the comment says neither"),
                               ("  // Names, in order.\n", "", "Config.name has no comment"),
                               ("Default 1.", "", "Config.seed: the comment says neither")):
            self.assertEqual([line[:len(told)] for line in mistakes(WHOLE.replace(old, new))][:1], [told])

    def test_a_line_that_is_not_understood_is_told_and_not_dropped(self):
        for line in ("optional int32 count = 1 [deprecated = true];", "map<string, int32> count = 1;",
                     "optional int32 count = 1; // many", "optional int32", "/* more */", "option a = 1;", "optional bytes a = 1;"):
            _, _, strange = parse(WHOLE.replace("optional int32 count = 1;", line))
            self.assertEqual(strange, [(9, line)])
        for line in ("}", "import \"a.proto\";", "optional int32 x = 1;"):
            self.assertEqual(parse(WHOLE + line)[2], [(WHOLE.count("\n") + 1, line)])
        self.assertEqual(parse(WHOLE.replace("BLUE = 1;", "BLUE = 1 [a = 2];"))[2], [(13, "BLUE = 1 [a = 2];")])


if __name__ == "__main__":
    unittest.main()
