#!/usr/bin/env python3
"""tools/measure/record.py: what weir-bench and runs leave becomes a record as it is."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(Path(__file__).parent)]
from fake_programs import COMMIT, SUMMARY  # noqa: E402
from scripting import result_records  # noqa: E402

LINES = [{"name": "read/csv", "value": 844.0, "unit": "MB/s", "peer": "the Criteo reader", "peer_value": 1088.0,
          "ratio": 0.776, "goal": 0.67}]
MACHINE = {"processor": "a processor", "simd": "AVX2", "cores": 2, "memory_gib": 23.4, "compiler": "g++ 12.2.0"}


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.record = self.folder / "record.json"
        self.lines = self.folder / "lines.json"
        self.lines.write_text(json.dumps({"lines": LINES, "machine": {**MACHINE, "commit": "abc"}}))

    def run_tool(self, *flags):
        return subprocess.run([ROOT / "tools/measure/record.py", f"--record={self.record}", *flags], capture_output=True,
                              text=True, timeout=60, check=False)

    def test_lines_of_weir_bench_are_kept_as_they_are(self):
        done = self.run_tool(f"--from={self.lines}", "--command=weir-bench read", "--what=Reading.")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = result_records.load(str(self.record))
        self.assertEqual((record["what"], record["command"], record["commit"], record["lines"]),
                         ("Reading.", "weir-bench read", "abc", LINES))
        self.assertEqual(record["machine"], {**MACHINE, "os": result_records.system()})

    def test_runs_are_rows_of_a_table(self):
        for name in ("a", "b"):
            (self.folder / name).mkdir()
            (self.folder / name / "summary.json").write_text(json.dumps(SUMMARY))
        done = self.run_tool(f"--from=none={self.folder}/a,dct={self.folder}/b", "--command=tools/quickstart")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = result_records.load(str(self.record))
        self.assertEqual(record["commit"], COMMIT)
        self.assertEqual(record["tables"]["runs"]["rows"],
                         [[name, "500", "0.5000", "0.7500", "1.0", "1.0", "1.0"] for name in ("none", "dct")])

    LOG = """
=== Build
[1/1] x
built
--- Build: 99 s, 187 CPU-seconds

=== Train with policy a: 1 server
test after 5 samples
done: 1 server
  test  AUC 0.7
--- Train with policy a: 1 server: 14 s, 25 CPU-seconds

=== Compare
run  AUC
a    0.7
written: index.html
--- Compare: 0 s, 0 CPU-seconds

done in 154 s
"""

    def test_of_what_was_printed_stages_are_a_table_and_their_endings_are_kept(self):
        (self.folder / "a").mkdir()
        (self.folder / "a" / "summary.json").write_text(json.dumps(SUMMARY))
        (self.folder / "log").write_text(self.LOG)
        done = self.run_tool(f"--from=a={self.folder}/a", "--command=tools/quickstart", f"--log={self.folder}/log")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = result_records.load(str(self.record))
        self.assertEqual(record["tables"]["stages"]["rows"], [
            ["Build", "99", "187"], ["Train with policy a: 1 server", "14", "25"], ["Compare", "0", "0"],
            ["all", "113", "212"]])
        self.assertEqual(record["printed"]["Train with policy a: 1 server"], "done: 1 server\n  test  AUC 0.7")
        self.assertEqual(record["printed"]["Compare"], "run  AUC\na    0.7")
        self.assertEqual(record["printed"]["Build"], "built")

    def test_a_log_is_enough(self):
        program = self.folder / "weir-worker"
        program.write_text("#!/bin/sh\necho weir-worker version abc, changed\n")
        program.chmod(0o755)
        (self.folder / "log").write_text(self.LOG)
        done = self.run_tool("--command=tools/test", f"--log={self.folder}/log", f"--bin={self.folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = result_records.load(str(self.record))
        self.assertEqual(record["commit"], "abc, changed")
        self.assertEqual(record["tables"]["stages"]["rows"][0], ["Build", "99", "187"])
        self.assertNotIn("printed", record)

    def test_without_source_and_log_there_is_nothing_to_record(self):
        done = self.run_tool("--command=x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("name what to record: --from, --log or both", done.stderr)

    def test_programs_that_are_not_there_are_told(self):
        (self.folder / "log").write_text(self.LOG)
        done = self.run_tool("--command=x", f"--log={self.folder}/log", f"--bin={self.folder}/absent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: --bin:", done.stderr)

    def test_a_log_without_stages_is_told(self):
        (self.folder / "a").mkdir()
        (self.folder / "a" / "summary.json").write_text(json.dumps(SUMMARY))
        done = self.run_tool(f"--from=a={self.folder}/a", "--command=x", f"--log={self.folder}/absent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent tells no stages", done.stderr)

    def test_what_a_record_says_stays_unless_it_is_said_anew(self):
        for what, expected in (("Reading.", "Reading."), ("", "Reading."), ("Anew.", "Anew.")):
            self.run_tool(f"--from={self.lines}", "--command=weir-bench read", *([f"--what={what}"] if what else []))
            self.assertEqual(result_records.load(str(self.record))["what"], expected)

    def test_what_is_no_result_is_told(self):
        self.lines.write_text("[]")
        for source, words in ((f"{self.lines}", "is no file of weir-bench --json"),
                              (f"a={self.folder}/absent", "absent has no summary.json of a run that was tested")):
            done = self.run_tool(f"--from={source}", "--command=x")
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse(self.record.exists())

    def test_a_good_record_is_not_replaced_by_one_that_is_none(self):
        self.run_tool(f"--from={self.lines}", "--command=weir-bench read")
        good = self.record.read_text()
        without_goal = {key: value for key, value in LINES[0].items() if key != "goal"}
        for lines, words in (([without_goal], "lines: read/csv is no line of weir-bench"),
                             ([{**LINES[0], "unit": "x" * 200_000}], "more than 200000 bytes")):
            self.lines.write_text(json.dumps({"lines": lines, "machine": MACHINE}))
            done = self.run_tool(f"--from={self.lines}", "--command=weir-bench read")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"error: {self.record}: {words}", done.stderr)
            self.assertEqual(self.record.read_text(), good)

    def test_a_record_goes_where_there_is_a_folder(self):
        self.record = self.folder / "absent" / "record.json"
        done = self.run_tool(f"--from={self.lines}", "--command=x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a file NAME.json in a folder that is there", done.stderr)


if __name__ == "__main__":
    unittest.main()
