#!/usr/bin/env python3
"""The peer of weir-bench gpu: PyTorch on the same card, one part of it a call.

  select     copies, selection by a threshold (abs, compare, nonzero, take) and torch.topk, of one layer
  products   matrix products of the shapes of layers, which are cuBLAS's
  train      steps of the model of pytorch_dlrm.py, with SGD: eager, replayed as a CUDA graph, through torch.compile,
             and a graph of that. Batches, and all tables, lie on the card. Each variant's loss falls.

Prints one JSON line: {"peer": "PyTorch 2.14.1 on NVIDIA H100", "values": {...}}: seconds of select and products (the copy:
bytes a second), samples per second of train; or with "failure" instead of "values". What of train could not be
measured has no value, and "peer" says why.
"""

import argparse
import json
import time

import gpu_parts


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip(), allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("select", "products", "train"))
    parser.add_argument("--device", default="cuda:0", help="cpu, to try this script without a card")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="each thing once")
    parser.add_argument("--elements", type=int, default=1 << 20, help="of the layer of select")
    parser.add_argument("--layer", action="append", default=[], help="inputs and outputs, of products: 512x256")
    parser.add_argument("--batch", action="append", type=int, default=[], help="of products one, of train any number")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32", help="of train")
    parser.add_argument("--seconds_in_all", type=float, default=60, help="after which train begins no variant")
    return parser.parse_args()


def main():
    arguments = parse()
    arguments.start = time.perf_counter()
    import torch

    name = f"PyTorch {torch.__version__.split('+')[0]}"
    if arguments.device != "cpu":
        if not torch.cuda.is_available():
            print(json.dumps({"peer": name, "failure": "it has no CUDA, or finds no card"}))
            return
        name += f" on {torch.cuda.get_device_name(arguments.device)}"
    try:
        values, remarks = getattr(gpu_parts, arguments.part)(arguments)
    except Exception as error:
        print(json.dumps({"peer": name, "failure": gpu_parts.first_line(error)}))
        return
    print(json.dumps({"peer": ", ".join([name] + remarks), "values": values}))


if __name__ == "__main__":
    main()
