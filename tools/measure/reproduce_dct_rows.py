"""The rows of reproduce_dct's loss tables: which models, splits and policies, and what they are to reach."""

from dataclasses import dataclass
from typing import Optional

MODEL = ""  # the config's: the paper's, bottom 512-256-64-16, top 512-256-128-1
DEEP = ("model { bottom_widths: [512, 256, 256, 256, 256, 64, 16] "
        "top_widths: [512, 256, 256, 256, 256, 256, 128, 1] }")
DCT_DP = "compression { default { dct { sparsity: 0.99 lifespan: 1000 } values: BF16 } }"
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


LOSS_ROWS = [
    Row("", "none", "one piece", base=None),
    *masked("1", TWO, (75, 90, 95, 98), {75: 0.15, 90: 0.15, 95: 0.15}),
    *masked("1", THREE, (75, 90, 95), {75: 0.15, 90: 0.15}),
    Row("3", "hybrid", "3 stages, 90 %, and gradients, 99 %", pipeline=splits(THREE, dct_mp(0.9)),
        compression=DCT_DP, bound=0.3),
    Row("", "deep-none", "a deeper model in one piece", model=DEEP, base=None),
    *[Row("5", "deep-%d" % percent, "12 splits of it, %d %%" % percent, model=DEEP,
          pipeline=splits(TWELVE, dct_mp(percent / 100)), base="deep-none") for percent in (75, 90, 95)],
    *[Row("6", "sketch-%d" % percent, "Gaussian sketch, %d %%" % percent,
          pipeline=splits(TWO, "gaussian_sketch { compression: %g }" % (percent / 100)))
      for percent in (50, 75, 90)],
    *[Row("7", "top-k-%d" % percent, "top-k of the gradient, %d %%" % percent,
          pipeline=splits(TWO, "top_k_gradient { sparsity: %g }" % (percent / 100)))
      for percent in (50, 75, 90)],
    Row("7", "top-k-forgets-90", "the same, 90 %, without feedback",
        pipeline=splits(TWO, "top_k_gradient { sparsity: 0.9 feedback: false }")),
]
