"""What is done to the processes of a run, and when, as a seed draws it. Of tools/chaos."""

import dataclasses
import random

KINDS = ("server0", "server", "trainer", "stop", "end", "stages")
# When harm is done, in lengths of a run that nobody disturbs; some of it about the end.
HARM_SHARES, END_SHARES = (0.05, 1.0), (0.85, 1.4)
LATE_SHARE, STOP_SHARE, TWICE_SHARE, STAGES_SHARE = 0.3, 0.2, 0.15, 0.2
# Less than what a trainer may be silent for.
LONGEST_STOP_S = 2.0
LONGEST_AWAY_S = 3.0
# From the start of one that was killed until it is killed again, before it is all there.
AGAIN_S = (0.01, 0.8)


@dataclasses.dataclass
class Harm:
    at_s: float
    victim: int  # of the processes, servers first
    stop_s: float = 0  # 0: it is killed
    restart_after_s: float = 0


@dataclasses.dataclass
class Plan:
    seed: int
    servers: int
    trainers: int
    stages: int
    durability: str
    harm: list

    def describe(self):
        stages = " of %d stages" % self.stages if self.stages > 1 else ""
        return "%d servers %d trainers%s %s" % (self.servers, self.trainers, stages, self.durability)

    def last_harm_s(self):
        return max((harm.at_s + harm.stop_s + harm.restart_after_s for harm in self.harm), default=0)

    def name(self, index):
        if index < self.servers:
            return "server-%d" % index
        trainer, stage = divmod(index - self.servers, self.stages)
        return "trainer-%d" % trainer + ("-%d" % stage if self.stages > 1 else "")


def _victims(plan, spared):
    servers = list(range(plan.servers))
    return [*([0] if "server0" not in spared else []), *([] if "server" in spared else servers[1:]),
            *([] if "trainer" in spared else
              range(plan.servers, plan.servers + plan.trainers * plan.stages))]


def _draw_harm(dice, plan, flags, calm_s):
    is_late = dice.random() < LATE_SHARE and "end" not in flags.spare
    at_s = calm_s * dice.uniform(*(END_SHARES if is_late else HARM_SHARES))
    victim = dice.choice(_victims(plan, flags.spare))
    if "stop" not in flags.spare and dice.random() < STOP_SHARE:
        return [Harm(at_s, victim, stop_s=dice.uniform(0.1, LONGEST_STOP_S))]
    harm = [Harm(at_s, victim, restart_after_s=dice.choice((0, 0, dice.uniform(0, LONGEST_AWAY_S))))]
    if dice.random() < TWICE_SHARE:
        harm.append(Harm(at_s + harm[0].restart_after_s + dice.uniform(*AGAIN_S), victim))
    return harm


def draw(seed, flags, calm_s):
    """calm_s: of a run that nobody disturbs."""
    dice = random.Random(seed)
    stages = 2 if dice.random() < STAGES_SHARE and "stages" not in flags.spare else 1
    plan = Plan(seed, dice.choice((2, 3)), 1 if stages > 1 else dice.choice((1, 2, 3)), stages,
                dice.choice(flags.durability), [])
    for _ in range(dice.randint((flags.kills + 1) // 2, flags.kills)):
        plan.harm += _draw_harm(dice, plan, flags, calm_s)
    plan.harm.sort(key=lambda one: one.at_s)
    return plan
