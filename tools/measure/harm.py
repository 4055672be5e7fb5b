"""What is done to the processes of a run, their network and disks, and when, as a seed draws it. Of tools/chaos."""

import dataclasses
import random

KINDS = ("server0", "server", "trainer", "stop", "end", "stages", "network", "slow", "full")
# When harm is done, in lengths of a run that nobody disturbs; some of it about the end.
HARM_SHARES, END_SHARES, FULL_SHARES = (0.05, 1.0), (0.85, 1.4), (0.2, 0.8)
LATE_SHARE, STOP_SHARE, TWICE_SHARE, STAGES_SHARE = 0.3, 0.2, 0.15, 0.2
# Of rounds: with a proxy before each server, with disks that are slow, with one that is full.
PROXY_SHARE, SLOW_DISK_SHARE, FULL_DISK_SHARE = 0.6, 0.3, 0.15
MOST_NETWORK_HARM, MOST_SLOW_HARM = 4, 2
LONGEST_STOP_S, LONGEST_AWAY_S = 2.0, 6.0
# From the start of one that was killed until it is killed again, before it is all there.
AGAIN_S = (0.01, 0.8)
# The network to a server, and its disk: how long, and how much of it.
NETWORK_S, DELAYS_S, BYTES_PER_S = (0.2, 2.0), (0.005, 0.1), (5e5, 5e6)
SLOW_S, WRITE_S = (0.3, 3.0), (0.02, 0.5)

# A trainer that is not heard of for so long has lost its place; and all of them, the run is over.
MEMBER_TIMEOUT_S = 5
# Somebody speaks so often, and is heard a little later.
WORD_S = 1.5
# From the start of a process until it has joined, its old connection's end included.
JOINING_S = 2.5
# Who is started waits for servers so long. Longer than any is away; and who comes when all is over waits in vain.
CONNECT_TIMEOUT_S, LONGEST_ABSENCE_S = 15, 10


@dataclasses.dataclass
class Harm:
    at_s: float
    victim: int  # of the processes, servers first
    kind: str = "kill"  # "stop"; of a server's network "cut", "silence", "delay", "narrow"; of its disk "slow"
    for_s: float = 0
    restart_after_s: float = 0
    amount: float = 0  # seconds, bytes a second, or a seed

    def end_s(self):
        return self.at_s + self.for_s + self.restart_after_s


# Of their initial values; each seed of a plan has one of them.
RUN_SEEDS = (1, 2, 3)


@dataclasses.dataclass
class Plan:
    seed: int
    servers: int
    trainers: int
    stages: int
    durability: str
    harm: list
    has_proxies: bool = False
    full: tuple = ()  # (server, when its disk is)

    def describe(self):
        words = ["%d servers %d trainers" % (self.servers, self.trainers), self.durability]
        words[1:1] = ["of %d stages" % self.stages] if self.stages > 1 else []
        words += ["proxies"] if self.has_proxies else []
        return " ".join(words)

    def run_seed(self):
        return RUN_SEEDS[self.seed % len(RUN_SEEDS)]

    def name(self, index):
        if index < self.servers:
            return "server-%d" % index
        trainer, stage = divmod(index - self.servers, self.stages)
        return "trainer-%d" % trainer + ("-%d" % stage if self.stages > 1 else "")

    def kind(self, index):
        if index < self.servers:
            return "other servers" if index else "server 0"
        return "stages" if self.stages > 1 else "trainers"

    def processes(self):
        return range(self.servers + self.trainers * self.stages)

    def acts(self):
        """Harm by run: all in one, or until a disk is full, and in the run that goes on."""
        if not self.full:
            return [self.harm]
        full_s = self.full[1]
        before = [harm for harm in self.harm if harm.end_s() + WORD_S < full_s]
        behind = [dataclasses.replace(harm, at_s=max(harm.at_s - full_s, 0) + HARM_SHARES[0])
                  for harm in self.harm if harm not in before]
        return [before, behind]


def _longest(intervals):
    """Of those that overlap together, or have less than a word between them."""
    longest = begin = end = 0
    for from_s, to_s in sorted(intervals):
        if to_s <= from_s:
            continue
        if from_s > end + WORD_S or end == 0:
            begin, end = from_s, to_s
        end = max(end, to_s)
        longest = max(longest, end - begin)
    return longest


def _absence(plan, process, with_deaths=True):
    """When nothing is heard of it by server 0: [(from, to)]."""
    found = []
    for harm in plan.harm:
        if harm.kind == "kill" and harm.victim == process and with_deaths:
            found.append((harm.at_s, harm.end_s() + JOINING_S))
        elif harm.kind == "stop" and harm.victim == process:
            found.append((harm.at_s, harm.end_s()))
        elif harm.kind in ("silence", "narrow") and harm.victim == 0 and process != 0:
            found.append((harm.at_s, harm.end_s()))
    return found


def _joint(first, second):
    return [(max(a, c), min(b, d)) for a, b in first for c, d in second if max(a, c) < min(b, d)]


def is_borne(plan):
    """Whether all of it together is less than what ends a run, or a trainer, by what is promised."""
    silence_s = MEMBER_TIMEOUT_S - WORD_S
    if any(_longest(_absence(plan, process, with_deaths=False)) > silence_s for process in plan.processes()):
        return False
    if any(_longest(_absence(plan, server)) > LONGEST_ABSENCE_S for server in range(plan.servers)):
        return False
    together = None
    for trainer in range(plan.trainers):
        first = plan.servers + trainer * plan.stages
        absence = [one for process in range(first, first + plan.stages) for one in _absence(plan, process)]
        together = absence if together is None else _joint(together, absence)
    return _longest(together) <= silence_s


def _victims(plan, spared):
    servers = list(range(plan.servers))
    return [*([0] if "server0" not in spared else []), *([] if "server" in spared else servers[1:]),
            *([] if "trainer" in spared else plan.processes()[plan.servers:])]


def _draw_time(dice, flags, calm_s):
    is_late = dice.random() < LATE_SHARE and "end" not in flags.spare
    return calm_s * dice.uniform(*(END_SHARES if is_late else HARM_SHARES))


def _draw_harm(dice, plan, flags, calm_s):
    at_s = _draw_time(dice, flags, calm_s)
    victim = dice.choice(_victims(plan, flags.spare))
    if "stop" not in flags.spare and dice.random() < STOP_SHARE:
        return [Harm(at_s, victim, "stop", for_s=dice.uniform(0.1, LONGEST_STOP_S))]
    harm = [Harm(at_s, victim, restart_after_s=dice.choice((0, 0, dice.uniform(0, LONGEST_AWAY_S))))]
    if dice.random() < TWICE_SHARE:
        harm.append(Harm(harm[0].end_s() + dice.uniform(*AGAIN_S), victim))
    return harm


def _draw_network_harm(dice, plan, flags, calm_s):
    harm = Harm(_draw_time(dice, flags, calm_s), dice.randrange(plan.servers),
                dice.choice(("cut", "cut", "silence", "delay", "narrow")))
    if harm.kind == "cut":
        harm.amount = dice.randrange(1 << 16)
    else:
        harm.for_s = dice.uniform(*NETWORK_S)
        harm.amount = dice.uniform(*(DELAYS_S if harm.kind == "delay" else BYTES_PER_S))
    return [harm]


def _draw_slow_harm(dice, plan, flags, calm_s):
    return [Harm(_draw_time(dice, flags, calm_s), dice.randrange(plan.servers), "slow", for_s=dice.uniform(*SLOW_S),
                 amount=dice.uniform(*WRITE_S))]


def _add(plan, harm):
    """What is more than a run bears is left out."""
    plan.harm += harm
    if not is_borne(plan):
        del plan.harm[-len(harm):]


def draw(seed, flags, calm_s):
    """calm_s: of a run that nobody disturbs."""
    dice = random.Random(seed)
    stages = 2 if dice.random() < STAGES_SHARE and "stages" not in flags.spare else 1
    plan = Plan(seed, dice.choice((2, 3)), 1 if stages > 1 else dice.choice((1, 2, 3)), stages,
                dice.choice(flags.durabilities), [])
    for _ in range(dice.randint((flags.kills + 1) // 2, flags.kills)):
        _add(plan, _draw_harm(dice, plan, flags, calm_s))
    if dice.random() < PROXY_SHARE and "network" not in flags.spare:
        plan.has_proxies = True
        for _ in range(dice.randint(1, MOST_NETWORK_HARM)):
            _add(plan, _draw_network_harm(dice, plan, flags, calm_s))
    if dice.random() < SLOW_DISK_SHARE and "slow" not in flags.spare:
        for _ in range(dice.randint(1, MOST_SLOW_HARM)):
            _add(plan, _draw_slow_harm(dice, plan, flags, calm_s))
    if dice.random() < FULL_DISK_SHARE and "full" not in flags.spare:
        plan.full = (dice.randrange(plan.servers), calm_s * dice.uniform(*FULL_SHARES))
    plan.harm.sort(key=lambda one: one.at_s)
    return plan
