"""Lines of weir-bench that the page of performance shows, in its order and in words; it leaves out the others."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    what: str
    names: tuple           # of lines, told in one cell
    bound: str = ""        # what bounds it, where that is known
    in_unit: bool = False  # told in its unit, and not as a ratio
    peer: str = ""         # what it is compared with, where the lines' own words are not enough


def each(pattern, *sizes):
    return tuple(pattern % size for size in sizes)


def batches(pattern):
    return each(pattern, 128, 512, 2048)


BATCHES = "batch 128, 512, 2048"
MEMORY = "memory: adding the gradient to the residual"
ROWS = "memory: three cache lines in two pages a row"

PARTS = [
    Part("training, one thread, " + BATCHES, batches("train/f32/batch_%d"), "its matrix products"),
    Part("training, one thread, " + BATCHES, batches("train/f32/batch_%d/of_gemm"), "embedding rows and the update"),
    Part("training, two threads, " + BATCHES, batches("train/f32/batch_%d/threads_2/of_1"),
         "at batch 128 weights that go from core to core"),
    Part("training, two threads, " + BATCHES, batches("train/f32/batch_%d/threads_2")),
    Part("training in BF16, one thread, " + BATCHES, batches("train/bf16/batch_%d"), "its matrix products"),
    Part("training in BF16, one thread, " + BATCHES, batches("train/bf16/batch_%d/of_f32")),
    Part("a server and a trainer, DCT-DP 99 %", ("distributed/dct_99",), "the trainer", peer="one process without servers"),
    Part("a server and a trainer, DCT-DP 99 %", ("distributed/dct_99/of_none",), peer="`none`, a server and a trainer"),
    Part("selection of 1 %, of 1 M and 64 M elements", each("select/dct_99/%dM", 1, 64), MEMORY),
    Part("selection of 5 %, of 1 M and 64 M elements", each("select/dct_95/%dM", 1, 64), MEMORY),
    Part("selection of 1 %, of 1 M and 16 M elements", each("select/pytorch_99/%dM", 1, 16)),
    Part("selection of 5 %, of 1 M and 16 M elements", each("select/pytorch_95/%dM", 1, 16)),
    Part("selection of 1 %, of 1 M, 16 M and 64 M elements", each("select/dct_99_of_accumulate/%dM", 1, 16, 64)),
    Part("coding and decoding of 1 %, Rice and BF16", each("code/%s_rice_bf16/1%%", "encode", "decode"), in_unit=True),
    Part("decoding and applying of 1 %, SGD and Adagrad", each("code/apply_%s/1%%", "sgd", "adagrad"),
         "memory: value, stamp and state of each element", True),
    Part("embedding rows read and updated, of 10 M", each("store/row_%s", "reads", "updates"), ROWS, True),
    Part("reading Criteo, batch 512", ("train/f32/batch_512/reading",)),
    Part("reading a CSV file", ("read/csv",)),
    Part("reading gzip", ("read/criteo_tsv_gz",), "inflating"),
    Part("push of 4 KB, 64 KB, 1 MB, 16 MB", each("transport/push/%s", "4K", "64K", "1M", "16M"), "ZeroMQ"),
    Part("pull of 4 KB, 64 KB, 1 MB, 16 MB", each("transport/pull/%s", "4K", "64K", "1M", "16M"), "ZeroMQ"),
    Part("round trip of a short push", ("transport/push_round_trip",), "threads that have to wake"),
    Part("round trip of a message", ("transport/round_trip",)),
    Part("small messages", ("transport/small_messages",)),
    Part("masks: the 13 largest of 256 chosen", ("split/choose_95_pytorch/256x128",)),
    Part("masks: both ways, frames and checksums included", ("split/both_ways_95/256x128",)),
    Part("time to test logloss 0.475 at 100 Mbit/s", ("network/100mbit/time_to_loss",), "the link",
         peer="`none`, which had not reached it when stopped"),
    Part("memory over 200,000 steps: server, two trainers",
         each("memory/%s", "weir-server-0", "weir-worker-0", "weir-worker-1")),
]
