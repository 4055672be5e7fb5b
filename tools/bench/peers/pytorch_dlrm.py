#!/usr/bin/env python3
"""The peer of weir-bench train: a plain PyTorch training loop of the same DLRM on the CPU.

Bottom 13-512-256-64-16, 26 tables of 100,000 rows and dimension 16 in one fused table with sparse
gradients, dot interaction, top 512-256-128-1, binary cross entropy, SGD; random ids, F32. The loop
is written for speed: one gather for all tables, one batched product for the interaction, no loader.

Prints one JSON line: {"peer": "PyTorch 1.13.1", "values": {"batch_128_threads_1": samples per
second, ...}}.
"""

import argparse
import json
import os
import statistics
import sys
import time

DENSE, TABLES, ROWS, DIMENSION = 13, 26, 100_000, 16
DISTINCT_BATCHES = 32  # as in tools/bench/train.cc
BOTTOM = [DENSE, 512, 256, 64, DIMENSION]
VECTORS = TABLES + 1
TOP = [DIMENSION + VECTORS * (VECTORS - 1) // 2, 512, 256, 128, 1]


def use_openblas_with_openmp():
    """Two thread pools, OpenMP's and that of Debian's default BLAS, fight: take the OpenMP one."""
    folder = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
    if os.environ.get("WEIR_PEER_STARTED") or not os.path.isdir(folder):
        return
    environment = dict(os.environ, WEIR_PEER_STARTED="1", LD_LIBRARY_PATH=folder)
    environment["OMP_WAIT_POLICY"] = "active"
    os.execve(sys.executable, [sys.executable] + sys.argv, environment)


def mlp(widths, last_relu):
    import torch

    layers = []
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        layers.append(torch.nn.Linear(inputs, outputs))
        if last_relu or i + 2 < len(widths):
            layers.append(torch.nn.ReLU(inplace=True))
    return torch.nn.Sequential(*layers)


class Dlrm:
    def __init__(self, learning_rate):
        import torch

        self.bottom = mlp(BOTTOM, last_relu=True)
        self.top = mlp(TOP, last_relu=False)
        self.table = torch.nn.Embedding(TABLES * ROWS, DIMENSION, sparse=True)
        self.lower = torch.tril_indices(VECTORS, VECTORS, -1)
        parameters = [*self.bottom.parameters(), *self.top.parameters(), *self.table.parameters()]
        self.optimizer = torch.optim.SGD(parameters, lr=learning_rate)

    def step(self, dense, ids, labels):
        import torch

        first = self.bottom(dense)
        vectors = torch.cat([first.unsqueeze(1), self.table(ids)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        pairs = products[:, self.lower[0], self.lower[1]]
        logits = self.top(torch.cat([first, pairs], 1)).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


def samples_per_second(batch, seconds, repeats):
    import torch

    torch.manual_seed(1)
    model = Dlrm(learning_rate=0.05)
    offsets = torch.arange(TABLES) * ROWS
    batches = [
        (
            torch.rand(batch, DENSE),
            torch.randint(0, ROWS, (batch, TABLES)) + offsets,
            torch.randint(0, 2, (batch,)).float(),
        )
        for _ in range(DISTINCT_BATCHES)
    ]
    for inputs in batches[:3]:
        model.step(*inputs)
    rates = []
    for _ in range(repeats):
        start, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - start < seconds:
            loss = model.step(*batches[steps % len(batches)])
            steps += 1
        rates.append(steps * batch / (time.perf_counter() - start))
        if not torch.isfinite(loss):
            sys.exit("the loss is not finite")
    return statistics.median(rates)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip(),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2", help="ascending: threads that wait are busy")
    parser.add_argument("--batches", default="128,512,2048")
    parser.add_argument("--seconds", type=float, default=1.5, help="of one repeat")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processors", help="one thread runs on the first, more on all: 0,1")
    arguments = parser.parse_args()
    use_openblas_with_openmp()
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    values = {}
    for threads in map(int, arguments.threads.split(",")):
        if arguments.processors:  # inherited by the threads that torch starts later
            processors = [int(number) for number in arguments.processors.split(",")]
            os.sched_setaffinity(0, processors if threads > 1 else processors[:1])
        torch.set_num_threads(threads)
        for batch in map(int, arguments.batches.split(",")):
            rate = samples_per_second(batch, arguments.seconds, arguments.repeats)
            values[f"batch_{batch}_threads_{threads}"] = rate
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "values": values}))


if __name__ == "__main__":
    main()
