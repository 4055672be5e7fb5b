#!/usr/bin/env python3
"""tools/check tidy --changed in small repositories: which sources clang-tidy is given."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600
START = 1_700_000_000


class CheckChanged(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.repository, self.programs = Path(scratch.name) / "tree", Path(scratch.name) / "programs"
        (self.repository / "tools").mkdir(parents=True)
        for name in ("check", "stages.sh", "nvcc.sh"):
            shutil.copy(ROOT / "tools" / name, self.repository / "tools")
        self.make_program(self.repository / "tools/install_dependencies", "")
        # The last of its arguments says which files: what is built, ours begin with the folder.
        self.make_program(self.programs / "run-clang-tidy",
                          f'for last; do :; done; find "$PWD" -name "*.cc" | sort | grep -E "$last" '
                          f'> {scratch.name}/given')
        self.make_program(self.programs / "cmake", "mkdir -p build")
        self.given = Path(scratch.name) / "given"
        self.git("init", "-q", "-b", "main")
        (self.repository / ".gitignore").write_text("/build/\n")

    def make_program(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def call(self, *command, hour=0):
        return subprocess.run(command, cwd=self.repository, capture_output=True, text=True, check=False, env={
            "PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.programs), "LC_ALL": "C",
            **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", f"{START + hour * HOUR} +0000"))}})

    def git(self, *words, hour=0):
        done = self.call("git", *words, hour=hour)
        self.assertEqual(done.returncode, 0, done.stderr)

    def commit(self, hour, *paths):
        for path in paths:
            (self.repository / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repository / path).write_text(f"// of hour {hour}\n")
        self.git("add", "--all")
        self.git("commit", "-q", "-m", f"hour {hour}", hour=hour)

    def looked_at(self, *flags):
        """The sources that clang-tidy is given, and what is printed."""
        self.given.unlink(missing_ok=True)
        done = self.call("tools/check", "tidy", *(flags or ("--changed",)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = self.given.read_text().split() if self.given.exists() else []
        return [os.path.relpath(line, self.repository.resolve()) for line in lines], done.stdout

    def test_a_branch_is_compared_with_where_it_left_main(self):
        self.commit(0, "common/base/old.cc")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit(100, "common/base/new.cc")
        self.assertEqual(self.looked_at()[0], ["common/base/new.cc"])

    def test_main_itself_is_compared_with_a_day_before(self):
        self.commit(0, "common/base/old.cc")
        self.commit(30, "server/a.cc")
        self.commit(50, "server/b.cc")
        self.assertEqual(self.looked_at()[0], ["server/a.cc", "server/b.cc"])
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.looked_at()[0], ["server/a.cc", "server/b.cc"])

    def test_all_is_looked_at_where_nothing_is_older_than_a_day(self):
        self.commit(0, "common/base/a.cc")
        self.commit(1, "common/base/b.cc")
        self.assertEqual(self.looked_at()[0], ["common/base/a.cc", "common/base/b.cc"])

    def test_a_base_may_be_named(self):
        self.commit(0, "common/base/a.cc")
        self.git("tag", "before")
        self.commit(1, "common/base/b.cc")
        self.assertEqual(self.looked_at("--changed=before")[0], ["common/base/b.cc"])
        done = self.call("tools/check", "tidy", "--changed=nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.endswith("error: --changed=nowhere: there is no such commit\n"), done.stderr)

    def test_a_base_without_a_commit_in_common_is_refused(self):
        self.commit(0, "common/base/a.cc")
        self.git("checkout", "-q", "--orphan", "other")
        self.commit(1, "common/base/b.cc")
        done = self.call("tools/check", "tidy", "--changed=main")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: main and what is checked out have no commit in common", done.stderr)

    def test_what_is_not_committed_is_looked_at_and_what_is_gone_is_not(self):
        self.commit(0, "common/base/a.cc", "common/base/b.cc", "common/base/c.cc")
        self.commit(50, "docs/page.md", "common/base/b.cc")
        (self.repository / "common/base/a.cc").write_text("")
        (self.repository / "common/base/d.cc").write_text("")
        (self.repository / "common/base/b.cc").unlink()
        self.assertEqual(self.looked_at()[0], ["common/base/a.cc", "common/base/d.cc"])

    def test_nothing_is_done_where_no_source_has_changed(self):
        self.commit(0, "common/base/a.cc")
        self.commit(50, "docs/page.md")
        self.assertEqual(self.looked_at()[0], [])

    def test_for_a_header_its_source_is_looked_at_or_its_test(self):
        self.commit(0, "common/base/a.cc", "tests/common/base/a_test.cc", "tests/common/base/b_test.cc")
        self.commit(50, "common/base/a.h", "common/base/b.h", "common/base/c.h")
        self.assertEqual(self.looked_at()[0], ["common/base/a.cc", "tests/common/base/b_test.cc"])

    def test_the_20_that_changed_last_are_looked_at_and_the_others_told(self):
        self.commit(0, "common/base/old.cc")
        self.commit(50, *(f"common/base/early{i}.cc" for i in range(2)))
        self.commit(51, *(f"common/base/late{i}.cc" for i in range(20)))
        sources, printed = self.looked_at()
        self.assertEqual(sources, sorted(f"common/base/late{i}.cc" for i in range(20)))
        self.assertIn("left out: common/base/early0.cc\nleft out: common/base/early1.cc\n", printed)

    def test_a_files_own_name_is_looked_for_and_no_longer_one(self):
        self.commit(0, "common/base/a.cc", "tools/common/base/b.cc", "common/base/bxcc.cc")
        self.commit(50, "common/base/b.cc")
        self.assertEqual(self.looked_at()[0], ["common/base/b.cc"])


if __name__ == "__main__":
    unittest.main()
