"""What became of each push of a run that was disturbed: all that a server has acknowledged it must have applied, once,
and nothing that was not sent. Of tools/chaos.

Sent and acknowledged is what a proxy between both has seen, by headers of the protocol (common/proto/protocol.proto);
applied is what logs of servers say, all that there were (weir-inspect --records)."""

import collections
import dataclasses
import os
import re
import subprocess
import threading

# Fields of Header, and of those messages.
HELLO, PUSH, ANSWER = 3, 5, 6
TRAINER, STAGE, INCARNATION = 2, 3, 4
PUSH_SEQUENCE, ANSWER_SEQUENCE = 2, 3
STEP = re.compile(r"^\d+ step (.*), \d+ bytes$", re.M)
LOGGED = re.compile(r"trainer (\d+) stage (\d+) incarnation (\d+) sequence (\d+)")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: value} of a message: numbers and bytes as they are, the last of each."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind, size = key & 7, 0
        if kind == 0:
            found[key >> 3], at = varint(data, at)
            continue
        if kind == 2:
            size, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}[kind]
        found[key >> 3] = data[at:at + size]
        at += size
    return found


@dataclasses.dataclass
class Account:
    """Of the pushes of one process to one server."""
    sent: int = 0  # the last of them, and so are the next
    acknowledged: int = 0
    applied: int = 0
    twice: int = 0
    missing: int = 0  # of those up to the last that was applied


@dataclasses.dataclass
class Sum:
    sent: int = 0
    acknowledged: int = 0
    applied: int = 0
    twice: int = 0
    lost: int = 0

    def __add__(self, other):
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return Sum(*(a + b for a, b in zip(mine, theirs)))


class Ledger:
    """Of a run: an account for each (server, trainer, stage, incarnation)."""

    def __init__(self):
        self.accounts = collections.defaultdict(Account)
        self._lock = threading.Lock()

    def listener(self, server):
        """Of a connection to it: hears its headers."""
        seat = []  # until it says who it is: empty

        def hear(header, is_up):
            told = fields(header)
            if is_up and HELLO in told:
                hello = fields(told[HELLO])
                seat[:] = [(server, *(hello.get(field, 0) for field in (TRAINER, STAGE, INCARNATION)))]
            elif is_up and PUSH in told and seat:
                self._add(seat[0], "sent", fields(told[PUSH]).get(PUSH_SEQUENCE, 0))
            elif not is_up and ANSWER in told and seat:
                self._add(seat[0], "acknowledged", fields(told[ANSWER]).get(ANSWER_SEQUENCE, 0))
        return hear

    def _add(self, key, kind, sequence):
        with self._lock:
            account = self.accounts[key]
            setattr(account, kind, max(getattr(account, kind), sequence))

    def read_log(self, server, records):
        """records: as weir-inspect lists them, of all folders with logs of that server."""
        times = collections.Counter()
        for step in STEP.findall(records):
            times.update(tuple(map(int, push)) for push in LOGGED.findall(step))
        distinct = collections.Counter(tuple(seat) for *seat, _ in times)
        for (*seat, sequence), count in times.items():
            account = self.accounts[(server, *seat)]
            account.applied = max(account.applied, sequence)
            account.twice += count > 1
        for seat, count in distinct.items():
            account = self.accounts[(server, *seat)]
            account.missing = account.applied - count

    def sum(self):
        return sum((Sum(one.sent, one.acknowledged, one.applied - one.missing, one.twice,
                        one.missing + max(0, one.acknowledged - one.applied)) for one in self.accounts.values()), Sum())

    def fault(self, is_witnessed):
        """is_witnessed: all connections were heard."""
        for key, one in sorted(self.accounts.items()):
            of = "trainer %d stage %d incarnation %d at server %d: " % (*key[1:], key[0])
            if one.twice or one.missing:
                return of + "of %d pushes %d were applied twice and %d never" % (one.applied, one.twice, one.missing)
            if is_witnessed and not one.acknowledged <= one.applied <= one.sent:
                return of + "%d pushes sent, %d applied, %d acknowledged" % (one.sent, one.applied, one.acknowledged)
        return "" if any(one.applied for one in self.accounts.values()) else "no push in any log"


def read(binaries, disks, ledger):
    """What is wrong with the logs themselves."""
    for server, disk in enumerate(disks):
        folders = disk.logs()
        if not folders:
            continue
        looked = subprocess.run([os.path.join(binaries, "weir-inspect"), "--records", *folders], capture_output=True,
                                text=True, check=False)
        if looked.returncode:
            return "the log of server %d: %s" % (server, looked.stderr)
        ledger.read_log(server, looked.stdout)
    return ""
