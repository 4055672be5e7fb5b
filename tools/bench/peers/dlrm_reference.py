"""What pytorch_dlrm.py holds its variants to: the formulas of the same model, in F32, nothing fused.

A variant and the reference start from the same parameters and take the same steps. The losses must
be those of the reference, and each set of parameters must move as there.
"""

import copy

import torch

from dlrm_shape import LEARNING_RATE, ROWS, TABLES


# Each of two tables is rounded to half a unit at most in every step.
VERIFIED_ROUNDINGS = 3


class Tolerance:
    """Relative: of a loss, and of how far parameters move."""

    def __init__(self, bf16):
        self.loss, self.move = (1e-2, 0.25) if bf16 else (1e-4, 1e-2)


class Reference:
    def __init__(self, model):
        self.network = copy.deepcopy(model.network)
        self.network.bf16 = False
        self.table = model.tables.values().clone()

    def step(self, dense, rows_of_ids, labels):
        rows = self.table[rows_of_ids].requires_grad_()
        loss = self.network(dense, rows, labels)
        parameters = list(self.network.parameters())
        *gradients, row_gradient = torch.autograd.grad(loss, [*parameters, rows])
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter -= LEARNING_RATE * gradient
            self.table.index_put_((rows_of_ids,), -LEARNING_RATE * row_gradient, accumulate=True)
        return loss.detach()


def flat(network):
    return torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])


def verify(model, batches, tolerance):
    """Raises ArithmeticError where the model does not train as the reference does.

    batches: dense features, ids by tables and labels each.
    """
    reference = Reference(model)
    touched = [ids + torch.arange(TABLES) * ROWS for _, ids, _ in batches]
    places = torch.cat([places.reshape(-1) for places in touched])
    before = flat(model.network), reference.table[places]
    for (dense, ids, labels), rows_of_ids in zip(batches, touched):
        expected = reference.step(dense, rows_of_ids, labels).item()
        loss = model.step(dense, model.tables.prepare(ids), labels).item()
        if not abs(loss - expected) <= tolerance.loss * expected:
            raise ArithmeticError(f"its loss is {loss}, the reference's {expected}")
    after = flat(model.network), model.tables.values()[places]
    expected = flat(reference.network), reference.table[places]
    for what, *values in zip(("layers", "rows"), before, after, expected):
        off = distance(*values)
        if not off <= tolerance.move:
            raise ArithmeticError(f"its {what} move otherwise than the reference's, by {off:.2g}")


def distance(before, after, expected):
    """Of two moves, as a part of the expected one, beyond what rounding does to values of this size."""
    rounding = VERIFIED_ROUNDINGS * torch.finfo(before.dtype).eps * before.norm()
    return ((after - expected).norm() - rounding).clamp_min(0).div((expected - before).norm()).item()
