#!/usr/bin/env python3
"""What clang says of who touches what a mutex of common/base/mutex.h guards, and that clang-tidy says it with the
project's checks."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
#include "common/base/mutex.h"

class Counter {{
 public:
  void Add() {{
    {lock}
    ++count_;
    AddLocked();
    while (count_ == 0) {wait};
  }}

 private:
  void AddLocked() WEIR_REQUIRES(mutex_) {{ ++count_; }}

  weir::Mutex mutex_;
  weir::Condition changed_;
  int count_ WEIR_GUARDED_BY(mutex_) = 0;
}};

void AddTwice(Counter* counter) {{ counter->Add(), counter->Add(); }}
"""
SOUND = SOURCE.format(lock="weir::MutexLock lock(mutex_);", wait="changed_.Wait(lock)")
WITHOUT_LOCK = SOURCE.format(lock="", wait="continue")


class ThreadSafety(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    # The exit code, and what is said, of a compiler or a check that looks at the source.
    def look(self, source, *command):
        path = self.folder / "counter.cc"
        path.write_text(source)
        command = [part.format(path=path) for part in command]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def assert_refuses_what_is_not_locked(self, *command):
        code, said = self.look(SOUND, *command)
        self.assertEqual(code, 0, said)
        code, said = self.look(WITHOUT_LOCK, *command)
        self.assertNotEqual(code, 0, said)
        self.assertRegex(said, "writing variable 'count_' requires holding mutex 'mutex_'")
        self.assertRegex(said, "calling function 'AddLocked' requires holding mutex 'mutex_'")

    @unittest.skipUnless(shutil.which("clang++"), "there is no clang")
    def test_clang_refuses_what_is_guarded_and_not_locked(self):
        self.assert_refuses_what_is_not_locked(
            "clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror", f"-I{ROOT}", "{path}")

    @unittest.skipUnless(shutil.which("clang-tidy"), "there is no clang-tidy")
    def test_so_does_clang_tidy_with_the_projects_checks(self):
        self.assert_refuses_what_is_not_locked(
            "clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", "{path}", "--", "-std=c++20", f"-I{ROOT}")

    # Whatever compiler there is: presets that clang compiles have the option without being asked.
    def test_the_build_asks_clang_for_it(self):
        options = (ROOT / "tools/cmake/options.cmake").read_text()
        self.assertRegex(options, r"\$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>")


if __name__ == "__main__":
    unittest.main()
