#!/usr/bin/env python3
"""The largest activations of each sample in PyTorch on one thread, the peer of weir-bench split.

usage: pytorch_split.py FEATURES SAMPLES KEEP STEPS

Activations are normal numbers behind a ReLU, samples by features, as layers of PyTorch have them.

Prints {"peer", "values"}: the median seconds of abs and topk as topk.
"""

import json
import statistics
import sys
import time

import torch


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    features, samples, keep, steps = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    seconds = []
    with torch.inference_mode():
        blocks = [torch.randn(samples, features).relu_() for _ in range(8)]
        for step in range(steps):
            block = blocks[step % len(blocks)]
            start = time.perf_counter()
            block.abs().topk(keep, dim=1, sorted=False)
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"peer": f"PyTorch {torch.__version__.split('+')[0]}",
                      "values": {"topk": statistics.median(seconds)}}))


if __name__ == "__main__":
    main()
