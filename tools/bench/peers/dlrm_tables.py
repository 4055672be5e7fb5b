"""The embedding tables of pytorch_dlrm.py, each kind as its library updates them by SGD.

Each kind takes the initial values, all tables in one matrix; brings a batch's ids into the form that
its lookup reads, before anything is timed; and has the rows of a batch as samples by tables by
dimension. Rows are updated by the backward pass, or by step. package: what a kind needs beside
PyTorch, of its objects with the version.
"""

import torch

from dlrm_shape import DIMENSION, LEARNING_RATE, ROWS, TABLES


def initial_values():
    return torch.empty(TABLES * ROWS, DIMENSION).uniform_(-0.01, 0.01)


class EmbeddingTables:
    """All tables as one torch.nn.Embedding, so that one gather serves all; sparse gradients."""

    package = None

    def __init__(self, initial):
        self.offsets = torch.arange(TABLES) * ROWS
        self.embedding = torch.nn.Embedding.from_pretrained(initial, freeze=False, sparse=True)
        self.optimizer = torch.optim.SGD(self.embedding.parameters(), lr=LEARNING_RATE)

    def prepare(self, ids):
        return ids + self.offsets

    def rows(self, prepared):
        return self.embedding(prepared)

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def values(self):
        return self.embedding.weight.detach()


def by_tables(ids):
    """The ids table after table, as FBGEMM and TorchRec read them."""
    return ids.t().reshape(-1)


class FbgemmTables:
    """FBGEMM's fused tables, one id a bag: the backward pass updates the rows."""

    package = "FBGEMM"

    def __init__(self, initial):
        import fbgemm_gpu
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)

        self.package = f"FBGEMM {fbgemm_gpu.__version__}"
        table = (ROWS, DIMENSION, EmbeddingLocation.HOST, ComputeDevice.CPU)
        self.bags = SplitTableBatchedEmbeddingBagsCodegen(
            [table] * TABLES, optimizer=EmbOptimType.EXACT_SGD, learning_rate=LEARNING_RATE)
        for weights, values in zip(self.bags.split_embedding_weights(), initial.split(ROWS)):
            weights.copy_(values)

    def prepare(self, ids):
        return by_tables(ids), torch.arange(ids.numel() + 1)

    def rows(self, prepared):
        return self.bags(*prepared).view(-1, TABLES, DIMENSION)

    def step(self):
        pass

    def values(self):
        return torch.cat(self.bags.split_embedding_weights())


class TorchRecTables:
    """TorchRec's collection of embedding bags, with an optimizer fused into its backward pass."""

    package = "TorchRec"

    def __init__(self, initial):
        import torchrec
        from torchrec.modules.embedding_configs import EmbeddingBagConfig
        from torchrec.modules.fused_embedding_modules import FusedEmbeddingBagCollection

        self.package = f"TorchRec {torchrec.__version__}"
        self.keyed_jagged_tensor = torchrec.KeyedJaggedTensor
        self.keys = [f"feature_{table}" for table in range(TABLES)]
        self.bags = FusedEmbeddingBagCollection(
            [EmbeddingBagConfig(name=f"table_{table}", embedding_dim=DIMENSION, num_embeddings=ROWS,
                                feature_names=[key]) for table, key in enumerate(self.keys)],
            optimizer_type=torch.optim.SGD, optimizer_kwargs={"lr": LEARNING_RATE},
            device=torch.device("cpu"))
        with torch.no_grad():
            for weights, values in zip(self.weights(), initial.split(ROWS)):
                weights.copy_(values)

    def weights(self):
        state = self.bags.state_dict()
        return [state[f"embedding_bags.table_{table}.weight"] for table in range(TABLES)]

    def prepare(self, ids):
        return self.keyed_jagged_tensor(keys=self.keys, values=by_tables(ids),
                                        lengths=torch.ones(ids.numel(), dtype=torch.int64))

    def rows(self, prepared):
        return self.bags(prepared).values().view(-1, TABLES, DIMENSION)

    def step(self):
        pass

    def values(self):
        return torch.cat(self.weights())


KINDS = {"embedding": EmbeddingTables, "fbgemm": FbgemmTables, "torchrec": TorchRecTables}
