#!/usr/bin/env python3
"""weir-bench as a program: every section runs at its smallest sizes and verifies its results."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BENCH = None  # the program, from the command line
PEERS = Path(__file__).resolve().parents[2] / "tools/bench/peers"

# An interpreter that knows how fast each peer is, without running it.
PEERS_PYTHON = """#!/usr/bin/python3
import json, sys
words = sys.argv[2:]
if sys.argv[1].endswith("pytorch_step.py"):
    print(json.dumps({"peer": "PyTorch 9", "values": {"products": 6, "rest": 2, "all": 8}}))
    sys.exit()
if "--tables=torchrec" in words:
    sys.exit("torchrec broke")
if "--compile" in words:
    print(json.dumps({"peer": "PyTorch 9", "failure": "no compiler"}))
elif "--bf16" in words:
    fbgemm = "--tables=fbgemm" in words
    print(json.dumps({"peer": "FBGEMM 9, BF16" if fbgemm else "PyTorch 9, BF16",
                      "values": {"threads_1": 3500 if fbgemm else 4000}}))
else:
    fbgemm = "--tables=fbgemm" in words
    print(json.dumps({"peer": "FBGEMM 9" if fbgemm else "PyTorch 9",
                      "values": {"threads_1": 2000 if fbgemm else 1000, "threads_2": 3000}}))
"""


def run(*arguments, **environment):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=500,
                          env=os.environ | environment)


def has_pytorch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0


class Smoke(unittest.TestCase):
    def test_all_sections_verify_and_write_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.json"
            result = run("all", "--quick", f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            report = json.loads(path.read_text())
        # What is not installed everywhere, or needs the link that a quick run has not.
        missing = ["not installed", "not measured", "no link"] + ([] if has_pytorch() else ["PyTorch"])
        names = [line["name"] for line in report["lines"]]
        self.assertGreater(len(names), 0)
        self.assertEqual(len(names), len(set(names)), "lines are told apart by their names")
        for line in report["lines"]:
            self.assertEqual(
                set(line), {"name", "value", "unit", "peer", "peer_value", "ratio", "goal"}
            )
            self.assertGreater(line["value"], 0, line)
            if not any(word in line["peer"] for word in missing):
                self.assertGreater(line["peer_value"] or 0, 0, line)
            self.assertIn(line["name"] + " ", result.stdout)
        self.assertEqual(
            set(report["machine"]),
            {"processor", "simd", "cores", "memory_gib", "compiler", "commit"},
        )

    def run_with_torch(self, text, *arguments):
        """With a module torch of that text, where an earlier call left a line."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "torch.py").write_text(text)
            path = Path(folder) / "lines.json"
            path.write_text('{"lines": [{"name": "earlier"}]}')
            result = run(*arguments, "--quick", f"--json={path}", PYTHONPATH=folder)
            self.assertEqual(sorted(os.listdir(folder)), ["lines.json", "torch.py"])
            lines = json.loads(path.read_text())["lines"]
            return result, {line["name"]: line for line in lines}

    def test_without_pytorch_our_own_figures_are_measured(self):
        result, lines = self.run_with_torch(
            "raise ModuleNotFoundError(\"No module named 'torch'\")",
            "train", "policies", "split")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("tools/install_dependencies python3-torch", result.stdout)
        for name in ("train/f32/batch_128", "policies/top_k_of_pytorch/1M",
                     "split/choose_95_pytorch/256x128"):
            self.assertGreater(lines[name]["value"], 0)
            self.assertIsNone(lines[name]["peer_value"], name)
            self.assertIn("PyTorch", lines[name]["peer"])

    def test_a_peer_that_breaks_is_a_failure_and_other_sections_go_on(self):
        result, lines = self.run_with_torch("raise RuntimeError('broken')", "split", "store")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: split: ", result.stderr)
        self.assertIn("RuntimeError: broken", result.stderr)
        self.assertIn("store/row_reads", lines)
        self.assertIn("store/growing/p99", lines)

    def test_what_an_earlier_call_wrote_is_kept_where_nothing_is_measured(self):
        result, lines = self.run_with_torch("raise RuntimeError('broken')", "split")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(list(lines), ["earlier"])

    def run_with_peers(self, *sections):
        with tempfile.TemporaryDirectory() as folder:
            python = Path(folder) / "bin" / "python"
            python.parent.mkdir()
            python.write_text(PEERS_PYTHON)
            python.chmod(0o755)
            path = Path(folder) / "lines.json"
            result = run(*sections, "--quick", f"--peers={folder}", f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            return {line["name"]: line for line in json.loads(path.read_text())["lines"]}

    def test_a_step_has_its_parts_and_those_of_pytorch(self):
        lines = self.run_with_peers("step")
        self.assertEqual(lines["step/batch_128/update"]["peer"], "the whole step")
        line = lines["step/batch_128/pytorch/products"]
        self.assertEqual((line["value"], line["peer"], line["peer_value"]), (6, "the whole step of PyTorch 9", 8))
        self.assertNotIn("step/batch_128/pytorch/all", lines)

    def test_training_stands_beside_the_fastest_of_the_peers(self):
        lines = self.run_with_peers("train")
        line = lines["train/f32/batch_128"]
        self.assertEqual((line["peer"], line["peer_value"]), ("FBGEMM 9, 1 thread", 2000))
        line = lines["train/f32/batch_128/threads_2"]
        self.assertEqual((line["peer"], line["peer_value"]), ("FBGEMM 9, 2 threads, one batch", 3000))
        if line := lines.get("train/bf16/batch_128"):
            self.assertEqual((line["peer"], line["peer_value"]), ("PyTorch 9, BF16, 1 thread", 4000))

    def test_each_peer_has_a_line_and_says_why_it_cannot_run(self):
        lines = self.run_with_peers("train")
        self.assertEqual(lines["train/f32/batch_128/pytorch"]["peer_value"], 1000)
        for variant, reason in (("pytorch_compile", "not measured: PyTorch 9: no compiler"),
                                ("torchrec", 'saying "torchrec broke"')):
            line = lines[f"train/f32/batch_128/{variant}"]
            self.assertIn(reason, line["peer"])
            self.assertIsNone(line["peer_value"])

    def test_a_training_peer_starts_with_its_threads_and_its_memory_set(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "torch.py").write_text(
                "import os\n"
                "raise RuntimeError(os.environ['OMP_WAIT_POLICY'], 'MALLOC_TRIM_THRESHOLD_' in os.environ\n"
                "                   or 'jemalloc' in os.environ['LD_PRELOAD'])")
            peer = subprocess.run(["/usr/bin/python3", PEERS / "pytorch_dlrm.py"], capture_output=True, text=True,
                                  env=os.environ | {"PYTHONPATH": folder}, timeout=60)
        self.assertIn("RuntimeError: ('active', True)", peer.stderr)

    def test_lines_go_into_a_pipe_too(self):
        result = run("gemm", "--quick", "--json=/dev/stdout")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('"name": "gemm/batch_128', result.stdout)

    def test_what_is_said_to_openblas_changes_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.json"
            result = run("gemm", "--quick", f"--json={path}", OPENBLAS_CORETYPE="Prescott",
                         OPENBLAS_VERBOSE="2")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            lines = {line["name"]: line for line in json.loads(path.read_text())["lines"]}
        if "not installed" not in lines["gemm/batch_128/of_openblas"]["peer"]:
            self.assertEqual(result.stderr.count("Core:"), 1, "said only before the second start")

    def test_without_a_card_its_sections_say_why_before_anything_is_measured(self):
        result = run("store", "gpu", "--quick", "--device=cuda:1023")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "this build has no CUDA|there is no|too old")
        self.assertNotIn("store/row_reads", result.stdout)

    def test_a_peer_says_that_it_finds_no_card(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "torch.py").write_text(
                "__version__ = '9'\nclass cuda:\n    is_available = staticmethod(lambda: False)")
            peer = subprocess.run(["/usr/bin/python3", PEERS / "pytorch_gpu.py", "train"], capture_output=True,
                                  text=True, env=os.environ | {"PYTHONPATH": folder}, timeout=60)
        self.assertEqual(json.loads(peer.stdout),
                         {"peer": "PyTorch 9", "failure": "it has no CUDA, or finds no card"})

    def test_mistakes_are_told_together(self):
        result = run("gemm", "nonsense", "--repeats=0", "--peers=/nonexistent", "--device=cpu")
        self.assertEqual(result.returncode, 2)
        self.assertIn('"nonsense" is no section', result.stderr)
        self.assertIn("--device=cpu is no card", result.stderr)
        self.assertIn("--repeats=0 is less than 1", result.stderr)
        self.assertIn("--peers=/nonexistent has no interpreter bin/python; tools/install_peers /nonexistent",
                      result.stderr)

    def test_a_file_that_cannot_be_written(self):
        result = run("gemm", "--quick", "--json=/nonexistent/lines.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write /nonexistent/lines.json: No such file", result.stderr)
        self.assertNotIn("gemm/batch_128", result.stdout)  # told before anything is measured

    def test_sections_that_are_done_are_kept_when_a_later_one_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.json"
            result = run("store", "read", "--quick", f"--json={path}", TMPDIR="/nonexistent")
            names = [line["name"] for line in json.loads(path.read_text())["lines"]]
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot make a temporary folder in /nonexistent: No such", result.stderr)
        self.assertIn("store/row_reads", names)

    def test_what_an_earlier_call_wrote_is_kept_until_there_is_more(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.json"
            path.write_text("earlier")
            bench = subprocess.Popen([BENCH, "store", f"--json={path}"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
            while "store:" not in bench.stdout.readline():
                self.assertIsNone(bench.poll())
            bench.send_signal(signal.SIGTERM)
            bench.communicate(timeout=60)
            self.assertEqual(path.read_text(), "earlier")

    def test_an_interruption_leaves_nothing_behind(self):
        for section in ("distributed", "memory"):
            with self.subTest(section):
                self.interrupt(section)

    def interrupt(self, section):
        with tempfile.TemporaryDirectory(prefix="it's $HOME ") as folder:
            bench = subprocess.Popen([BENCH, section], env=dict(os.environ, TMPDIR=folder),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + 60
            while not list(Path(folder).glob("**/trainer-0/metrics.jsonl")):
                self.assertLess(time.monotonic(), until)
                self.assertIsNone(bench.poll(), "ended by itself")
                time.sleep(0.05)
            bench.send_signal(signal.SIGTERM)
            _, stderr = bench.communicate(timeout=60)
            self.assertEqual(bench.returncode, 130)
            self.assertIn("interrupted", stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])
            while self.processes_of(folder):
                self.assertLess(time.monotonic(), until, self.processes_of(folder))
                time.sleep(0.05)

    @staticmethod
    def processes_of(folder):
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = path.read_text()
            except OSError:
                continue
            if folder in command:
                found.append(command)
        return found


if __name__ == "__main__":
    BENCH = sys.argv.pop()
    unittest.main()
