#!/usr/bin/env python3
"""The peer of weir-bench step: where the time of a step of pytorch_dlrm.py goes, as PyTorch's profiler has it.

One thread, eager, one table a torch.nn.Embedding. The profiler takes time of its own, so its shares are told, as parts
of a step that was timed without it.

Prints one JSON line: {"peer": "PyTorch 2.14.1", "values": {"products": microseconds a sample, "interaction": ...,
"update": ..., "rest": ..., "all": ...}}.
"""

import argparse
import json

import process_settings

PROFILED_STEPS = 20
# Of operations, by their own time. What an optimizer calls is the update's.
PRODUCTS = ("aten::addmm", "aten::mm", "aten::linear", "aten::mkldnn_linear", "aten::_mkl_linear")
INTERACTION = ("aten::bmm", "aten::baddbmm")
UPDATE = "Optimizer.step#"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip(), allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf16", action="store_true", help="autocast to BF16; tables stay in F32")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processor", type=int, help="on which it runs")
    return parser.parse_args()


def shares(model, batches):
    """Of the profiled time: {part: share}."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for step in range(PROFILED_STEPS):
            model.step(*batches[step % len(batches)])
    events = profiled.key_averages()
    everything = sum(event.self_cpu_time_total for event in events)
    found = {
        "products": sum(event.self_cpu_time_total for event in events if event.key in PRODUCTS),
        "interaction": sum(event.self_cpu_time_total for event in events if event.key in INTERACTION),
        "update": sum(event.cpu_time_total for event in events if event.key.startswith(UPDATE)),
    }
    found["rest"] = everything - sum(found.values())
    return {part: time / everything for part, time in found.items()}


def measure(arguments):
    import os
    import statistics

    import torch
    from dlrm_model import Dlrm
    from dlrm_tables import EmbeddingTables, initial_values
    from pytorch_dlrm import make_batches, name, rates

    if arguments.processor is not None:
        os.sched_setaffinity(0, [arguments.processor])
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    tables = EmbeddingTables(initial_values())
    model = Dlrm(tables, compiled=False, bf16=arguments.bf16)
    batches = [(dense, tables.prepare(ids), labels) for dense, ids, labels in make_batches(arguments.batch)]
    for batch in batches:  # the unmeasured pass
        model.step(*batch)
    whole = 1e6 / statistics.median(rates(model, batches, arguments.seconds, arguments.repeats))
    values = {part: share * whole for part, share in shares(model, batches).items()}
    arguments.compile = False
    return {"peer": name(arguments, tables), "values": values | {"all": whole}}


def main():
    arguments = parse()
    process_settings.start_again()
    print(json.dumps(measure(arguments)))


if __name__ == "__main__":
    main()
