#!/usr/bin/env python3
"""tools/measure/measure_criteo.py, with programs in the place of Weir's."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(Path(__file__).parent)]
from fake_programs import COMMIT, write_programs  # noqa: E402
from scripting import result_records  # noqa: E402


class MeasureCriteo(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_tool(self, *flags, folder=ROOT):
        return subprocess.run([ROOT / "tools/measure/measure_criteo.py", f"--out={self.folder}/out", *flags], cwd=folder,
                              capture_output=True, text=True, timeout=60, check=False)

    def assert_refused(self, done, exit_code, words):
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_has_a_row_for_each_setting_paired_with_its_base(self):
        write_programs(self.folder / "bin")
        flags = ("--seeds=2", "--only=adagrad-dct95,adagrad", f"--bin={self.folder}/bin")
        done = self.run_tool(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
        self.assertEqual([row[0] for row in rows], ["run", "---", "adagrad", "adagrad-dct95"])
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual((rows[2][3], rows[3][3]), ("", "0.00000 +- 0.00000"))
        summary = self.folder / "out" / "adagrad-2" / "summary.json"
        stamp = summary.stat().st_mtime_ns
        self.assertEqual(self.run_tool(*flags, "--reuse").stdout, done.stdout)
        self.assertEqual(summary.stat().st_mtime_ns, stamp)

    def test_a_record_has_the_table(self):
        write_programs(self.folder / "bin")
        record = self.folder / "record.json"
        done = self.run_tool("--seeds=2", "--only=adagrad,adagrad-dct99", f"--bin={self.folder}/bin", f"--record={record}")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = result_records.load(str(record))
        self.assertEqual((told["command"], told["commit"]),
                         ("tools/measure/measure_criteo.py --only=adagrad,adagrad-dct99 --seeds=2", COMMIT))
        self.assertEqual(result_records.markdown(told["tables"]["runs"]), done.stdout)
        self.assertIn("all bytes, times fewer", told["tables"]["runs"]["columns"])
        self.assert_refused(self.run_tool("--record=/absent/a.json"), 2, "/absent/a.json: a file NAME.json in a folder")

    def test_what_is_not_there_is_told(self):
        self.assert_refused(self.run_tool("--bin=/absent"), 1, "there is no /absent/weir-local; build Release")
        write_programs(self.folder / "bin")
        done = self.run_tool(f"--bin={self.folder}/bin", folder=self.folder)
        self.assert_refused(done, 1, "from the root of the repository")

    def test_wrong_flags_are_told(self):
        self.assert_refused(self.run_tool("--only=dreams"), 2, "no dreams; there are adagrad,")
        self.assert_refused(self.run_tool("--only=adagrad-dct95"), 2, "adagrad-dct95 needs adagrad beside it")
        self.assert_refused(self.run_tool("--seeds=0"), 2, "at least 1")


if __name__ == "__main__":
    unittest.main()
