#!/usr/bin/env python3
"""tools/check_gpu as it was packed, with programs that only say something: which parts it runs, in which order, and
what it makes of how they end."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("gpu_cuda_test", "gpu_kernels_test", "gpu_training_test", "gpu_bench_test")
NO_CARD = "there is no card: no CUDA-capable device is detected"


class CheckGpu(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        for name in ("bin", "lib", "path"):
            (self.folder / name).mkdir()
        shutil.copy(ROOT / "tools" / "check_gpu", self.folder)
        self.program("path/nvidia-smi", "exit 9")
        self.program("path/python3", "exit 1")  # has no PyTorch
        for name in TESTS:
            self.program(f"bin/{name}", "echo passed")
        self.program("bin/weir-bench", 'echo "{}" >"${3#--json=}"')

    def program(self, path, text):
        (self.folder / path).write_text(f"#!/bin/bash\n{text}\n")
        (self.folder / path).chmod(0o755)

    def card(self):
        self.program("path/nvidia-smi", "echo A card, 580.1, 80000 MiB")

    # The parts, each with its outcome, in their order.
    def check(self, expected_code):
        done = subprocess.run([self.folder / "check_gpu"], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.folder}/path:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, expected_code, done.stdout + done.stderr)
        result = json.loads((self.folder / "check_gpu.json").read_text())
        return [(part["name"], part["outcome"]) for part in result["parts"]]

    def test_the_sanitizer_comes_before_what_may_take_all_the_time(self):
        self.card()
        self.program("path/compute-sanitizer", f'[[ "$3" == {self.folder}/bin/gpu_kernels_test ]]')
        parts = self.check(0)
        self.assertEqual([name for name, _ in parts], ["gpu_cuda_test", "gpu_kernels_test", "memcheck", "racecheck",
                                                       "gpu_training_test", "gpu_bench_test", "weir-bench"])
        self.assertEqual({outcome for _, outcome in parts}, {"passed"})

    def test_what_the_sanitizer_finds_is_a_failure(self):
        self.card()
        self.program("path/compute-sanitizer", '[[ "$1" != --tool=racecheck ]] || exit 9')
        parts = dict(self.check(1))
        self.assertEqual((parts["memcheck"], parts["racecheck"], parts["weir-bench"]),
                         ("passed", "failed with 9", "passed"))

    @unittest.skipIf(os.path.exists("/usr/local/cuda/bin/compute-sanitizer") or shutil.which("compute-sanitizer"),
                     "this machine has one")
    def test_where_there_is_none_its_parts_say_so(self):
        self.card()
        parts = dict(self.check(0))
        self.assertEqual({parts["memcheck"], parts["racecheck"]}, {"skipped: there is no compute-sanitizer"})
        self.assertEqual(parts["gpu_kernels_test"], "passed")

    def test_without_a_card_all_that_needs_one_is_skipped(self):
        for name in TESTS[1:]:
            self.program(f"bin/{name}", f"echo '{NO_CARD}'")
        self.program("bin/weir-bench", f"echo '{NO_CARD}'; exit 2")
        parts = self.check(0)
        self.assertEqual(parts[0], ("gpu_cuda_test", "passed"))  # it needs none
        self.assertEqual({outcome for _, outcome in parts[1:]}, {"skipped: no card"})
        self.assertEqual(len(parts), 7)

    def test_without_a_card_what_fails_for_another_reason_fails(self):
        self.program("bin/gpu_training_test", f"echo '{NO_CARD}'; echo 'a segmentation fault'; exit 139")
        self.assertEqual(dict(self.check(1))["gpu_training_test"], "failed with 139")


if __name__ == "__main__":
    unittest.main()
