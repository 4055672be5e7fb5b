#!/usr/bin/env python3
"""The peer of weir-bench train: the same DLRM in PyTorch on the CPU, in one variant a call.

Bottom 13-512-256-64-16, 26 tables of 100,000 rows and dimension 16, dot interaction, top
512-256-128-1, binary cross entropy, SGD; random ids. The loop is written for speed: no loader, ids in
the form that the tables read, what is compiled is compiled before the time is taken. Before that the
variant is verified: it trains as plain formulas do, and its loss falls.

Prints one JSON line: {"peer": "PyTorch 2.14.1, torch.compile", "values": {"threads_1": samples per
second, ...}}; or with "failure", which says why this variant cannot run, instead of "values".
"""

import argparse
import json
import os
import statistics
import time

import process_settings

VERIFIED_BATCHES = 3


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip(), allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", choices=("embedding", "fbgemm", "torchrec"), default="embedding")
    parser.add_argument("--compile", action="store_true", help="torch.compile of all but the tables")
    parser.add_argument("--bf16", action="store_true", help="autocast to BF16; tables stay in F32")
    parser.add_argument("--threads", default="1", help="ascending, for threads that wait are busy: 1,2")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=1.5, help="of one repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processors", help="one thread runs on the first, more on all: 0,1")
    parser.add_argument("--cache", help="a folder for what torch.compile makes")
    return parser.parse_args()


def name(arguments, tables):
    import torch

    parts = [f"PyTorch {torch.__version__.split('+')[0]}"]
    if tables.package:
        parts.insert(0, tables.package)
    if arguments.compile:
        parts.append("torch.compile")
    if arguments.bf16:
        parts.append("BF16 autocast")
    return ", ".join(parts)


def make_batches(size):
    import torch
    from dlrm_shape import DENSE, DISTINCT_BATCHES, ROWS, TABLES

    batches = []
    for _ in range(DISTINCT_BATCHES):
        dense = torch.rand(size, DENSE)
        batches.append((dense, torch.randint(0, ROWS, (size, TABLES)), (dense[:, 0] >= 0.5).float()))
    return batches


def rates(model, batches, seconds, repeats):
    """Samples per second of each repeat."""
    size, step, found = len(batches[0][2]), 0, []
    for _ in range(repeats):
        start, first = time.perf_counter(), step
        while step == first or time.perf_counter() - start < seconds:
            model.step(*batches[step % len(batches)])
            step += 1
        found.append((step - first) * size / (time.perf_counter() - start))
    return found


def measure(model, batches, arguments):
    import dlrm_reference

    dlrm_reference.verify(model, batches[:VERIFIED_BATCHES], dlrm_reference.Tolerance(arguments.bf16))
    prepared = [(dense, model.tables.prepare(ids), labels) for dense, ids, labels in batches]
    first = [model.step(*batch).item() for batch in prepared]  # the unmeasured pass
    found = rates(model, prepared, arguments.seconds, arguments.repeats)
    last = [model.step(*batch).item() for batch in prepared]
    if not statistics.mean(last) < statistics.mean(first):
        raise ArithmeticError(
            f"its loss does not fall: {statistics.mean(first)} at first, then {statistics.mean(last)}")
    return statistics.median(found)


def use_threads(count, processors):
    import torch

    if processors:  # inherited by the threads that torch starts later
        numbers = [int(number) for number in processors.split(",")]
        os.sched_setaffinity(0, numbers if count > 1 else numbers[:1])
    torch.set_num_threads(count)
    if hasattr(torch, "compiler"):
        torch.compiler.reset()  # what it made is for another number of threads


def measure_all(arguments):
    """The result, as it is printed."""
    import torch
    from dlrm_model import Dlrm
    from dlrm_tables import KINDS, initial_values

    torch.set_flush_denormal(True)
    tables, values = KINDS[arguments.tables], {}
    try:
        for threads in map(int, arguments.threads.split(",")):
            use_threads(threads, arguments.processors)
            torch.manual_seed(1)
            tables = KINDS[arguments.tables](initial_values())
            model = Dlrm(tables, arguments.compile, arguments.bf16)
            batches = make_batches(arguments.batch)
            values[f"threads_{threads}"] = measure(model, batches, arguments)
    except Exception as error:  # of a library that is not there, too old, or does not do this
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"peer": name(arguments, tables), "failure": lines[0][:200]}
    return {"peer": name(arguments, tables), "values": values}


def main():
    arguments = parse()
    process_settings.start_again()
    if arguments.cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = arguments.cache
    print(json.dumps(measure_all(arguments)))


if __name__ == "__main__":
    main()
