#!/usr/bin/env python3
"""Writes update_rules.json: what PyTorch's optimizers make of 24 values in 100 steps: with gradients
in every step, in 32-bit floats, and with steps in which most elements have none, in 64-bit floats.
AdamW rounds its decay by itself, by more than is compared here, so it has 64 bits both times.

An oracle for tests/common/store/golden_test.cc. Gradients are a function of element and step that
both sides compute without rounding. Needs PyTorch; run it in its own folder."""

import json

import torch

ELEMENTS = 24
STEPS = 100
KEPT = (1, 2, 10, 50, 100)  # steps after which the values are written down

CASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.01, weight_decay=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_betas": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.9), eps=1e-5),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.05),
}


def initial(i):
    return 1 + i / 64


def gradient(i, step, sparse):
    if sparse and (i * 5 + step * 11) % 7 > 0:
        return 0.0  # six of seven
    return ((i * 7919 + step * 104729 + i * step * 31) % 513 - 256) / 256


def run(make, sparse, dtype):
    values = torch.tensor([initial(i) for i in range(ELEMENTS)], dtype=dtype)
    values.requires_grad_(True)
    optimizer = make([values])
    kept = {}
    for step in range(1, STEPS + 1):
        values.grad = torch.tensor([gradient(i, step, sparse) for i in range(ELEMENTS)],
                                   dtype=dtype)
        optimizer.step()
        if step in KEPT:
            kept[str(step)] = values.tolist()
    return kept


def main():
    golden = {"pytorch": torch.__version__, "elements": ELEMENTS, "steps": STEPS,
              "dense": {name: run(make, False, torch.float64 if name == "adamw" else torch.float32)
                        for name, make in CASES.items()},
              "sparse": {name: run(make, True, torch.float64) for name, make in CASES.items()}}
    with open("update_rules.json", "w", encoding="utf-8") as f:
        json.dump(golden, f, indent=0)
        f.write("\n")


main()
