"""Steps of the model of pytorch_dlrm.py on a card, in each form that PyTorch has for them.

Rows are gathered from one table of all, and their gradients added to it where they lie: SGD needs no more, and nothing
of it depends on how many ids are distinct, so that a graph can be captured.
"""

import torch

from dlrm_model import Network
from dlrm_shape import DENSE, DIMENSION, LEARNING_RATE, ROWS, TABLES

DISTINCT_BATCHES = 8
WARM_UP_STEPS = 3


class Training:
    """step() trains on one batch after the other; the loss before the update."""

    def __init__(self, size, bf16, device, compiled=False):
        torch.manual_seed(1)
        self.table = torch.empty(TABLES * ROWS, DIMENSION, device=device).uniform_(-0.01, 0.01)
        self.network = Network(bf16, device_type=torch.device(device).type).to(device)
        self.loss_of = torch.compile(self.network, dynamic=False) if compiled else self.network
        self.parameters = list(self.network.parameters())
        offsets = torch.arange(TABLES, device=device) * ROWS
        self.batches = []
        for _ in range(DISTINCT_BATCHES):
            dense = torch.rand(size, DENSE, device=device)
            ids = torch.randint(0, ROWS, (size, TABLES), device=device) + offsets
            self.batches.append((dense, ids, (dense[:, 0] >= 0.5).float()))
        self.steps = 0

    def train(self, dense, ids, labels):
        places = ids.flatten()
        rows = self.table.index_select(0, places).view(*ids.shape, DIMENSION).requires_grad_()
        loss = self.loss_of(dense, rows, labels)
        gradients = torch.autograd.grad(loss, self.parameters + [rows])
        with torch.no_grad():
            torch._foreach_add_(self.parameters, gradients[:-1], alpha=-LEARNING_RATE)
            self.table.index_add_(0, places, gradients[-1].reshape(-1, DIMENSION), alpha=-LEARNING_RATE)
        return loss.detach()

    def next_batch(self):
        self.steps += 1
        return self.batches[self.steps % DISTINCT_BATCHES]

    def step(self):
        return self.train(*self.next_batch())


class Captured:
    """A step as a graph, whose batch is copied to where it was captured."""

    def __init__(self, training):
        self.training = training
        self.place = tuple(part.clone() for part in training.batches[0])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP_STEPS):
                training.train(*self.place)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = training.train(*self.place)

    def step(self):
        for place, part in zip(self.place, self.training.next_batch()):
            place.copy_(part)
        self.graph.replay()
        return self.loss


def captured(size, bf16, device, compiled):
    if torch.device(device).type == "cpu":
        raise RuntimeError("graphs are of cards")
    torch.cuda.set_device(device)
    return Captured(Training(size, bf16, device, compiled)).step


VARIANTS = {
    "eager": lambda size, bf16, device: Training(size, bf16, device).step,
    "graphs": lambda size, bf16, device: captured(size, bf16, device, compiled=False),
    "compile": lambda size, bf16, device: Training(size, bf16, device, compiled=True).step,
    "compile_graphs": lambda size, bf16, device: captured(size, bf16, device, compiled=True),
}
