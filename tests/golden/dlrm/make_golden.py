#!/usr/bin/env python3
"""Writes dlrm.json: a tiny DLRM with its probabilities, loss and every gradient, in 64-bit floats.

An oracle for tests/worker/model/golden_test.cc that shares no line with the C++: one sample at a
time, plain lists, standard library only. Before writing, it checks its own gradients by central
differences. Inputs are multiples of 1/256, so they are the same numbers in 32 bits. Run it in its
own folder; the output is a function of SEED alone.
"""

import json
import math
import random

SEED = 6
DENSE_FEATURES = 3
TABLES = 4
ROWS_PER_TABLE = 100
DIMENSION = 4
BOTTOM_WIDTHS = [5, 4]
TOP_WIDTHS = [6, 1]
BATCH = 7
IDS_IN_USE = 4  # per table, fewer than the batch: some repeat
KINK_MARGIN = 1e-3  # no ReLU input nearer to 0, where 32 and 64 bits could disagree


def dyadic(generator, bound):
    return generator.randint(-int(bound * 256), int(bound * 256)) / 256


def make_parameters(generator):
    parameters = {}
    pair_count = (TABLES + 1) * TABLES // 2
    for name, width, outputs in (("bottom", DENSE_FEATURES, BOTTOM_WIDTHS),
                                 ("top", DIMENSION + pair_count, TOP_WIDTHS)):
        for i, output in enumerate(outputs):
            parameters[f"{name}/{i}/weight"] = [dyadic(generator, 1) for _ in range(output * width)]
            parameters[f"{name}/{i}/bias"] = [dyadic(generator, 0.5) for _ in range(output)]
            width = output
    return parameters


def make_input(generator):
    ids_in_use = [sorted(generator.sample(range(ROWS_PER_TABLE), IDS_IN_USE))
                  for _ in range(TABLES)]
    samples = [{
        "label": generator.randint(0, 1),
        "dense": [dyadic(generator, 2) for _ in range(DENSE_FEATURES)],
        "ids": [generator.choice(ids_in_use[t]) for t in range(TABLES)],
    } for _ in range(BATCH)]
    used = [sorted({sample["ids"][t] for sample in samples}) for t in range(TABLES)]
    rows = [{i: [dyadic(generator, 1) for _ in range(DIMENSION)] for i in used[t]}
            for t in range(TABLES)]
    return samples, rows


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def mlp_forward(parameters, name, depth, relu_last, x, margins):
    """Returns the input and then the output of every layer."""
    outputs = [x]
    for i in range(depth):
        weight, bias = parameters[f"{name}/{i}/weight"], parameters[f"{name}/{i}/bias"]
        width = len(outputs[-1])
        y = [dot(weight[o * width:(o + 1) * width], outputs[-1]) + bias[o]
             for o in range(len(bias))]
        if relu_last or i + 1 < depth:
            margins.extend(abs(value) for value in y)
            y = [max(0.0, value) for value in y]
        outputs.append(y)
    return outputs


def mlp_backward(parameters, name, depth, relu_last, outputs, dy, gradients):
    """Adds to gradients; returns the gradient of the input."""
    for i in reversed(range(depth)):
        if relu_last or i + 1 < depth:
            dy = [g if y > 0 else 0.0 for g, y in zip(dy, outputs[i + 1])]
        x, weight = outputs[i], parameters[f"{name}/{i}/weight"]
        dx = [0.0] * len(x)
        for o, g in enumerate(dy):
            gradients[f"{name}/{i}/bias"][o] += g
            for k, value in enumerate(x):
                gradients[f"{name}/{i}/weight"][o * len(x) + k] += g * value
                dx[k] += g * weight[o * len(x) + k]
        dy = dx
    return dy


def forward(parameters, rows, sample, margins):
    bottom = mlp_forward(parameters, "bottom", len(BOTTOM_WIDTHS), True, sample["dense"], margins)
    vectors = [bottom[-1]] + [rows[t][sample["ids"][t]] for t in range(TABLES)]
    pairs = [dot(vectors[i], vectors[j]) for i in range(1, len(vectors)) for j in range(i)]
    top = mlp_forward(parameters, "top", len(TOP_WIDTHS), False, bottom[-1] + pairs, margins)
    return bottom, vectors, top


def logloss_sum(parameters, rows, samples, margins):
    total = 0.0
    for sample in samples:
        logit = forward(parameters, rows, sample, margins)[2][-1][0]
        probability = 1 / (1 + math.exp(-logit))
        total -= math.log(probability if sample["label"] else 1 - probability)
    return total


def backward(parameters, rows, sample, gradients, row_gradients):
    """Adds the gradient of the batch's mean loss; returns the probability."""
    bottom, vectors, top = forward(parameters, rows, sample, [])
    probability = 1 / (1 + math.exp(-top[-1][0]))
    dx = mlp_backward(parameters, "top", len(TOP_WIDTHS), False, top,
                      [(probability - sample["label"]) / BATCH], gradients)
    dv = [dx[:DIMENSION]] + [[0.0] * DIMENSION for _ in range(TABLES)]
    pair = DIMENSION
    for i in range(1, len(vectors)):
        for j in range(i):
            for d in range(DIMENSION):
                dv[i][d] += dx[pair] * vectors[j][d]
                dv[j][d] += dx[pair] * vectors[i][d]
            pair += 1
    for t in range(TABLES):
        row = row_gradients[t][sample["ids"][t]]
        for d in range(DIMENSION):
            row[d] += dv[t + 1][d]
    mlp_backward(parameters, "bottom", len(BOTTOM_WIDTHS), True, bottom, dv[0], gradients)
    return probability


def check_by_differences(values, gradient, loss, step=1e-6):
    for k, value in enumerate(values):
        values[k] = value + step
        above = loss()
        values[k] = value - step
        below = loss()
        values[k] = value
        difference = (above - below) / (2 * step) / BATCH
        assert abs(difference - gradient[k]) < 1e-8 + 1e-6 * abs(gradient[k]), gradient[k]


def main():
    generator = random.Random(SEED)
    parameters = make_parameters(generator)
    samples, rows = make_input(generator)
    gradients = {name: [0.0] * len(values) for name, values in parameters.items()}
    row_gradients = [{i: [0.0] * DIMENSION for i in table} for table in rows]
    probabilities = [backward(parameters, rows, s, gradients, row_gradients) for s in samples]

    margins = []
    total = logloss_sum(parameters, rows, samples, margins)
    assert min(margins) > KINK_MARGIN, "choose another SEED: a ReLU input is next to 0"
    for name, values in parameters.items():
        check_by_differences(values, gradients[name],
                             lambda: logloss_sum(parameters, rows, samples, []))
        assert any(gradients[name]), f"choose another SEED: {name} has no gradient"
    for t in range(TABLES):
        for i, values in rows[t].items():
            check_by_differences(values, row_gradients[t][i],
                                 lambda: logloss_sum(parameters, rows, samples, []))

    golden = {
        "dense_features": DENSE_FEATURES,
        "tables": TABLES,
        "rows_per_table": ROWS_PER_TABLE,
        "dimension": DIMENSION,
        "bottom_widths": BOTTOM_WIDTHS,
        "top_widths": TOP_WIDTHS,
        "labels": [sample["label"] for sample in samples],
        "dense": [value for sample in samples for value in sample["dense"]],
        "ids": [i for sample in samples for i in sample["ids"]],
        "parameters": parameters,
        "unique_ids": [list(table) for table in rows],
        "rows": [sum(table.values(), []) for table in rows],
        "probabilities": probabilities,
        "logloss_sum": total,
        "gradients": gradients,
        "row_gradients": [sum(table.values(), []) for table in row_gradients],
    }
    with open("dlrm.json", "w", encoding="utf-8") as file:
        file.write("{\n")
        file.write(",\n".join(f'"{key}": {json.dumps(value)}' for key, value in golden.items()))
        file.write("\n}\n")


if __name__ == "__main__":
    main()
