#!/usr/bin/env python3
"""The shell scripts of tools: what they say of themselves, from any folder, and what they refuse."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("test", "quickstart", "check", "install_dependencies", "install_peers", "arm_packages")


class Scripts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        # Nothing is to be installed here: apt-get leaves a trace, and fails.
        for name in ("apt-get", "sudo"):
            (self.folder / name).write_text(f"#!/bin/sh\necho {name} $* >> {self.folder}/called\nexit 1\n")
            (self.folder / name).chmod(0o755)

    def call(self, script, *words, folder=ROOT):
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run([script, *words], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True,
                              text=True, timeout=60, check=False)

    def assert_nothing_called(self):
        self.assertFalse((self.folder / "called").exists())

    def test_help_is_the_same_from_every_folder(self):
        for name in SCRIPTS:
            told = self.call(f"tools/{name}", "--help")
            self.assertEqual((told.returncode, told.stderr), (0, ""), name)
            self.assertIn(f"\n  tools/{name} [", told.stdout)
            (self.folder / name).symlink_to(ROOT / "tools" / name)
            for script, folder in ((ROOT / "tools" / name, "/"), (f"{ROOT.name}/tools/{name}", ROOT.parent),
                                   (f"./{name}", ROOT / "tools"), (f"./{name}", self.folder)):
                self.assertEqual(self.call(script, "-h", folder=folder).stdout, told.stdout, (script, folder))
        self.assert_nothing_called()

    def test_wrong_words_are_told_and_nothing_is_done(self):
        for name, *words in (("test", "all"), ("quickstart", "--fast"), ("check", "format", "taste"),
                             ("check", "format", "--changed"), ("check", "tidy", "--changed="),
                             ("install_dependencies", "--hlep"), ("install_dependencies", "clang", "-y"),
                             ("install_peers", "--all"), ("install_peers", "a", "b"),
                             ("arm_packages",), ("arm_packages", "--all"), ("arm_packages", "a", "b")):
            done = self.call(f"{ROOT.name}/tools/{name}", *words, folder=ROOT.parent)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(f"\n  tools/{name} [", done.stderr)
            self.assertRegex(done.stderr, r"\nerror: .*\n$")
        self.assert_nothing_called()

    def test_what_the_bench_is_compared_with_is_not_asked_for_unless_it_is_named(self):
        (self.folder / "dpkg-query").write_text(f"#!/bin/sh\necho $3 >> {self.folder}/asked\nprintf installed\n")
        (self.folder / "dpkg-query").chmod(0o755)
        for words, expected in ((), False), (("bench",), True):
            (self.folder / "asked").write_text("")
            self.assertEqual(self.call("tools/install_dependencies", *words).returncode, 0)
            asked = (self.folder / "asked").read_text().split()
            self.assertIn("g++", asked)
            self.assertNotIn("bench", asked)
            for package in ("libdnnl-dev", "libopenblas-dev", "python3-torch"):
                self.assertEqual(package in asked, expected, package)
        self.assert_nothing_called()

    def test_a_folder_of_packages_is_relative_to_the_callers(self):
        (self.folder / "root").mkdir()
        (self.folder / "root" / "complete").touch()
        done = self.call(ROOT / "tools/arm_packages", "root", folder=self.folder)
        self.assertEqual(done.stdout, f"the packages for Arm are in {self.folder}/root\n")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
