#!/usr/bin/env python3
"""The reference of docs/results/learning.md: PyTorch trains the Criteo sample as configs/runs/criteo_sample.textproto
has it, in one process, and tests. Prints AUC and logloss of each seed, and their mean and spread.

  build/peers/bin/python tools/measure/pytorch_criteo.py [--data=../shared/data] [--seeds=8] [--record=FILE]

tools/install_peers makes the interpreter. The same model and initial values (those of DLRM, the last bias 0), the same
rows in the same order and batches, the same transforms and ids, Adagrad whose rate rises for a tenth of the steps,
row-wise Adagrad for embedding rows. About half a minute a seed on one idle core."""

import csv
import gzip
import math
import os
import shlex
import sys

sys.dont_write_bytecode = True
TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TOOLS, os.path.dirname(os.path.abspath(__file__)), os.path.join(TOOLS, "bench", "peers")]
from scripting import result_records, tool_flags  # noqa: E402

# Of the config.
BATCH = 128
DENSE_RATE, ROW_RATE, ROW_ACCUMULATOR, WARMUP_SHARE = 0.005, 0.03, 1e-7, 0.1
FILES = ("criteo_sample_train.tsv.gz", "criteo_sample_test.tsv.gz")
COLUMNS = ("run", "test AUC", "test logloss")
EPSILON = 1e-10


def read(path):
    """Labels, dense features and ids, as criteo_tsv makes them."""
    import torch
    from dlrm_shape import DENSE, ROWS

    labels, dense, ids = [], [], []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as f:
        for fields in csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            labels.append(float(fields[0]))
            dense.append([math.log1p(max(int(field or 0), 0)) for field in fields[1:1 + DENSE]])
            ids.append([int(field or "0", 16) % ROWS for field in fields[1 + DENSE:]])
    return torch.tensor(labels), torch.tensor(dense), torch.tensor(ids)


def initialise(network):
    import torch

    layers = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]
    for layer in layers:
        outputs, inputs = layer.weight.shape
        torch.nn.init.normal_(layer.weight, std=math.sqrt(2 / (inputs + outputs)))
        torch.nn.init.normal_(layer.bias, std=math.sqrt(1 / outputs))
    torch.nn.init.zeros_(layers[-1].bias)


class Tables:
    """All rows in one matrix; row-wise Adagrad, whose accumulator adds the mean square of a row's gradient."""

    def __init__(self):
        import torch
        from dlrm_shape import DIMENSION, ROWS, TABLES

        bound = math.sqrt(1 / ROWS)
        self.rows = torch.empty(TABLES * ROWS, DIMENSION).uniform_(-bound, bound)
        self.accumulators = torch.full((TABLES * ROWS,), ROW_ACCUMULATOR)
        self.offsets = torch.arange(TABLES) * ROWS

    def read(self, ids):
        """The rows, each once, and which of them a sample has."""
        import torch

        keys, places = torch.unique(ids + self.offsets, return_inverse=True)
        return keys, places, self.rows[keys].requires_grad_()

    def update(self, keys, gradient):
        self.accumulators[keys] += gradient.square().mean(1)
        self.rows[keys] -= ROW_RATE * gradient / (self.accumulators[keys].sqrt() + EPSILON).unsqueeze(1)


def train(labels, dense, ids):
    """The network and the tables, after every row once."""
    import torch
    from dlrm_model import Network

    network, tables = Network(bf16=False), Tables()
    initialise(network)
    steps = math.ceil(len(labels) / BATCH)
    warmup = max(1, int(WARMUP_SHARE * steps))
    optimizer = torch.optim.Adagrad(network.parameters(), lr=DENSE_RATE)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / warmup))
    for step in range(steps):
        part = slice(step * BATCH, (step + 1) * BATCH)
        keys, places, rows = tables.read(ids[part])
        loss = network(dense[part], rows[places], labels[part])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        rates.step()
        with torch.no_grad():
            tables.update(keys, rows.grad)
    return network, tables


def score(network, tables, dense, ids):
    import torch

    scores = []
    with torch.no_grad():
        for begin in range(0, len(dense), BATCH):
            part = slice(begin, begin + BATCH)
            _, places, rows = tables.read(ids[part])
            scores.append(torch.sigmoid(network.logits(dense[part], rows[places])).squeeze(1))
    return torch.cat(scores)


def run(data, seed):
    """AUC and logloss of the test rows."""
    import torch
    from sklearn import metrics

    torch.manual_seed(seed)
    (labels, dense, ids), (test_labels, test_dense, test_ids) = data
    network, tables = train(labels, dense, ids)
    scores = score(network, tables, test_dense, test_ids).double().numpy()
    return metrics.roc_auc_score(test_labels.numpy(), scores), metrics.log_loss(test_labels.numpy(), scores)


def write_record(flags, row):
    import torch

    words = ["build/peers/bin/python", "tools/measure/pytorch_criteo.py", "--seeds=%d" % flags.seeds]
    result_records.write(
        flags.record, "PyTorch %s on the rows and the model of the Criteo sample, seeds 1 to %d."
        % (torch.__version__.partition("+")[0], flags.seeds), shlex.join(words), "unknown",
        result_records.machine(sys.executable), {"tables": {"runs": result_records.table(COLUMNS, [row])}})


def parse_flags():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--data", default=os.path.join("..", "shared", "data"), help="folder of the two files")
    parser.add_argument("--seeds", type=int, default=8)
    result_records.add_flag(parser)
    flags = parser.parse_args()
    if flags.seeds < 1:
        parser.error("--seeds: at least 1")
    for name in FILES:
        if not os.access(os.path.join(flags.data, name), os.R_OK):
            parser.error("--data: there is no %s in %s; configs/README.md tells how to cut it" % (name, flags.data))
    try:
        import torch
        import sklearn  # noqa: F401
    except ImportError as error:
        parser.error("%s; tools/install_peers makes an interpreter that has it, build/peers/bin/python" % error)
    torch.set_num_threads(1)
    return flags


def main():
    from pair_statistics import mean_and_deviation

    flags = parse_flags()
    data = [read(os.path.join(flags.data, name)) for name in FILES]
    found = []
    for seed in range(1, flags.seeds + 1):
        found.append(run(data, seed))
        print("seed %d  AUC %.5f  logloss %.5f" % (seed, *found[-1]), flush=True)
    row = ["PyTorch", *(mean_and_deviation([each[i] for each in found]) for i in range(2))]
    print(result_records.markdown(result_records.table(COLUMNS, [row])), end="")
    if flags.record:
        write_record(flags, row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
