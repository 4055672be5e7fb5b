"""Lines of weir-bench that the page of performance shows, in its order, and in words. Others of a record are left out.

A part is (what, name of the line, whether it is told in its unit and not as a ratio)."""

BATCHES = (128, 512, 2048)


def training(words, name, batches=BATCHES):
    return [("%s, batch %d" % (words, batch), name % batch, False) for batch in batches]


def sized(words, name, sizes, unit="%s"):
    return [("%s, %s" % (words, unit % size), name % size, False) for size in sizes]


PARTS = [
    *training("training, one thread", "train/f32/batch_%d"),
    *training("training, one thread", "train/f32/batch_%d/of_gemm"),
    *training("training, two threads", "train/f32/batch_%d/threads_2/of_1"),
    *training("training, two threads", "train/f32/batch_%d/threads_2"),
    *training("training in BF16, one thread", "train/bf16/batch_%d"),
    ("a server and a trainer, DCT-DP 99 %", "distributed/dct_99", False),
    ("a server and a trainer, DCT-DP 99 %", "distributed/dct_99/of_none", False),
    *sized("selection of 1 %", "select/dct_99/%dM", (1, 64), "%d M elements"),
    *sized("selection of 5 %", "select/dct_95/%dM", (1, 64), "%d M elements"),
    *sized("selection of 1 %", "select/pytorch_99/%dM", (1, 16), "%d M elements"),
    *sized("selection of 5 %", "select/pytorch_95/%dM", (1, 16), "%d M elements"),
    *sized("selection of 1 %", "select/dct_99_of_accumulate/%dM", (1, 16, 64), "%d M elements"),
    ("coding of 1 %, Rice and BF16", "code/encode_rice_bf16/1%", True),
    ("decoding of 1 %", "code/decode_rice_bf16/1%", True),
    ("decode and apply, SGD", "code/apply_sgd/1%", True),
    ("decode and apply, Adagrad", "code/apply_adagrad/1%", True),
    ("embedding rows read, 10 M of them", "store/row_reads", True),
    ("embedding rows updated", "store/row_updates", True),
    *training("reading Criteo", "train/f32/batch_%d/reading", (512,)),
    ("reading a CSV file", "read/csv", False),
    ("reading gzip", "read/criteo_tsv_gz", False),
    *sized("push", "transport/push/%s", ("4K", "64K", "1M", "16M"), "%sB"),
    *sized("pull", "transport/pull/%s", ("4K", "64K", "1M", "16M"), "%sB"),
    ("round trip of a short push", "transport/push_round_trip", False),
    ("round trip of a message", "transport/round_trip", False),
    ("small messages", "transport/small_messages", False),
    ("masks: the 13 largest of 256 chosen", "split/choose_95_pytorch/256x128", False),
    ("masks: both ways, frames and checksums included", "split/both_ways_95/256x128", False),
    ("behind 100 Mbit/s: time to a test loss", "network/100mbit/time_to_loss", False),
    ("memory of the server over 200,000 steps", "memory/weir-server-0", False),
    ("memory of trainer 0", "memory/weir-worker-0", False),
    ("memory of trainer 1", "memory/weir-worker-1", False),
]
