#!/usr/bin/env python3
"""tools/measure/reproduce_schedules, with programs in the place of Weir's, and its proxy."""

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/measure"), str(Path(__file__).parent)]
import delaying_proxy  # noqa: E402
import proxy  # noqa: E402
from fake_programs import COMMIT, DONE, SUMMARY, write_programs  # noqa: E402
from scripting import result_records  # noqa: E402

# Lets everything through where namespaces are asked for; the programs beside them need none.
UNSHARE = """#!/bin/bash
[ "$1" = --net ] && shift
case "$3" in *tc\\ qdisc\\ show*) exit 0 ;; esac
exec sh -c "$(printf %s "$3" | grep -v '^ip\\|^tc\\|tc class\\|tc filter')"
"""
# A step takes 4 ms, and by omgs 3.
WORKER = DONE + """
case "$*" in *omgs\\ {*) step=0.003 ;; *) step=0.004 ;; esac
for i in 1 2 3 4; do
  echo "{\\"kind\\": \\"train\\", \\"seconds\\": $(python3 -c "print($i * 100 * $step)"), \\"samples\\": $((i * 12800))}"
done > "$out/metrics.jsonl"
"""
PLAN = {"predicted_seconds": 0.0033, "groups": [3, 5]}


def message(*frames):
    """As ZMTP has it."""
    text = b""
    for i, frame in enumerate(frames):
        more = proxy.MORE if i + 1 < len(frames) else 0
        if len(frame) > 255:
            text += bytes([more | proxy.LONG]) + len(frame).to_bytes(8, "big") + frame
        else:
            text += bytes([more, len(frame)]) + frame
    return text


COMMAND = bytes([proxy.COMMAND, 5]) + b"READY"
STREAM = bytes(proxy.GREETING_BYTES) + COMMAND + message(b"header", bytes(1000)) + COMMAND + message(b"") + message(
    bytes(300), b"", b"last")


class Proxy(unittest.TestCase):
    def test_finds_where_messages_begin_however_the_bytes_come(self):
        for seed in range(200):
            rng, heard = random.Random(seed), []
            frames, passed, begun, at = proxy.Frames(heard.append), b"", [], 0
            while at < len(STREAM):
                size = rng.choice((1, 2, 7, 100, 2000))
                for piece, begins in frames.split(STREAM[at:at + size]):
                    if begins:
                        begun.append(len(passed))
                    passed += piece
                at += size
            self.assertEqual(passed, STREAM)
            self.assertEqual(heard, [b"header", b"", bytes(300)])
            first = proxy.GREETING_BYTES + len(COMMAND)
            second = first + len(message(b"header", bytes(1000))) + len(COMMAND)
            self.assertEqual(len(begun), 3, seed)
            for found, true in zip(begun, (first, second, second + 2)):
                self.assertIn(found - true, range(2), "a header may come in two chunks")

    def test_holds_messages_one_behind_the_other(self):
        near, near_end = socket.socketpair()
        far_end, far = socket.socketpair()
        for end in (near, near_end, far_end, far):
            self.addCleanup(end.close)
        threading.Thread(target=delaying_proxy.pump, args=(near_end, far_end, 0.05), daemon=True).start()
        begin = time.monotonic()
        near.sendall(STREAM)
        near.shutdown(socket.SHUT_WR)
        got = b""
        while chunk := far.recv(1 << 16):
            got += chunk
        self.assertEqual(got, STREAM)
        self.assertGreaterEqual(time.monotonic() - begin, 0.15)


class ReproduceSchedules(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        write_programs(self.folder / "bin", WORKER, {**SUMMARY, "schedule_plan": PLAN})
        (self.folder / "bin/weir-server").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (self.folder / "unshare").write_text(UNSHARE, encoding="utf-8")
        (self.folder / "unshare").chmod(0o755)

    def run_tool(self, *flags):
        return subprocess.run([ROOT / "tools/measure/reproduce_schedules", f"--out={self.folder}/out", f"--bin={self.folder}/bin",
                               *flags], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})

    def test_sets_schedules_side_by_side(self):
        done = self.run_tool("--layers=8", "--repeats=1", f"--records={self.folder}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        record = result_records.load(str(self.folder / "schedules.json"))
        self.assertEqual(record["commit"], COMMIT)
        table = record["tables"]["result"]
        self.assertEqual([row[0] for row in table["rows"]], ["1 Gbit/s", "1 Gbit/s, 1 ms a message"])
        told = dict(zip(table["columns"], table["rows"][0]))
        self.assertEqual((told["single, ms"], told["omgs, ms"], told["omgs over the best"]), ("4.00", "3.00", "1.000"))
        self.assertEqual((told["faster than single and immediate, %"], told["predicted, ms"], told["prediction off by, %"]),
                         ("33", "3.30", "+10"))
        self.assertEqual(told["pushes"], "2")

    def test_wrong_flags_are_told(self):
        for flag, words in (("--layers=2", "at least 4"), ("--density=0", "above 0"), ("--layers=8,8", "each once")):
            done = self.run_tool(flag)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
