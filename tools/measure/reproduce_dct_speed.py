"""reproduce_dct's measurements of what DCT-MP saves and costs: bytes of a link, samples/s without a limit, on slow
links and behind one slow network. Each gives (headings, lines) of a table; those that take time are made
--repeats times, in turn, and medians are told."""

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import time

import paired_runs
from launching import call
from paired_runs import QUICKSTART, UPDATE_RULES
from reproduce_dct_rows import DCT_DP, THREE, THREE_OF_WIDEST, TWO, dct_mp, splits
from scripting.result_files import load

DCT_MP = dct_mp(0.95) + " values: BF16"


def load_metrics(out):
    with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def local(flags, name, stages, override):
    """A run of weir-local with one server, in a folder of its own."""
    out = os.path.join(flags.out, name)
    return out, [os.path.join(flags.bin, "weir-local"), "--config=" + QUICKSTART, "--servers=1", "--trainers=1", "--insecure",
                 "--stages=%d" % stages, "--out=" + out, "--override=" + override]


# ------------------------------------------------------------------------------ without a limit


def bytes_table(flags):
    """Two stages, width 256, batch 512, 95 %: every header counted."""
    lines = []
    for values in ("BF16", "F32"):
        out, command = local(flags, "bytes", 2, (
            "data { batch_size: 512 synthetic { rows: 102400 test_rows: 0 } } %s run { evaluate_every_samples: 0 }"
            % splits(TWO, dct_mp(0.95) + " values: " + values)))
        call(command)
        split = load(os.path.join(out, "summary.json"))["splits"][0]
        lines.append((values, *("%.1f" % (4 * split["elements"] / split[way + "_link_bytes"])
                                for way in ("forward", "backward"))))
    return ("values", "forward, times fewer bytes", "backward, times fewer bytes"), lines


# What is measured, the stages that are processes (0: all in one worker of one thread), its splits, and the
# line that sends everything.
COSTS = (("in one piece", 0, "", None),
         ("two splits that send everything, in one worker", 0, splits(THREE, "none {}"), None),
         ("with DCT-MP 95 %, BF16", 0, splits(THREE, DCT_MP), 1),
         ("three processes that send everything", 3, splits(THREE, "none {}"), None),
         ("with DCT-MP 95 %, BF16", 3, splits(THREE, DCT_MP), 3))


def cost_table(flags):
    """Without a limit on any link."""
    rates = [[] for _ in COSTS]
    for _ in range(flags.repeats):
        for rate, (_, stages, pipeline, _) in zip(rates, COSTS):
            rate.append(samples_per_second(flags, stages, pipeline))
    medians = [statistics.median(rate) for rate in rates]
    return ("model", "samples/s", "of everything sent, %", "of one piece, %"), [
        (what, "%.0f" % median, "" if whole is None else "%.1f" % (100 * median / medians[whole]),
         "%.1f" % (100 * median / medians[0]))
        for (what, _, _, whole), median in zip(COSTS, medians)]


def samples_per_second(flags, stages, pipeline):
    override = ("data { batch_size: 512 synthetic { rows: 600000 test_rows: 0 } } "
                "run { evaluate_every_samples: 0 } " + pipeline)
    if stages == 0:
        summary = paired_runs.run(os.path.join(flags.out, "cost"), flags.bin, QUICKSTART, 0, 1, override)
    else:
        out, command = local(flags, "cost", stages, override)
        call(command)
        summary = load(os.path.join(out, "summary.json"))
    return summary["train"]["samples_per_second"]


# ------------------------------------------------------------------------------ slow networks


STAGES = 3
# Those behind the first listen on 127.0.0.2, 127.0.0.3, ...; the rest of the traffic is not limited.
SHAPE_LINKS = """
ip link set lo up
tc qdisc add dev lo root handle 1: htb default 10
tc class add dev lo parent 1: classid 1:10 htb rate 100gbit
number=20
for host in 2 3; do for end in dst src; do
  if [ $number = 20 ] || [ {shared} = no ]; then
    number=$((number + 1))
    tc class add dev lo parent 1: classid 1:$number htb rate {rate} burst 256kb
  fi
  tc filter add dev lo protocol ip parent 1: prio 1 u32 match ip $end 127.0.0.$host/32 flowid 1:$number
done; done
"""
SHAPE_ALL = "ip link set lo up; tc qdisc add dev lo root tbf rate {rate} burst 256kb latency 50ms\n"


def shaped_run(flags, name, shape, override, more=()):
    """Summary and folder of a run of three stages in a network namespace, and how busy the processors were."""
    out, command = local(flags, name, STAGES, override)
    command += more
    script = "set -e\n%s\nexec \"$@\"" % shape
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    call(["unshare", "--net", "sh", "-c", script, "sh", *command])
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return load(os.path.join(out, "summary.json")), out, used / seconds / os.cpu_count()


def link_cases():
    """(limit, the tool's word for it, width, layers, products, threads of a stage, batch): behind the layers that the
    losses are told of, and behind the widest; and, so that the links decide and not the processors, with all of many
    cores shared among the stages, and with products in BF16 and two threads where there are units for them."""
    cases = [(limit, shared, width, layers, "F32", 1, batch)
             for limit, shared, width, layers in (("one for all links", "yes", 256, THREE),
                                                  ("for each link and direction", "no", 256, THREE),
                                                  ("for each link and direction", "no", 512, THREE_OF_WIDEST))
             for batch in (128, 512)]
    threads = len(os.sched_getaffinity(0)) // STAGES
    if threads > 2:
        cases += [("for each link and direction", "no", 256, THREE, "F32", threads, batch)
                  for batch in (128, 512, 2048)]
    if has_bf16_units():
        cases += [("for each link and direction", "no", 256, THREE, "BF16", 2, batch) for batch in (128, 512, 2048)]
    return cases


def has_bf16_units():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return re.search(r"^(flags|Features)\b.*\s(avx512_bf16|bf16)\b", f.read(), re.MULTILINE) is not None


def links_table(flags):
    lines = []
    for limit, shared, width, layers, products, threads, batch in link_cases():
        pairs = [links_pair(flags, layers, batch, shared, products, threads) for _ in range(flags.repeats)]
        none, masked = (statistics.median(rates) for rates in zip(*pairs))
        times = statistics.median(masked / none for none, masked in pairs)
        lines.append((limit, "%d" % width, products, "%d" % threads, "%d" % batch, "%.0f" % none, "%.0f" % masked,
                      "%.1f" % times))
        print("links of width %d, limit %s, %s, %d threads, batch %d: %.0f and %.0f samples/s"
              % (width, limit, products, threads, batch, none, masked), flush=True)
    return ("100 Mbit/s", "width of a link", "products", "threads of a stage", "batch", "none, samples/s",
            "DCT-MP 95 %, samples/s", "times"), lines


def links_pair(flags, layers, batch, shared, products, threads):
    """Samples/s that send everything, and with DCT-MP, which is given more rows: its time is soon over."""
    rates = []
    for policy, rows in (("none {}", 100000), (DCT_MP, 400000)):
        override = ("data { batch_size: %d synthetic { rows: %d test_rows: 0 } } model { precision: %s } %s %s "
                    "run { evaluate_every_samples: 0 }"
                    % (batch, rows, products, DCT_DP, splits(layers, policy)))
        shape = SHAPE_LINKS.format(rate="100mbit", shared=shared)
        summary, _, _ = shaped_run(flags, "links", shape, override, ["--threads=%d" % threads])
        rates.append(summary["train"]["samples_per_second"])
    return rates


def seconds_to(out, logloss):
    """Training seconds until the test logloss was first at most this; infinity if it never was."""
    return next((line["seconds"] for line in load_metrics(out)
                 if line["kind"] == "test" and line["logloss"] <= logloss), math.inf)


def all_seconds(out):
    """With those of evaluation."""
    lines = load_metrics(out)
    return lines[-1]["seconds"] + sum(line["test_seconds"] for line in lines if line["kind"] == "test")


def less_time(base, reached):
    """In percent of the uncompressed run's; empty where either did not arrive."""
    return "%.0f" % (100 * (1 - reached / base)) if math.isfinite(base + reached) else ""


def headline_table(flags):
    none_dp, none_mp, mp = "compression { default { none {} } }", "none {}", dct_mp(0.9) + " values: BF16"
    rows = (("nothing", none_dp, none_mp), ("gradients (DCT-DP 99 %)", DCT_DP, none_mp),
            ("activations (DCT-MP 90 %)", none_dp, mp), ("both", DCT_DP, mp))
    runs = {what: [] for what, _, _ in rows}
    for _ in range(flags.repeats):
        for what, dp, policy in rows:
            runs[what].append(headline_run(flags, dp, policy))
            print("%s: %.1f s, %.0f samples/s" % (what, *runs[what][-1][:2]), flush=True)
    medians = {what: [statistics.median(values) for values in zip(*of_row)] for what, of_row in runs.items()}
    return ("compressed", "seconds to logloss %g" % flags.target, "in each call", "less time, %", "samples/s",
            "processors busy, %", "network used, %"), [
                (what, "%.1f" % seconds, ", ".join("%.1f" % run[0] for run in runs[what]),
                 less_time(medians["nothing"][0], seconds), "%.0f" % rate, "%.0f" % busy, "%.0f" % used)
                for what, (seconds, rate, busy, used) in medians.items()]


def headline_run(flags, dp, mp):
    """Seconds to the target, samples/s, and processors and network in percent of what there is."""
    override = ("data { batch_size: 128 synthetic { rows: %d test_rows: 20000 } } update { %s } %s %s "
                "run { evaluate_every_samples: 25600 }" % (flags.headline_rows, UPDATE_RULES["adagrad"], dp,
                                                          splits(THREE, mp)))
    summary, out, busy = shaped_run(flags, "headline", SHAPE_ALL.format(rate=flags.rate), override)
    used = 8 * summary["wire"]["total_bytes"] / all_seconds(out) / bits_per_second(flags.rate)
    return seconds_to(out, flags.target), summary["train"]["samples_per_second"], 100 * busy, 100 * used


def bits_per_second(rate):
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?" + unit, rate) and float(rate[:-len(unit)]) > 0:
            return float(rate[:-len(unit)]) * factor
    raise argparse.ArgumentTypeError("give it as tc does, for example 1gbit")


def rate_of_tc(text):
    """The type of a flag."""
    bits_per_second(text)
    return text


def why_no_namespaces():
    """None where a network can be made slow; else what the first try to says."""
    try:
        done = subprocess.run(["unshare", "--net", "sh", "-c", "ip link set lo up && tc qdisc show"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        return "unshare: %s" % error.strerror
    return " ".join(done.stdout.split()) or "exit code %d" % done.returncode if done.returncode else None
