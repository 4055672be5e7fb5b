"""What tests of programs have in common: programs are started, and end as they should, in a folder of
the test's own."""

import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest

BIN = sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/bin"


class ProgramTestCase(unittest.TestCase):
    def setUp(self):
        self.children = []
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def start(self, program, *flags, most_file_bytes=None):
        def limit():
            if most_file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes, most_file_bytes))
        child = subprocess.Popen([os.path.join(BIN, program), *flags], preexec_fn=limit,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    def end(self, child, code, *texts, timeout=60):
        try:
            output = child.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            self.fail("still running: " + child.communicate()[0])
        self.assertEqual(child.returncode, code, output)
        for text in texts:
            self.assertIn(text, output)
        self.assertNotIn("stack trace", output)
        return output

    def until(self, condition, timeout=60):
        deadline = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited too long")
            time.sleep(0.02)
