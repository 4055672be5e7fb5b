#!/usr/bin/env python3
"""tools/scripting/result_records.py: what is written is read again, and a damaged record says what is wrong."""

import argparse
import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from scripting import result_records  # noqa: E402

MACHINE = {"processor": "a processor", "simd": "AVX2", "cores": 2, "memory_gib": 23.5, "os": "Debian 12", "compiler": None}
TABLES = {"tables": {"runs": result_records.table(("run", "AUC"), [("none", "0.75"), ("dct", "0.76")])}}


class ResultRecords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.json"

    def write(self, what="A trial.", results=None, **options):
        result_records.write(str(self.path), what, "tools/a --b='c \"d\"'", "abc", MACHINE, results or TABLES, **options)

    def assert_damaged(self, record, words):
        self.path.write_text(record if isinstance(record, str) else json.dumps(record))
        with self.assertRaises(ValueError) as raised:
            result_records.load(str(self.path))
        self.assertIn(str(self.path), str(raised.exception))
        for part in words if isinstance(words, tuple) else (words,):
            self.assertIn(part, str(raised.exception))

    def sound(self, **changes):
        self.write()
        return {**json.loads(self.path.read_text()), **changes}

    def test_what_is_written_is_read_again(self):
        self.write()
        record = result_records.load(str(self.path))
        self.assertEqual((record["what"], record["source"], record["command"], record["commit"], record["machine"]),
                         ("A trial.", "measured", "tools/a --b='c \"d\"'", "abc", MACHINE))
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(record["tables"], {"runs": {"columns": ["run", "AUC"], "rows": [["none", "0.75"], ["dct", "0.76"]]}})

    def test_a_row_of_a_table_is_a_line_of_the_file(self):
        self.write()
        self.assertIn('\n    ["none", "0.75"],\n    ["dct", "0.76"]\n', self.path.read_text())

    def test_a_table_may_be_called_rows(self):
        self.write(results={"tables": {"rows": TABLES["tables"]["runs"]}})
        self.assertEqual(result_records.load(str(self.path))["tables"]["rows"]["rows"][1], ["dct", "0.76"])

    def test_what_a_record_says_that_it_is_stays(self):
        self.write("Eight seeds of it.")
        self.write("A tool's own words.")
        self.assertEqual(result_records.load(str(self.path))["what"], "Eight seeds of it.")
        self.write("New words.", keep_what=False)
        self.assertEqual(result_records.load(str(self.path))["what"], "New words.")

    def test_pictures_lie_beside_the_record_and_old_ones_go(self):
        drawn = self.folder / "drawn.svg"
        drawn.write_text("<svg/>")
        self.write(pictures={"loss": str(drawn), "density": str(self.folder / "absent")})
        self.assertEqual(result_records.load(str(self.path))["pictures"], {"loss": "a-loss.svg"})
        self.assertEqual((self.folder / "a-loss.svg").read_text(), "<svg/>")
        self.write(pictures={"loss": ""})
        self.assertNotIn("pictures", result_records.load(str(self.path)))
        self.assertFalse((self.folder / "a-loss.svg").exists())

    def test_every_mistake_is_told_at_once(self):
        machine = {key: MACHINE[key] for key in MACHINE if key != "os"}
        self.assert_damaged(self.sound(what=3, machine={**machine, "cores": "2"}),
                            ("what is of another kind", "machine.cores is of another kind", "machine.os is missing"))

    def test_damage_is_told(self):
        self.assert_damaged("{", "no JSON")
        self.assert_damaged([], "no object")
        self.assert_damaged(self.sound(lines=[]), "either tables or lines")
        self.assert_damaged(self.sound(tables={"runs": {"columns": ["a", "b"], "rows": [["1"]]}}), "more or fewer cells")
        self.assert_damaged(self.sound(tables={"runs": []}), "tables.runs: it has columns and rows")
        self.assert_damaged(self.sound(pictures={"loss": "gone.svg"}), "there is no gone.svg")
        record = self.sound(lines=[{"name": "train/x", "value": 1}])
        del record["tables"]
        self.assert_damaged(record, "train/x is no line of weir-bench")

    def test_a_record_that_is_too_large_is_refused(self):
        self.assert_damaged(self.sound(note="x" * result_records.LARGEST_BYTES), "more than 200000 bytes")
        (self.folder / "large.svg").write_text("x" * (result_records.LARGEST_BYTES + 1))
        self.assert_damaged(self.sound(pictures={"loss": "large.svg"}), "large.svg has more than 200000 bytes")

    def test_a_record_can_be_written_where_there_is_a_folder(self):
        self.assertEqual(result_records.target(str(self.path)), str(self.path))
        for path in (self.folder / "absent" / "a.json", self.folder / "a.md"):
            with self.assertRaises(argparse.ArgumentTypeError):
                result_records.target(str(path))

    def test_a_program_tells_its_compiler(self):
        program = self.folder / "program"
        for content, compiler in ((b"\x7fELF GCC: (Debian 12.2.0-14) 12.2.0\0", "g++ 12.2.0"),
                                  (b"GCC: (Debian 12.2.0-14) 12.2.0\0Debian clang version 14.0.6\0", "clang 14.0.6"),
                                  (b"#!/bin/sh", None)):
            program.write_bytes(content)
            self.assertEqual(result_records.compiler(str(program)), compiler)
        self.assertIsNone(result_records.compiler(str(self.folder / "absent")))

    def test_a_machine_describes_itself(self):
        machine = result_records.machine("/absent")
        self.assertEqual(set(machine), set(result_records.MACHINE))
        self.assertGreater(machine["memory_gib"], 0)


if __name__ == "__main__":
    unittest.main()
