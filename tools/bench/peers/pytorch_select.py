#!/usr/bin/env python3
"""Error feedback and selection by threshold in PyTorch on one thread, the peer of weir-bench select.

usage: pytorch_select.py ELEMENTS STEPS [PERCENT]...

PERCENT is a sparsity; 99 and 95 if there is none.

The residual e takes the gradient, what reaches the threshold tau leaves it as indexes and values.
Two forms, both in place and without allocation but for what they select; a third by topk:
  compare  abs, ge, nonzero, index_select, index_fill_
  shrink   hardshrink, nonzero, index_select, index_fill_ (one pass less; strictly above tau)
  topk     abs, topk, index_select, index_fill_
Gradients are those of weir-bench: normal, a scale per row of 512, another window in each step. tau
follows the density of every step, outside the measured time.

Prints {"peer", "values"}: the median seconds of a step as <form>_<sparsity in percent>, and
fastest_<...>, the better of compare and shrink.
"""

import json
import math
import statistics
import sys
import time

import torch

ROW, ROWS, WINDOWS = 512, 8, 32
SHIFT = ROW * ROWS
TOLERANCE = 0.15


class Layer:
    """A residual and what steps need besides."""

    def __init__(self, gradients, elements, density):
        self.gradients, self.elements, self.density = gradients, elements, density
        self.residual = torch.zeros(elements)
        self.magnitude = torch.empty(elements)
        self.mask = torch.empty(elements, dtype=torch.bool)
        self.kept = max(1, int(elements * density))
        self.tau = None
        self.window = 0

    def next_gradient(self):
        self.window = (self.window + 13) % WINDOWS
        return self.gradients[self.window * SHIFT : self.window * SHIFT + self.elements]

    def take(self, indexes):
        values = self.residual.index_select(0, indexes)
        self.residual.index_fill_(0, indexes, 0.0)
        return indexes, values

    def compare(self, gradient):
        self.residual.add_(gradient)
        torch.abs(self.residual, out=self.magnitude)
        torch.ge(self.magnitude, self.tau, out=self.mask)
        return self.take(torch.nonzero(self.mask).squeeze(1))

    def shrink(self, gradient):
        self.residual.add_(gradient)
        torch.ops.aten.hardshrink.out(self.residual, self.tau, out=self.magnitude)
        return self.take(torch.nonzero(self.magnitude).squeeze(1))

    def topk(self, gradient):
        self.residual.add_(gradient)
        torch.abs(self.residual, out=self.magnitude)
        return self.take(torch.topk(self.magnitude, self.kept, sorted=False).indices)

    def steps(self, form, count):
        """The seconds of each step, and the density of all."""
        seconds, sent = [], 0
        for _ in range(count):
            gradient = self.next_gradient()
            start = time.perf_counter()
            indexes, _ = form(gradient)
            seconds.append(time.perf_counter() - start)
            sent += indexes.numel()
            ratio = indexes.numel() / (self.elements * self.density)
            self.tau *= math.exp(0.1 * (min(ratio, 6.0) - 1))
        return seconds, sent / (count * self.elements)

    def settle(self, count):
        """As weir does: a new quantile at the steps 0, 1, 2, 4, ..."""
        for step in range(count):
            if step & (step - 1) == 0:
                accumulated = (self.residual + self.gradients[: self.elements]).abs_()
                stride = max(1, self.elements // 65536)
                sample = accumulated[::stride]
                kept = max(1, int(sample.numel() * self.density))
                self.tau = torch.topk(sample, kept).values[-1].item()
            self.steps(self.compare, 1)


def make_gradients(elements):
    torch.manual_seed(1)
    gradients = torch.randn((elements // SHIFT + 1 + WINDOWS) * SHIFT)
    scale = (torch.arange(ROWS) / ROWS + 0.5).mul_(1e-3).repeat_interleave(ROW)
    gradients.view(-1, SHIFT).mul_(scale)
    return gradients


def measure(gradients, elements, steps, percent):
    layer = Layer(gradients, elements, 1 - percent / 100)
    layer.settle(300 if elements < 1 << 22 else 70)
    values = {}
    for form in (layer.compare, layer.shrink):
        seconds, density = layer.steps(form, steps)
        if abs(density / layer.density - 1) > TOLERANCE:
            sys.exit(f"a density of {density} instead of {layer.density}")
        values[f"{form.__name__}_{percent}"] = statistics.median(seconds)
    values[f"fastest_{percent}"] = min(values.values())
    layer.steps(layer.topk, 1)  # its memory
    values[f"topk_{percent}"] = statistics.median(layer.steps(layer.topk, min(steps, 9))[0])
    return values


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    elements, steps, *percents = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    values = {}
    with torch.inference_mode():
        gradients = make_gradients(elements)
        for percent in percents or (99, 95):
            values |= measure(gradients, elements, steps, percent)
    print(json.dumps({"peer": f"PyTorch {torch.__version__.split('+')[0]}", "values": values}))


if __name__ == "__main__":
    main()
