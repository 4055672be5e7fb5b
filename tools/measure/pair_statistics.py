"""What results of paired runs say together: losses, densities and bytes, and how sure a mean difference is."""

import math
import statistics

# Of a smaller tensor, one element more or less is a visible share of the density.
MIN_ELEMENTS = 1000


def mean(results, kind):
    """Of the tests' logloss or auc."""
    return statistics.fmean(result["test"][kind] for result in results)


def relative_differences(results, base, pick=lambda test: test["logloss"]):
    """Of test losses, to that of the run of the same seed. pick: another loss of a test."""
    return [pick(result["test"]) / dense["test"]["logloss"] - 1 for result, dense in zip(results, base)]


def fewer(results, *kinds):
    """How many times fewer bytes of these kinds than 32-bit values of everything; infinity if none."""
    dense = sum(r["wire"][k + "_bytes_dense"] for r in results for k in kinds)
    sent = sum(r["wire"][k + "_bytes"] for r in results for k in kinds)
    return dense / sent if sent else math.inf


def density(results):
    """Realised, over the tensors that are large enough, or over all when there are none."""
    every = [layer for r in results for layer in r["layers"]]
    layers = [layer for layer in every if layer["elements"] >= MIN_ELEMENTS] or every
    elements = sum(layer["elements"] for layer in layers)
    return sum(layer["density"] * layer["elements"] for layer in layers) / elements


def mean_and_deviation(values, form="%.5f"):
    """In words; one value has no deviation."""
    told = form % statistics.mean(values)
    return "%s +- %s" % (told, form % statistics.stdev(values)) if len(values) > 1 else told


def student_t(share, freedom):
    """The value that Student's t stays below with this probability, between 0.5 and 1."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def below(t):
        # Simpson's rule over an angle: with t = sqrt(freedom) tan(angle) there is no long tail.
        steps = 400
        width = math.atan(t / math.sqrt(freedom)) / steps
        weights = (1 if i in (0, steps) else 4 if i % 2 else 2 for i in range(steps + 1))
        area = sum(w * math.cos(i * width) ** (freedom - 1) for i, w in enumerate(weights))
        return 0.5 + scale * area * width / 3

    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2


def upper_limit(values, share=0.95):
    """(mean, its standard error, upper one-sided confidence limit of the mean) by Student's t; the
    last two are None for one value."""
    middle = statistics.mean(values)
    if len(values) < 2:
        return middle, None, None
    error = statistics.stdev(values) / math.sqrt(len(values))
    return middle, error, middle + student_t(share, len(values) - 1) * error
