#!/usr/bin/env python3
"""Runs the built weir-local with shell scripts in place of weir-server and weir-worker.

Usage: local_launcher_test.py PATH/TO/weir-local [unittest arguments]
"""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAUNCHER = ""
CONFIG = """
data { synthetic { rows: 1000 test_rows: 100 } }
"""
# Long enough for the slowest machine; a test that waits so long has failed.
DEADLINE_S = 60

METRICS = json.dumps({
    "kind": "train", "seconds": 1.0, "samples": 500, "steps": 4,
    "samples_per_second": 500.0, "logloss": 0.6931, "bytes": {"total": 4000}})
SUMMARY = json.dumps({
    "train": {"samples": 1000, "seconds": 2.0, "samples_per_second": 500.0, "steps": 8,
              "logloss": 0.69},
    "test": {"samples": 100, "logloss": 0.68, "auc": 0.75},
    "wire": {"push_bytes": 800, "push_bytes_dense": 80000, "pull_bytes": 1600,
             "pull_bytes_dense": 80000, "total_bytes": 2400}})

# Leaves its arguments and its process number beside the programs, then does SCRIPT. $n is its
# shard or trainer number and $out its --out.
PROGRAM = """#!/bin/bash
here=$(dirname "$0")
for argument in "$@"; do
  case "$argument" in
    --shard=*|--trainer=*) n=${{argument#*=}} ;;
    --out=*) out=${{argument#*=}} ;;
  esac
done
name=$(basename "$0")-$n
printf '%s\\n' "$@" > "$here/$name.arguments"
echo $$ > "$here/$name.pid"
{script}
"""
WORKER = f"""
echo '{METRICS}' > "$out/metrics.jsonl"
echo '{SUMMARY}' > "$out/summary.json"
"""
SLEEP = "exec sleep 600"
IGNORE_SIGNALS = "trap '' INT TERM; touch $here/ready; while :; do sleep 600; done"


def process_exists(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Launcher(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="weir_local_")
        self.addCleanup(self.scratch.cleanup)
        self.directory = Path(self.scratch.name)
        self.out = self.directory / "out"
        (self.directory / "config.textproto").write_text(CONFIG)
        self.write_programs(server="", worker=WORKER)

    def write_programs(self, server=None, worker=None):
        for name, script in (("weir-server", server), ("weir-worker", worker)):
            if script is not None:
                path = self.directory / name
                path.write_text(PROGRAM.format(script=script))
                path.chmod(0o755)

    def command(self, *flags):
        return [LAUNCHER, f"--config={self.directory}/config.textproto", f"--out={self.out}",
                f"--binaries={self.directory}", *flags]

    def run_launcher(self, *flags):
        return subprocess.run(self.command(*flags), capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def start_launcher(self, *flags, **options):
        launcher = subprocess.Popen(self.command(*flags), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.stderr.close)
        return launcher

    def until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited too long")
            time.sleep(0.01)

    def pids(self):
        texts = [path.read_text() for path in self.directory.glob("*.pid")]
        return [int(text) for text in texts if text.endswith("\n")]

    def arguments(self, name):
        return (self.directory / f"{name}.arguments").read_text().splitlines()

    def assert_nothing_left(self, count):
        self.assertEqual(len(self.pids()), count)
        for pid in self.pids():
            self.until(lambda pid=pid: not process_exists(pid))

    def test_gathers_the_results_of_a_run(self):
        result = self.run_launcher("--servers=2", "--trainers=2", "--threads=3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1,000 samples in 2.0 s, 500 samples/s", result.stdout)
        self.assertIn("logloss 0.6800, AUC 0.7500", result.stdout)
        self.assertIn("push 100 B per step (100.0 times fewer)", result.stdout)
        self.assertIn(str(self.out / "summary.json"), result.stdout)
        self.assertEqual(json.loads((self.out / "summary.json").read_text()), json.loads(SUMMARY))
        self.assertEqual((self.out / "metrics.jsonl").read_text().strip(), METRICS)
        self.assertTrue((self.out / "logs/server-1.log").exists())
        self.assert_nothing_left(4)

    def test_tells_all_processes_the_same_servers(self):
        self.run_launcher("--servers=2", "--trainers=1")
        servers = [argument for argument in self.arguments("weir-server-0")
                   if argument.startswith("--servers=")]
        self.assertRegex(servers[0], r"^--servers=tcp://127\.0\.0\.1:\d+,tcp://127\.0\.0\.1:\d+$")
        self.assertIn("--shard=1", self.arguments("weir-server-1"))
        self.assertIn(servers[0], self.arguments("weir-server-1"))
        self.assertIn(servers[0], self.arguments("weir-worker-0"))
        self.assertIn("synthetic", (self.out / "config.textproto").read_text())

    def test_merges_the_override_into_the_config(self):
        result = self.run_launcher("--override=data { batch_size: 77 }")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("batch_size: 77", (self.out / "config.textproto").read_text())

    def test_trains_embedded_in_one_worker(self):
        result = self.run_launcher("--servers=0", "--trainers=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(any(argument.startswith("--servers")
                             for argument in self.arguments("weir-worker-0")))
        self.assert_nothing_left(1)

    def test_refuses_a_policy_without_servers(self):
        result = self.run_launcher("--servers=0", "--trainers=1",
                                   "--override=compression { default { dct { sparsity: 0.9 } } }")
        self.assertEqual(result.returncode, 2)
        self.assertIn("error: compression", result.stderr)
        self.assertEqual(self.pids(), [])

    def test_tells_all_mistakes_at_once_and_starts_nothing(self):
        result = self.run_launcher("--threads=0", "--nonsense", "stray", "--servers=x",
                                   "--override=run { sede: 1 }")
        self.assertEqual(result.returncode, 2)
        for mistake in ("nonsense", "'x'", "--threads=0", '"stray"', "sede"):
            self.assertIn(mistake, result.stderr)
        self.assertEqual(self.pids(), [])

    def test_says_what_is_missing_of_a_card_before_anything_starts(self):
        # In a build with CUDA there is none of that number either.
        missing = r"(cuda:1023: this build has no CUDA; configure it|there is no (card|cuda:1023|NVIDIA driver)|too old)"
        for flags, flag in (("--device=cuda:1023",), "--device"), (("--devices=cpu,cuda:1023",), "--devices"):
            result = self.run_launcher("--trainers=2", *flags)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, f"error: {flag}: .*{missing}")
            self.assertEqual(result.stderr.count("cuda:1023"), 1, "once, of however many trainers")
            self.assertEqual(self.pids(), [])
            self.assertFalse(self.out.exists())

    def test_explains_itself(self):
        result = self.run_launcher("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--base_port", result.stdout.replace("-base_port", "--base_port"))

    def test_uses_the_ports_it_is_told_or_names_those_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = self.run_launcher("--servers=1", f"--base_port={port}")
        self.assertEqual(result.returncode, 1)
        self.assertIn(str(port), result.stderr)
        self.assertEqual(self.pids(), [])
        result = self.run_launcher("--servers=1", f"--base_port={port}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"--servers=tcp://127.0.0.1:{port}", self.arguments("weir-worker-0"))

    def test_names_the_process_that_failed_and_its_error(self):
        self.write_programs(server=SLEEP, worker="echo 'error: row 7 is bad'; exit 1")
        result = self.run_launcher("--servers=1", "--trainers=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: trainer-0 exited with code 1", result.stderr)
        self.assertIn("error: row 7 is bad", result.stderr)
        self.assertIn(str(self.out / "logs/trainer-0.log"), result.stderr)
        self.assertFalse((self.out / "summary.json").exists())
        self.until(lambda: len(self.pids()) in (1, 2))
        for pid in self.pids():
            self.assertFalse(process_exists(pid))

    def test_names_the_signal_of_a_crash(self):
        self.write_programs(server="kill -ABRT $$", worker=SLEEP)
        result = self.run_launcher("--servers=1", "--trainers=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("server-0 was killed by signal 6 (Aborted)", result.stderr)

    def test_tells_of_a_full_disk_that_swallowed_the_reason(self):
        """On a file system of 64 KiB, in a namespace of its own."""
        mounted = ["unshare", "--map-root-user", "--mount", "sh", "-c",
                   'mount -t tmpfs -o size=64k none "$0" && exec "$@"', str(self.out)]
        self.out.mkdir()
        if subprocess.run([*mounted, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mount namespaces are not allowed here")
        self.write_programs(server=SLEEP, worker="head -c 1M /dev/zero > $out/metrics.jsonl; "
                                                 "echo 'error: no space'; exit 1")
        result = subprocess.run([*mounted, *self.command("--servers=1", "--trainers=1")],
                                capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: trainer-0 exited with code 1; no space is left on the disk of its "
                      "log", result.stderr)

    def test_does_not_pass_old_results_off_as_new(self):
        self.assertEqual(self.run_launcher().returncode, 0)
        self.write_programs(worker="")
        result = self.run_launcher()
        self.assertEqual(result.returncode, 1)
        self.assertIn("no trainer wrote", result.stderr)
        self.assertFalse((self.out / "summary.json").exists())

    def test_refuses_a_folder_that_another_run_writes_to(self):
        self.write_programs(server=SLEEP, worker=SLEEP)
        first = self.start_launcher()
        self.until(lambda: len(self.pids()) == 4)
        config = (self.out / "config.textproto").read_text()
        second = self.run_launcher("--override=run { seed: 5 }")
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"another run writes to {self.out}", second.stderr)
        self.assertEqual((self.out / "config.textproto").read_text(), config)
        first.kill()
        self.assert_nothing_left(4)
        self.write_programs(server="", worker=WORKER)
        self.assertEqual(self.run_launcher().returncode, 0)

    def test_stops_everything_when_interrupted(self):
        self.write_programs(server=SLEEP, worker=SLEEP)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for path in self.directory.glob("*.pid"):
                path.unlink()
            launcher = self.start_launcher()
            self.until(lambda: len(self.pids()) == 4)
            launcher.send_signal(number)
            self.assertEqual(launcher.wait(DEADLINE_S), 130)
            self.assert_nothing_left(4)

    def test_kills_at_the_second_interrupt(self):
        self.write_programs(server=IGNORE_SIGNALS, worker=IGNORE_SIGNALS)
        launcher = self.start_launcher("--servers=1", "--trainers=1")
        self.until(lambda: len(self.pids()) == 2 and (self.directory / "ready").exists())
        launcher.send_signal(signal.SIGINT)
        for line in launcher.stderr:
            if "stopping" in line:
                break
        launcher.send_signal(signal.SIGINT)
        self.assertEqual(launcher.wait(DEADLINE_S), 130)
        self.assert_nothing_left(2)

    def test_leaves_nothing_running_when_killed(self):
        self.write_programs(server=SLEEP, worker=SLEEP)
        launcher = self.start_launcher()
        self.until(lambda: len(self.pids()) == 4)
        launcher.kill()
        launcher.wait(DEADLINE_S)
        self.assert_nothing_left(4)

    def test_rewrites_its_progress_on_a_terminal(self):
        # The worker goes on until its metrics were shown.
        self.write_programs(worker=WORKER + "while ! [ -e $here/shown ]; do sleep 0.01; done")
        ours, theirs = pty.openpty()
        launcher = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=theirs)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        shown = b""
        while b"500 of 1,000 samples (50 %)" not in shown:
            shown += os.read(ours, 4096)
        self.assertIn(b"\r", shown)
        (self.directory / "shown").touch()
        self.assertEqual(launcher.wait(DEADLINE_S), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    LAUNCHER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
