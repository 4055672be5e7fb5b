#!/usr/bin/env python3
"""Writes docs/internals/gpu_floors.md: what each kernel of a step on a card has to move and to compute, and
the time below which it cannot be on a card of a given bandwidth and rate.

  tools/pages/make_gpu_floors.py [--check]

The formulas are those that each file of gpu/kernels opens with; the model is that of tools/bench/dlrm_shape.h.
--check writes nothing and ends with 1 when the page is not what would be written.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "internals", "gpu_floors.md")
SHAPE = os.path.join(ROOT, "tools", "bench", "dlrm_shape.h")
BANDWIDTH = 3.0e12  # bytes a second
RATE = 700e12       # operations of bfloat16 products a second
BATCHES = (2048, 16384, 65536)
SELECTED = 0.01     # the share of elements that leaves
SAMPLE = 65536      # of a layer, at most
SPLIT_WIDTH, SPLIT_KEPT = 1024, 0.05


def sampled(elements):
    """How many of a layer a threshold is taken from (common/compress/residual_sample.h)."""
    return elements // max(1, -(-elements // SAMPLE))


class Shape:
    """The bench's model, read from its header."""

    def __init__(self, text):
        self.dense, self.tables, self.dimension = (
            int(re.search(r"k%s = (\d+);" % name, text)[1]) for name in ("DenseFeatures", "Tables", "Dimension"))
        layers = re.findall(r"\{(\d+), (\d+)(, true)?\}", text)
        self.layers = [(int(inputs), int(outputs), bool(first)) for inputs, outputs, first in layers]
        self.vectors = self.tables + 1
        given, taken = {outputs for _, outputs, _ in self.layers}, {inputs for inputs, _, _ in self.layers}
        self.hidden = given & taken  # widths of what one layer of an MLP gives and the next one takes
        self.tensors = 2 * len(self.layers)  # weights and biases
        self.elements = sum((inputs + 1) * outputs for inputs, outputs, _ in self.layers)
        self.sampled = sum(sampled(inputs * outputs) + sampled(outputs) for inputs, outputs, _ in self.layers)


def product(m, n, k):
    """(bytes, operations) of [m, n] sums over k."""
    return 4 * (m * k + k * n + m * n), 2 * m * n * k


def total(parts):
    return tuple(sum(values) for values in zip(*parts))


def kernels(shape, batch):
    """(name, bytes, operations) of each kernel of a step, rows being on the card."""
    n, d, f, t = batch, shape.dimension, shape.vectors, shape.tables
    pairs = f * (f - 1) // 2
    backward = [layer for layer in shape.layers if not layer[2]]
    yield ("transpose", 8 * n * shape.dense, 0)
    yield ("pool_tables", 8 * n * t * d + 4 * n * t, 0)
    yield ("linear_forward", *total(product(o, n, i) for i, o, _ in shape.layers))
    yield ("interaction_forward", 4 * n * (f * d + d + pairs), n * f * f * d)
    yield ("loss", 12 * n, 60 * n)
    yield ("linear_backward_data", *total(product(i, n, o) for i, o, _ in backward))
    yield ("linear_backward_weight", *total(product(o, i, n) for i, o, _ in shape.layers))
    yield ("interaction_backward", 8 * n * (f * d + d + pairs), 2 * n * f * f * d)
    yield ("scatter_tables", 12 * n * t * d + 4 * n * t, 0)
    yield ("note_not_finite", 8 * shape.elements, 0)
    yield ("accumulate_and_select", int((12 + 6 * SELECTED) * shape.elements), 2 * shape.elements)


def of_layers(shape, batch):
    """Kernels of layers that only some models or policies have."""
    whole = batch * sum(outputs for _, outputs, _ in shape.layers)
    hidden = batch * sum(outputs for _, outputs, _ in shape.layers if outputs in shape.hidden)
    last = whole - hidden
    biases = sum(outputs for _, outputs, _ in shape.layers)
    factors = batch * sum(inputs + outputs for inputs, outputs, _ in shape.layers)
    yield ("bias and ReLU", 8 * last, 2 * last, "after products of cuBLASLt, last layers of an MLP")
    yield ("relu_backward", 12 * last, 0, "last layers of an MLP")
    yield ("bias's gradient", 4 * last, last, "last layers of an MLP; with `precision: BF16` on the way of rounding")
    yield ("bias and ReLU, hidden", 8 * hidden + hidden // 8, 2 * hidden, "where cuBLASLt takes no epilogue")
    yield ("relu_backward, hidden", 12 * hidden, 0, "where cuBLASLt takes no epilogue")
    yield ("bias's gradient, hidden", 4 * hidden, hidden, "where cuBLASLt takes no epilogue")
    yield ("sigmoid_forward", 8 * whole, 20 * whole, "sigmoid in all layers")
    yield ("sigmoid_backward", 12 * whole, 3 * whole, "sigmoid in all layers")
    yield ("rounding to bfloat16", 6 * factors, 0, "`precision: BF16`, activations once each")
    yield ("linear_backward_squares", *total(product(o, i, batch) for i, o, _ in shape.layers), "`variance`, `hybrid`")
    yield ("bias_backward_squares", 4 * whole + 8 * biases, 2 * whole, "`variance`, `hybrid`")
    yield ("sigmoid", 8 * batch, 20 * batch, "evaluation")


def of_gradients(shape):
    """Kernels that go over the dense gradient, or part of it."""
    n = shape.elements
    yield ("clip_norm", 12 * n, 3 * n, "`clip_norm`, where it clips; else 4 bytes an element")
    yield ("add_squares", 12 * n, 2 * n, "`clip_norm` with `variance` or `hybrid`")
    yield ("write_values", int(12 * SELECTED * n), 0, "servers: answers in which 1 % changed")
    yield ("mark_nonzero", 4 * sum(outputs for _, outputs, _ in shape.layers), 0, "dead units: biases")
    yield ("accumulate", 12 * n, n, "a step without a push")
    yield ("accumulate_and_select, squares", int((20 + 6 * SELECTED) * n), 4 * n, "`variance`, `hybrid`")
    yield ("find_ranks", 32 * n, 4 * n, "`top_k`")
    yield ("find_largest", 12 * n, 2 * n, "`variance`")
    yield ("sum_buckets", 8 * n, 4 * n, "`qsgd`, `terngrad`, `one_bit`")
    yield ("gather_magnitudes", 8 * n, n, "`dct`, `sidco`: one of up to three elements, so all lines")
    yield ("find_ranks, of proposals", 16 * n, 4 * n, "`clt_k`, `union_top_k`; `exdyna` in few steps; `deft` of a bin")
    yield ("accumulate_and_select, of proposals", int((4 + 6 * SELECTED) * n), n, "the same and `union_hard_threshold`; `exdyna` of a partition")
    yield ("sum_buckets, of proposals", 4 * n, 2 * n, "`deft`: norms")
    yield ("take_values", int(72 * SELECTED * n), 0, "policies whose trainers agree: 1 % was agreed on")
    yield ("find_ranks, of samples", 16 * shape.sampled, 4 * shape.sampled, "`dct`, where thresholds are renewed")
    yield ("correct_thresholds", 160 * shape.tensors, 50 * shape.tensors, "`dct`, a few bytes for each of its layers")


def of_rows(shape, batch):
    """Kernels of embedding rows beside a step, and of one split."""
    rows, d = batch * shape.tables, shape.dimension
    block, sent = batch * SPLIT_WIDTH, int(SPLIT_KEPT * batch * SPLIT_WIDTH)
    yield ("read_rows", rows * (8 * d + 4), 0, "without servers")
    yield ("update_rows", rows * (12 * d + 5), 2 * rows * d, "without servers, SGD")
    yield ("read_rested_rows", rows * (12 * d + 24), 3 * rows * d, "without servers, momentum")
    yield ("rest_rows", rows * (16 * d + 24), 5 * rows * d, "without servers, momentum")
    yield ("update_dense", 12 * shape.elements, 2 * shape.elements, "without servers, SGD")
    yield ("initialize_rows", rows * (4 * d + 1), 10 * rows * d, "without servers, at the start, as many rows")
    yield ("copy_rows", rows * (8 * d + 8), 0, "row cache: those found")
    yield ("write_rows", rows * (8 * d + 4), 0, "row cache: those that arrive")
    yield ("choose_largest", 12 * block + 8 * sent, 0, "DCT-MP, 5 %% of %s x %s" % (format(batch, ","), format(SPLIT_WIDTH, ",")))
    yield ("gather_values", 12 * sent, 0, "DCT-MP, the way back")


def beside(shape, batch):
    """(name, bytes, operations, whose) of kernels that only some runs have."""
    yield from of_layers(shape, batch)
    yield from of_gradients(shape)
    yield from of_rows(shape, batch)


def floor_us(byte_count, operations):
    return 1e6 * max(byte_count / BANDWIDTH, operations / RATE)


def table(shape, batch):
    rows = list(kernels(shape, batch))
    lines = ["", "## Batch %s" % format(batch, ","), "", "| kernel | MB | million operations | floor, us |", "|---|---|---|---|"]
    for name, byte_count, operations in rows:
        lines.append("| `%s` | %.1f | %.0f | %.1f |" % (
            name, byte_count / 1e6, operations / 1e6, floor_us(byte_count, operations)))
    whole = sum(floor_us(byte_count, operations) for _, byte_count, operations in rows)
    lines.append("| all of them | %.1f | %.0f | %.1f |" % (
        sum(row[1] for row in rows) / 1e6, sum(row[2] for row in rows) / 1e6, whole))
    lines += ["", "That is %.1f million samples a second, if nothing else takes time." % (batch / whole)]
    return lines


def beside_table(shape, batch):
    lines = ["", "## What only some runs have, batch %s" % format(batch, ","), "",
             "| kernel | of runs | MB | floor, us |", "|---|---|---|---|"]
    for name, byte_count, operations, whose in beside(shape, batch):
        lines.append("| `%s` | %s | %.1f | %.1f |" % (name, whose, byte_count / 1e6, floor_us(byte_count, operations)))
    return lines


def epilogues(shape, batch):
    """What cuBLASLt's epilogues save at most."""
    hidden = batch * sum(outputs for _, outputs, _ in shape.layers if outputs in shape.hidden)
    last = batch * sum(outputs for _, outputs, _ in shape.layers if outputs not in shape.hidden)
    saved = (
        ("`RELU_AUX_BIAS`; `BIAS` where there is no ReLU", "forward", 8 * hidden),
        ("`DRELU`", "backward, of the data", 12 * hidden - hidden // 8),
        ("`BGRADB`", "backward, of the weights", 4 * hidden),
    )
    lines = ["", "## Epilogues of cuBLASLt", "",
             "A product of hidden layers ends with bias, ReLU or their gradients, and its result is not gone over again. At batch %s that saves:" % format(batch, ","), "",
             "| epilogue | of which product | MB | us |", "|---|---|---|---|"]
    for name, whose, byte_count in saved:
        lines.append("| %s | %s | %.1f | %.1f |" % (name, whose, byte_count / 1e6, floor_us(byte_count, 0)))
    return lines + [""] + EPILOGUES.strip().replace("LAST", "%.1f" % floor_us(24 * last, 0)).split("\n")


EPILOGUES = """

- A bias runs along the rows of the library's column-major results. So hidden layers lie turned on a card, sample after sample; what an MLP takes and gives lies feature after feature,
  as on the CPU, and its last layer has passes of its own (LAST us in all).
- `RELU_AUX_BIAS` writes a bit for each element, which `DRELU` reads. They lie behind the features of all samples, in the same buffer (`common/kernels/views.h`). Whether a ReLU's
  gradient passes where it was given exactly 0 is the library's affair; on the CPU it does not.
- `BGRADB` sums what is multiplied: with `precision: BF16` what was rounded. It does not add to what is there; where a product adds, a kernel of ours sums.
- Where the library refuses an epilogue for a shape, it multiplies without one, and kernels of ours go over the result (`gpu/kernels/turned.cu`). The log says which product ends by
  which epilogue, and which does not.
- A ReLU's epilogue may make 0 of NaN, so that a loss would not tell of a run that has diverged. `note_not_finite` looks at the MLPs' parameters and gradients in each training step,
  beside the loss: what is no number there ends the run, and its place is named. A sum in a hidden layer that overflows both ways at once, of numbers that are finite, is a 0 there,
  where the CPU ends the run; so is what NaN parameters give in an evaluation.

What becomes of a NaN is from NVIDIA's forum; orders are as NVIDIA's nvmath-python asks for them. None of it was tried on a card by us: the emulator's library is as strict, and makes 0
of NaN.
"""


GRAPHS = """
## What is in the graph

What a thread's steps enqueue with the same arguments is captured as CUDA graphs (`gpu/device/cuda_graphs.h`): the first time it runs as it comes, the second time it is captured,
and from then on the host starts all of it by one call. A step has

| graph | of which steps |
|---|---|
| forward, loss, backward, `note_not_finite`, and the loss's copy to the host | all; one for full batches and one for each size of a last one. Not of a model with splits: there frames come and go |
| the marks of units that are alive | of a model with ReLUs |
| clipping of the dense gradient, and of its squares | with `clip_norm` |
| upload of the plans, what must be finite and its copy, accumulating and selecting, and under `dct` `correct_thresholds` and a copy of what it makes | with servers, of layers that a policy selects from on the card |

The rest is enqueued call after call:

| outside | of which runs | why |
|---|---|---|
| upload of a batch; `read_rows`, or the upload of rows; copies of the rows' gradients; their clipping; `update_rows` and `rest_rows` | all, or without servers | how many unique rows a batch has is another number each time, and sizes are arguments |
| `update_dense`, `update_rows` | without servers | the rate of a schedule and Adam's corrections change by the step, and are arguments |
| waits for events, and their recording | all | of several streams: steps without servers are applied one after the other; a step selects once what the one before selected is copied; rows that came ahead must be there |
| samples, `find_ranks`, `find_largest`, `sum_buckets` | with servers | a step draws places of its own; which layers ask is another set by the step; and all but ranks of samples the host awaits |
| `accumulate` and what must be finite, proposals, `take_values` and the copy of what it took | with servers, of layers whose trainers agree | which ranges a step asks for is another set by the step; the host awaits what was found, for it tells the others; and how much was agreed on is another number each time |
| copies of what left | with servers | as many bytes as left, in a stream of their own |
| `write_values` | with servers | answers come when servers send them, of any size |

A step is not one graph, for the host decides in its midst. It waits for the loss, with the rows' gradients; one that is not finite ends the run, with the layer's name. With servers it then asks for
credit: with it the step selects and sends; without it the host waits, or the gradient is added to the residual and nothing is selected.

The thresholds of `dct` stay on the card from step to step. `find_ranks` puts new ones there, the selection reads them, and behind it the controller, `correct_thresholds`, counts what left of each
layer and corrects its threshold: so the next step selects by that, of whichever stream it is. The host has a copy of all, 32 bytes a layer, with what left; it is for reports and checkpoints.
A correction is the CPU's to the bit, for the same gradient in F32 must send the same bytes. The last bit of an `exp` is another in another library, so it is our own
(`common/kernels/controlled_threshold.h`), of operations that every compiler and card rounds alike.
Without servers nothing is selected, and there is no controller.

What leaves of a gradient under `none` is all of it: those layers' gradients are copied to the host whole.
Under policies whose trainers agree the gradient stays on the card. What is proposed is found there, and its indexes go to the host, with norms and thresholds where a policy has such;
the indexes of the union come back, and the values at them go. The kernels of proposals are those of selections, over parts of ranges in place of stripes, and take nothing.
Where more elements are just as large as the last of the largest than there is room for, what is larger than these is found once more; gradients have that seldom.
"""


def page():
    with open(SHAPE, encoding="utf-8") as f:
        shape = Shape(f.read())
    lines = [
        "# What a step on a card cannot be faster than", "",
        "Each kernel has to move some bytes and to do some operations. A card that does nothing but that takes at least this long:",
        "the larger of the bytes at %.1f TB/s and the operations at %.0f TFLOP/s, those of an H100-class card." % (
            BANDWIDTH / 1e12, RATE / 1e12),
        "The model is the bench's, %s dense parameters; rows are on the card; %.0f %% of the gradient's elements leave." % (
            format(shape.elements, ","), 100 * SELECTED), "",
        "**Not measured:** no kernel has run on a card yet. What a card says will stand beside this, and the difference is what is left to do.",
        "Kernels that are launched once for each layer are counted together. Activations are read and written in 32 bits.",
        "Beyond the floors: with `precision: BF16` each factor is first copied as bfloat16. How products end is [further down](#epilogues-of-cublaslt),",
        "and what the host enqueues by one call is [at the end](#what-is-in-the-graph).",
    ]
    for batch in BATCHES:
        lines += table(shape, batch)
    lines += beside_table(shape, 16384)
    lines += epilogues(shape, 16384)
    lines += [GRAPHS.rstrip()]
    lines += ["", "This page is generated by `tools/pages/make_gpu_floors.py`; the formulas are those that the files of `gpu/kernels` open with.", ""]
    return "\n".join(lines)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        with open(PAGE, encoding="utf-8") as f:
            if f.read() != text:
                sys.exit("docs/internals/gpu_floors.md is not what tools/pages/make_gpu_floors.py writes; run it")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
