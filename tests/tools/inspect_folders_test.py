#!/usr/bin/env python3
"""weir-inspect as a process: its exit codes, and a folder that another process holds.

  tests/tools/inspect_folders_test.py BIN
"""

import fcntl
import os
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv.pop() if len(sys.argv) > 1 else ""
FIRST = "log-00000000000000000001.weir"


class InspectFolders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = os.path.join(folder.name, "data")
        os.mkdir(self.data)

    def inspect(self, *arguments):
        return subprocess.run([os.path.join(BIN, "weir-inspect"), *arguments], capture_output=True, text=True,
                              check=False, timeout=60)

    def write(self, name, content):
        with open(os.path.join(self.data, name), "wb") as f:
            f.write(content)

    def test_flags_are_wrong(self):
        for arguments in ((), ("--no_such_flag", self.data)):
            self.assertEqual(self.inspect(*arguments).returncode, 2)

    def test_neither(self):
        result = self.inspect(self.data, self.data + "-missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: %s is neither the data folder of a server nor a saved model" % self.data, result.stderr)
        self.assertIn(self.data + "-missing: No such file", result.stderr)

    def test_begun_log_is_whole_whatever_is_in_it(self):
        self.write(FIRST, os.urandom(1000))
        result = self.inspect(self.data + "/", "--records")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("torn end: 1000 bytes from byte 0", result.stdout)
        self.assertIn("begins anew", result.stdout)

    def test_all_damage_of_all_folders_is_told(self):
        self.write(FIRST, b"")
        self.write("log-00000000000000000003.weir", b"")
        self.write("snapshot-00000000000000000002.weir", os.urandom(50))
        self.write("manifest.textproto", os.urandom(50))
        result = self.inspect(self.data)
        self.assertEqual(result.returncode, 1)
        for name in (FIRST + " at byte 0", "snapshot-00000000000000000002.weir at byte 0", "manifest.textproto"):
            self.assertIn(name, result.stderr)

    def test_may_be_in_use(self):
        self.write(FIRST, b"")
        self.assertNotIn("in use", self.inspect(self.data).stdout)
        held = os.open(self.data, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.assertIn("may be in use", self.inspect(self.data).stdout)


if __name__ == "__main__":
    unittest.main()
