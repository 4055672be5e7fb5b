"""Does to the processes of a run what a plan (harm.py) says, and starts again what was killed. Of tools/chaos."""

import dataclasses
import math
import signal
import time

import harm
import launching
import ledger
import log_lines


@dataclasses.dataclass
class Result:
    fault: str = ""
    last_words: str = ""
    loss: float = 0
    seconds: float = 0
    stops: int = 0
    cuts: int = 0
    full_disks: int = 0
    pushes: ledger.Sum = None  # of logs, and of what proxies have seen, if there were any
    is_witnessed: bool = False
    done: list = dataclasses.field(default_factory=list)
    kills: list = dataclasses.field(default_factory=list)  # kinds
    recoveries: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Recovery:
    kind: str
    seconds: float  # from the start of the process
    is_alone: bool  # nothing else was done to the run meanwhile


@dataclasses.dataclass
class Trouble:
    """What is done to the run until its end is there."""
    harm: harm.Harm
    end: float = math.inf


class Member:
    """A place in the run, and the process that has it."""

    def __init__(self, command, log, running, environment=None):
        self.command, self.log, self.running, self.environment = command, log, running, environment
        self.log_begin = 0
        self.begin_anew()

    def begin_anew(self):
        """In a run that goes on when all its processes had ended."""
        self.killed_at, self.starts = None, 0  # the first until it is back
        self.start()

    def start(self):
        with open(self.log, "ab") as f:
            self.log_begin = f.tell()
            self.starts += 1
            self.started_at = time.monotonic()
            self.process = self.running.enter_context(launching.started(self.command, stdout=f, stderr=f,
                                                                            env=self.environment))

    def send(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
            return True
        return False

    def said(self, text):
        """Since it was started last."""
        return log_lines.has(self.log, self.log_begin, text)


class Storm:
    """What is done to the members of a run, to the paths to its servers and to their disks, and when."""

    def __init__(self, plan, act, members, result, paths=(), disks=()):
        self.plan, self.members, self.result, self.paths, self.disks = plan, members, result, paths, disks
        self.begin = time.monotonic()
        self.harm = list(act)
        self.last_harm_s = max((one.end_s() for one in act), default=0)
        self.later = []  # (when, what), of what was begun
        self.troubles = []
        self.coordinator_left_at = math.inf

    def elapsed_s(self):
        return time.monotonic() - self.begin

    def is_over(self):
        return not self.harm and not self.later

    def step(self):
        for one in [one for one in self.later if one[0] <= self.elapsed_s()]:
            self.later.remove(one)
            one[1]()
        while self.harm and self.harm[0].at_s <= self.elapsed_s():
            self._do(self.harm.pop(0))
        self._look_who_is_back()
        if self.coordinator_left_at == math.inf and self.members[0].process.poll() == 0:
            self.coordinator_left_at = time.monotonic()

    def is_killed(self, index):
        """And not started again yet."""
        return self.members[index].process.poll() == -signal.SIGKILL

    def _do(self, one):
        if not {"kill": self._kill, "stop": self._stop, "slow": self._slow}.get(one.kind, self._trouble)(one):
            return
        end = time.monotonic() + one.for_s if one.kind != "kill" else math.inf
        self.troubles.append(Trouble(one, end))
        of = "disk of " if one.kind == "slow" else "" if one.kind in ("kill", "stop") else "network of "
        length = " for %.1f" % one.for_s if one.for_s else ""
        self.note("%s of %s%s at %.2f%s" % (one.kind, of, self.plan.name(one.victim), self.elapsed_s(), length))

    def _kill(self, one):
        member = self.members[one.victim]
        if not member.send(signal.SIGKILL):
            return False
        member.process.wait()
        self.result.kills.append(self.plan.kind(one.victim))
        member.killed_at = time.monotonic() + one.restart_after_s
        self.later.append((self.elapsed_s() + one.restart_after_s, member.start))
        return True

    def _stop(self, one):
        member = self.members[one.victim]
        if not member.send(signal.SIGSTOP):
            return False
        self.result.stops += 1
        self.later.append((one.end_s(), lambda: member.send(signal.SIGCONT)))
        return True

    def _slow(self, one):
        disk = self.disks[one.victim]
        disk.slow(one.amount)
        self.later.append((one.end_s(), lambda: disk.slow(0)))
        return True

    def _trouble(self, one):
        done = self.paths[one.victim].do(one)
        self.result.cuts += done and one.kind == "cut"
        return done

    def note(self, what):
        self.result.done.append(what + ",")

    def _look_who_is_back(self):
        for index, member in enumerate(self.members):
            if member.killed_at is None or member.process.poll() is not None:
                continue
            server = index < self.plan.servers
            trainer = (index - self.plan.servers) // self.plan.stages
            if member.said(" incarnation ") if server else self._joined_since(trainer, member.killed_at):
                self._is_back(index, member)

    def _is_back(self, index, member):
        own = [one for one in self.troubles if one.harm.kind == "kill" and one.harm.victim == index]
        is_alone = all(one in own or one.end < member.killed_at for one in self.troubles)
        for one in own:
            one.end = time.monotonic()
        seconds = time.monotonic() - member.killed_at
        self.result.recoveries.append(Recovery(self.plan.kind(index), seconds, is_alone))
        member.killed_at = None

    def _joined_since(self, trainer, then):
        joined = log_lines.last_time(self.members[0].log, "trainer %d" % trainer, " joined as incarnation ")
        return joined > time.time() - (time.monotonic() - then)
