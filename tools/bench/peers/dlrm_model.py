"""The model of pytorch_dlrm.py: tables of any kind, and the network that takes their rows to a loss."""

import contextlib

import torch

from dlrm_shape import BOTTOM, LEARNING_RATE, TOP, VECTORS


def mlp(widths, last_relu):
    layers = []
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        layers.append(torch.nn.Linear(inputs, outputs))
        if last_relu or i + 2 < len(widths):
            layers.append(torch.nn.ReLU(inplace=True))
    return torch.nn.Sequential(*layers)


class Network(torch.nn.Module):
    """All but the tables. One batched product for the interaction, one selection of its pairs."""

    def __init__(self, bf16, device_type="cpu"):
        super().__init__()
        self.bottom = mlp(BOTTOM, last_relu=True)
        self.top = mlp(TOP, last_relu=False)
        lower = torch.tril_indices(VECTORS, VECTORS, -1)
        self.register_buffer("pairs", lower[0] * VECTORS + lower[1])
        self.bf16, self.device_type = bf16, device_type

    def forward(self, dense, rows, labels):
        with torch.autocast(self.device_type, dtype=torch.bfloat16) if self.bf16 else contextlib.nullcontext():
            logits = self.logits(dense, rows)
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        return loss(logits.float().squeeze(1), labels)

    def logits(self, dense, rows):
        first = self.bottom(dense)
        vectors = torch.cat([first.unsqueeze(1), rows], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([first, products.flatten(1).index_select(1, self.pairs)], 1))


class Dlrm:
    """A model in training; tables: see dlrm_tables.py."""

    def __init__(self, tables, compiled, bf16):
        self.tables = tables
        self.network = Network(bf16)
        self.loss = torch.compile(self.network, dynamic=False) if compiled else self.network
        fused = {"fused": True} if hasattr(torch.ops.aten, "_fused_sgd_") else {}
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=LEARNING_RATE, **fused)

    def step(self, dense, ids, labels):
        """ids: as tables.prepare gives them. The loss before the update."""
        loss = self.loss(dense, self.tables.rows(ids), labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.tables.step()
        return loss.detach()
