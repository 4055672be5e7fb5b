"""Does to the processes of a run what a plan (harm.py) says, and starts again what was killed. Of tools/chaos."""

import dataclasses
import math
import signal
import time

import launching
import log_lines


@dataclasses.dataclass
class Result:
    fault: str = ""
    last_words: str = ""
    loss: float = 0
    seconds: float = 0
    kills: int = 0
    stops: int = 0
    done: list = dataclasses.field(default_factory=list)
    recoveries: list = dataclasses.field(default_factory=list)  # (kind, seconds)


class Member:
    """A place in the run, and the process that has it."""

    def __init__(self, command, log, running):
        self.command, self.log, self.running = command, log, running
        self.killed_at = None  # until it is back
        self.log_begin = self.starts = 0
        self.start()

    def start(self):
        with open(self.log, "ab") as f:
            self.log_begin = f.tell()
            self.starts += 1
            self.started_at = time.monotonic()
            self.process = self.running.enter_context(launching.started(self.command, stdout=f, stderr=f))

    def send(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
            return True
        return False

    def said(self, text):
        """Since it was started last."""
        return log_lines.has(self.log, self.log_begin, text)


class Storm:
    """What is done to the members of a run, and when."""

    def __init__(self, plan, members, result):
        self.plan, self.members, self.result = plan, members, result
        self.begin = time.monotonic()
        self.harm = list(plan.harm)
        self.later = []  # (when, what), of what was begun
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

    def _do(self, harm):
        member = self.members[harm.victim]
        what = "%s of %s at %.2f" % ("stop" if harm.stop_s else "kill", self.plan.name(harm.victim), self.elapsed_s())
        if harm.stop_s:
            if member.send(signal.SIGSTOP):
                self.result.stops += 1
                self._note("%s for %.1f" % (what, harm.stop_s))
                self.later.append((harm.at_s + harm.stop_s, lambda: member.send(signal.SIGCONT)))
        elif member.send(signal.SIGKILL):
            member.process.wait()
            self.result.kills += 1
            self._note(what)
            member.killed_at = time.monotonic() + harm.restart_after_s
            self.later.append((self.elapsed_s() + harm.restart_after_s, member.start))

    def _note(self, what):
        self.result.done.append(what + ",")

    def _look_who_is_back(self):
        for index, member in enumerate(self.members):
            if member.killed_at is None or member.process.poll() is not None:
                continue
            server = index < self.plan.servers
            trainer = (index - self.plan.servers) // self.plan.stages
            if member.said(" incarnation ") if server else self._joined_since(trainer, member.killed_at):
                kind = "server 0" if index == 0 else "other servers" if server else "trainers"
                self.result.recoveries.append((kind, time.monotonic() - member.killed_at))
                member.killed_at = None

    def _joined_since(self, trainer, then):
        joined = log_lines.last_time(self.members[0].log, "trainer %d" % trainer, " joined as incarnation ")
        return joined > time.time() - (time.monotonic() - then)
