"""What compression does for the time of communication, by a model of its cost: of an all-gather as section 5 of
"Variance-based Gradient Compression for Efficient Distributed Deep Learning" (Tsuzuku, Imachi, Akiba 2018) has it,
and of servers. Pure functions, and the table that they make of records.

Times are of one step's gradients, on a trainer's link, which carries bytes in both directions at once; of servers there
are as many as their links need. All are compared with a ring all-reduce of everything, as in the paper."""

import collections

import result_tables
from scripting.result_records import markdown, table as table_of

# startup: seconds of a message before its bytes; byte: seconds of each.
Link = collections.namedtuple("Link", "startup byte")
# Bytes of a trainer's step, those that come back when it trains alone, and the share of the elements it sends.
Policy = collections.namedtuple("Policy", "name up down density")

GIGABIT = 8e-9  # seconds of a byte


def paper_speedup(trainers, fewer):
    """As printed, without start-up: 2 (n - 1) c / n^2, where each sends so many times fewer bytes."""
    return 2 * (trainers - 1) * fewer / trainers**2


def all_reduce_seconds(link, trainers, dense):
    """In a ring: n - 1 parts are added up, then n - 1 sums handed round."""
    return 2 * (trainers - 1) * (link.startup + dense / trainers * link.byte)


def all_gather_seconds(link, trainers, sent):
    """In a ring, in blocks so small that filling it takes no time: everyone gets what each of them sends."""
    return (trainers - 1) * link.startup + trainers * sent * link.byte


def server_seconds(link, up, down):
    """A push and its answer, of which the longer one counts."""
    return 2 * link.startup + max(up, down) * link.byte


def answer_bytes(policy, trainers, dense):
    """What comes down between two pushes of a trainer, in which each of the others has pushed once. As if each
    drew its elements by chance: trainers that choose the same ones get less."""
    union = 1 - (1 - policy.density)**trainers
    return min(dense, policy.down * union / policy.density)


def speedups(link, policy, trainers, dense):
    """By the paper, by the paper with start-up, and of servers."""
    reduced = all_reduce_seconds(link, trainers, dense)
    served = server_seconds(link, policy.up, answer_bytes(policy, trainers, dense))
    return (paper_speedup(trainers, dense / policy.up), reduced / all_gather_seconds(link, trainers, policy.up),
            reduced / served)


def policy_of(traffic, name):
    def kilobytes(column):
        return float(result_tables.value(traffic, "traffic", name, column))

    return Policy(name, 1e3 * kilobytes("push, kB/step"), 1e3 * kilobytes("pull, kB/step"), kilobytes("density"))


def speedup_table(traffic, transport, policies, trainers):
    """traffic: a record of compare_policies; transport: one of weir-bench. policies, trainers: "a;b", "2;4"."""
    link = Link(result_tables.lines_of([transport])["transport/round_trip"]["value"] / 2e6, GIGABIT)
    dense = policy_of(traffic, "none").up
    counts = [int(count) for count in trainers.split(";")]
    rows = []
    for policy in (policy_of(traffic, name) for name in policies.split(";")):
        found = zip(*(speedups(link, policy, count, dense) for count in counts))
        for way, figures in zip(("all-gather, as printed", "all-gather, with start-up", "servers"), found):
            rows.append(["`%s`" % policy.name, way, *("**%.2g**" % figure if figure < 1 else "%.3g" % figure
                                                    for figure in figures)])
    return markdown(table_of(["policy", "exchange", *("%d trainers" % count for count in counts)], rows))
