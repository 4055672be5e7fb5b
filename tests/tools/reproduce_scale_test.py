#!/usr/bin/env python3
"""tools/measure/reproduce_scale, with programs in the place of Weir's."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(Path(__file__).parent)]
from fake_programs import COMMIT, DONE, SUMMARY, write_programs  # noqa: E402
from scripting import result_records  # noqa: E402

# Of n trainers an AUC of 0.71, of one with n times the batch 0.75.
SCRIPT = DONE + """
case "$*" in *--trainers=1\\ *) ;; *) sed -i 's/"auc": 0.75/"auc": 0.71/' "$out/summary.json" ;; esac"""


class ReproduceScale(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        write_programs(self.folder / "bin", SCRIPT, {**SUMMARY, "staleness": {"p50": 3}})

    def run_tool(self, *flags):
        return subprocess.run([ROOT / "tools/measure/reproduce_scale", f"--out={self.folder}/out",
                               f"--bin={self.folder}/bin", *flags],
                              cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    def test_sets_trainers_beside_one_with_as_many_times_the_batch(self):
        done = self.run_tool("--data=synthetic", "--policies=none", "--trainers=4", "--seeds=2", f"--records={self.folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = result_records.load(str(self.folder / "scale-synthetic.json"))
        self.assertEqual(record["commit"], COMMIT)
        self.assertEqual(record["command"], "tools/measure/reproduce_scale --data=synthetic --policies=none --trainers=4 "
                                            "--seeds=2 --rows=200000")
        told = dict(zip(record["tables"]["result"]["columns"], record["tables"]["result"]["rows"][0]))
        self.assertEqual((told["AUC"], told["difference"], told["staleness, median"]),
                         ("0.71000 +- 0.00000", "-0.04000 +- 0.00000", "3"))
        self.assertTrue((self.folder / "out/synthetic-none-1-512-2-200000/summary.json").exists())

    def test_other_rows_have_a_record_of_their_own(self):
        done = self.run_tool("--data=synthetic", "--policies=none", "--trainers=2", "--seeds=1", "--rows=1000",
                             f"--records={self.folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "scale-synthetic-1000.json").exists())

    def test_another_policy_alone_has_one_too(self):
        done = self.run_tool("--data=synthetic", "--policies=dct_99", "--trainers=2", "--seeds=1", f"--records={self.folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "scale-synthetic-dct_99.json").exists())

    def test_wrong_flags_are_told(self):
        for flags, words in ((["--trainers=1"], "--trainers"), (["--data=dreams"], "no dreams"), (["--seeds=0"], "at least 1")):
            done = self.run_tool(*flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
