"""The rows of reproduce_dct's loss tables: which models, splits and policies, and what they are to reach."""

from dataclasses import dataclass
from typing import Optional

MODEL = ""  # the config's: the paper's, bottom 512-256-64-16, top 512-256-128-1
DEEP = ("model { bottom_widths: [512, 256, 256, 256, 256, 64, 16] "
        "top_widths: [512, 256, 256, 256, 256, 256, 128, 1] }")
DCT_DP = "compression { default { dct { sparsity: %g lifespan: 1000 } values: BF16 } }"
# Behind the second layer of the bottom MLP, and of the top one (the paper, section 3.1).
TWO, THREE = ["bottom/1"], ["bottom/1", "top/1"]
THREE_OF_WIDEST = ["bottom/0", "top/0"]
TWELVE = ["bottom/%d" % i for i in range(6)] + ["top/%d" % i for i in range(6)]


def dct_mp(sparsity, more=""):
    return "dct_mp { sparsity: %g%s }" % (sparsity, more)


def splits(layers, policy):
    return "pipeline { %s }" % " ".join('split { after: "%s" %s }' % (layer, policy) for layer in layers)


@dataclass(frozen=True)
class Row:
    table: str  # of the paper
    name: str   # of the run's folder
    what: str
    model: str = MODEL
    pipeline: str = ""
    compression: str = ""
    base: Optional[str] = "none"      # the row that it is compared with
    bound: Optional[float] = None     # of the upper limit of the relative difference, in percent


def masked(table, layers, percents, bounds):
    words = "%d stages" % (len(layers) + 1)
    return [Row(table, "%d-stages-%d" % (len(layers) + 1, percent), "%s, %d %%" % (words, percent),
                pipeline=splits(layers, dct_mp(percent / 100)), bound=bounds.get(percent))
            for percent in percents]


def printed(percent):
    """By the rank that the paper's algorithm prints, which sends one element more than its text."""
    return Row("1", "2-stages-printed-%d" % percent, "2 stages, %d %%, the printed rank" % percent,
               pipeline=splits(TWO, dct_mp(percent / 100, " one_based_rank: true")))


def hybrid(percent):
    """Activations and gradients alike, as in the paper."""
    return Row("3", "hybrid-%d" % percent, "3 stages and gradients, both %d %%" % percent,
               pipeline=splits(THREE, dct_mp(percent / 100)), compression=DCT_DP % (percent / 100))


def sketch(percent, name="", more="", words=""):
    return Row("6", "sketch%s-%d" % (name, percent), "Gaussian sketch, %d %%%s" % (percent, words),
               pipeline=splits(TWO, "gaussian_sketch { compression: %g%s }" % (percent / 100, more)))


def top_k(percent, name="", more="", words=""):
    return Row("7", "top-k%s-%d" % (name, percent), "top-k of the gradient, %d %%%s" % (percent, words),
               pipeline=splits(TWO, "top_k_gradient { sparsity: %g%s }" % (percent / 100, more)))


LOSS_ROWS = [
    Row("", "none", "one piece", base=None),
    *masked("1", TWO, (75, 90, 95, 98), {75: 0.15, 90: 0.15, 95: 0.15}),
    *[printed(percent) for percent in (90, 95, 98)],
    *masked("1", THREE, (75, 90, 95), {75: 0.15, 90: 0.15}),
    Row("3", "hybrid", "3 stages, 90 %, and gradients, 99 %", pipeline=splits(THREE, dct_mp(0.9)),
        compression=DCT_DP % 0.99, bound=0.3),
    *[hybrid(percent) for percent in (75, 90, 95)],
    Row("", "deep-none", "a deeper model in one piece", model=DEEP, base=None),
    *[Row("5", "deep-%d" % percent, "12 splits of it, %d %%" % percent, model=DEEP,
          pipeline=splits(TWELVE, dct_mp(percent / 100)), base="deep-none") for percent in (75, 90, 95)],
    *[sketch(percent) for percent in (50, 75, 90)],
    *[sketch(percent, "-adjoint", " exact_adjoint: true", ", the gradient by it too") for percent in (50, 75, 90)],
    *[sketch(percent, "-fixed", " fixed: true", ", one for the run") for percent in (50, 75, 90)],
    *[top_k(percent) for percent in (50, 75, 90)],
    top_k(90, "-forgets", " feedback: false", ", without feedback"),
    *[top_k(percent, "-batch", " whole_batch: true", " of the whole batch") for percent in (50, 75, 90)],
]
