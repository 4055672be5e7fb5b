#!/usr/bin/env python3
"""What a flood of strangers costs who belongs: trains on one server and one trainer with keys, and looks at the rate
and at the server's memory, with strangers and without, in turns.

  tools/measure/measure_flood.py [--repeats=5] [--window=3] [--rate=10000] [--json] [--bin=DIR] [--out=DIR]

Needs a Release build and a C compiler; about two minutes. Strangers are four processes on the same cores, so what they
take themselves counts, too. Kinds: those that close at once, those whose handshake fails, and those that say nothing
more. Then one that may speak sends a message of empty parts without end, to a server without keys. --json: the last
line is for weir-bench."""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import launching  # noqa: E402
import paired_runs  # noqa: E402
from measure_memory import children, name_of, read  # noqa: E402
from scripting import tool_flags  # noqa: E402
from scripting.result_files import make_folder  # noqa: E402

STRANGERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strangers.c")
KINDS = ("closing", "failing", "half-open")
PROCESSES = 4
MODEL = os.path.join(TOOLS, "../configs/models/dlrm_criteo.textproto")
SMALL = os.path.join(TOOLS, "../configs/runs/local.textproto")
# Few rows, all of which are there before the server's memory is looked at.
OVERRIDE = """data { batch_size: 128 epochs: 1000000 synthetic { rows: 100000 test_rows: 1000 rows_per_table: 1000 } }
compression { default { dct { sparsity: 0.99 lifespan: 1000 } values: BF16 } }
cluster { concurrency_warmup_steps: 0 } run { report_interval_ms: 100 }"""
WARM_UP_S = 5
PATIENCE_S = 60
ENDLESS_BYTES = 21 << 20
# ZMTP 3 without security, as a client of the server's kind.
GREETING = (b"\xff" + bytes(7) + b"\x01\x7f\x03\x00NULL").ljust(64, b"\0")
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"


def free_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]


def trained(out):
    """(samples, seconds) so far, by the trainer's own clock; None before there are any."""
    lines = [line for line in read(out + "/trainer-0/metrics.jsonl").splitlines(keepends=True) if line.endswith("\n")]
    told = [line for line in map(json.loads, lines[-20:]) if line["kind"] == "train"]
    return (told[-1]["samples"], told[-1]["seconds"]) if told else None


def rate_of(out, seconds):
    begun = trained(out)
    deadline = time.monotonic() + PATIENCE_S
    time.sleep(seconds)
    while (ended := trained(out))[1] <= begun[1]:
        if time.monotonic() > deadline:
            sys.exit("error: the trainer reports nothing more: see " + out + "/logs")
        time.sleep(0.1)
    return (ended[0] - begun[0]) / (ended[1] - begun[1])


def build_strangers(folder):
    program = os.path.abspath(os.path.join(folder, "strangers"))
    compiler = shutil.which("cc")
    if not compiler:
        sys.exit("error: there is no C compiler (cc), which strangers are built with")
    subprocess.run([compiler, "-O2", "-o", program, STRANGERS], check=True)
    return program


class Strangers:
    """Processes that try so often in each second, together, and end by themselves."""

    def __init__(self, program, port, kind, rate, seconds):
        self.children = [subprocess.Popen([program, str(port), kind, str(rate / PROCESSES), str(seconds)],
                                          stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]

    def attempts(self):
        """Waits for their end."""
        return sum(int(child.communicate()[0]) for child in self.children)


class Run:
    """That goes on until it is ended."""

    def __init__(self, flags):
        self.out = os.path.join(flags.out, "run")
        self.port = free_port()
        self.strangers = build_strangers(flags.out)
        self.command = [os.path.join(flags.bin, "weir-local"), "--config=" + MODEL, "--override=" + OVERRIDE,
                        "--servers=1", "--trainers=1", "--base_port=%d" % self.port, "--out=" + self.out]

    def await_training(self, run):
        deadline = time.monotonic() + PATIENCE_S
        while trained(self.out) is None:
            if run.poll() is not None or time.monotonic() > deadline:
                sys.exit("error: it does not train: " + read(self.out + "/logs/server-0.log")[-500:])
            time.sleep(0.1)
        time.sleep(WARM_UP_S)
        return next(pid for pid in children(run.pid) if name_of(pid).startswith("weir-server"))

    def flooded(self, flags, kind):
        """(rate without, rate with, attempts in a second), once."""
        without = rate_of(self.out, flags.window)
        crowd = Strangers(self.strangers, self.port, kind, flags.rate, flags.window + 1)
        time.sleep(0.5)
        among = rate_of(self.out, flags.window)
        attempts = crowd.attempts() / (flags.window + 1)
        time.sleep(0.5)
        return without, among, attempts


def measure(flags):
    """{kind: [(rate without, rate with, attempts in a second)]}, and by how much the server's memory grew."""
    run = Run(flags)
    found = {}
    with launching.started(run.command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        server = run.await_training(process)
        forget_peak(server)
        before = peak_bytes(server)
        for kind in KINDS:
            for _ in range(flags.repeats):
                found.setdefault(kind, []).append(run.flooded(flags, kind))
        return found, peak_bytes(server) - before


def forget_peak(pid):
    with open("/proc/%d/clear_refs" % pid, "w", encoding="utf-8") as f:
        f.write("5")


def peak_bytes(pid):
    lines = [line for line in read("/proc/%d/status" % pid).splitlines() if line.startswith("VmHWM:")]
    return 1024 * int(lines[0].split()[1]) if lines else 0


def await_listener(port):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                sys.exit("error: no server listens at port %d after %d s" % (port, PATIENCE_S))
            time.sleep(0.1)


def send_endlessly(port):
    """Empty parts, of two bytes each, until the connection is ended. How many bytes."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(GREETING + b"\x04" + bytes([len(READY)]) + READY)
        heard = b""
        while len(heard) <= len(GREETING):  # until the server is ready, too
            heard += stranger.recv(1024)
        try:
            while sent < ENDLESS_BYTES:
                stranger.sendall(b"\x01\x00" * (1 << 15))
                sent += 1 << 16
        except OSError:
            pass
    return sent


def measure_endless(flags):
    """By how many bytes a server's memory grew at most, and how many it took."""
    port = free_port()
    command = [os.path.join(flags.bin, "weir-server"), "--config=" + SMALL, "--servers=tcp://127.0.0.1:%d" % port,
               "--shard=0"]
    with launching.started(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as server:
        await_listener(port)
        time.sleep(2)
        forget_peak(server.pid)
        before = peak_bytes(server.pid)
        sent = send_endlessly(port)
        time.sleep(1)
        return peak_bytes(server.pid) - before, sent


def medians(turns):
    """(rate without, ratio, attempts in a second)"""
    return (statistics.median(without for without, _, _ in turns),
            statistics.median(among / without for without, among, _ in turns),
            statistics.median(attempts for _, _, attempts in turns))


def parse_flags():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--window", type=float, default=3, help="seconds")
    parser.add_argument("--rate", type=float, default=10000, help="attempts in a second, of all strangers")
    parser.add_argument("--json", action="store_true", help="the last line is for weir-bench")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--out", default="build/flood")
    flags = parser.parse_args()
    if flags.repeats < 1 or flags.window <= 0 or flags.rate <= 0:
        parser.error("--repeats: at least 1; --window, --rate: above 0")
    return flags


def main():
    flags = parse_flags()
    paired_runs.check_programs(flags.bin, MODEL)
    make_folder(flags.out)
    found, grown = measure(flags)
    endless, sent = measure_endless(flags)
    values = {"memory": grown / 1e6, "endless": endless / 1e6}
    for kind, turns in found.items():
        without, ratio, attempts = medians(turns)
        values.update({kind + "/rate": without, kind + "/ratio": ratio})
        print("%-10s %8.0f samples/s without strangers, %.3f times as many with %.0f attempts a second"
              % (kind, without, ratio, attempts))
    print("the server's memory grew by %.1f MB; by %.1f MB for a message that was ended after %.1f MB"
          % (values["memory"], values["endless"], sent / 1e6))
    if flags.json:
        print(json.dumps({"peer": "without strangers", "values": values}))


if __name__ == "__main__":
    main()
