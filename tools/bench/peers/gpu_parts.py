"""The parts of pytorch_gpu.py: each takes its arguments, and returns its values and what is to be said of them."""

import statistics
import time

REPEAT_SECONDS = 0.05
MOST_TIMES = 1000
VERIFIED_STEPS = 8


def first_line(error):
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


def synchronize(arguments):
    import torch

    if arguments.device != "cpu":
        torch.cuda.synchronize(arguments.device)


def seconds_of(arguments, work):
    """Of one call, enqueued so often that its start counts for nothing."""
    def timed(times):
        synchronize(arguments)
        start = time.perf_counter()
        for _ in range(times):
            work()
        synchronize(arguments)
        return (time.perf_counter() - start) / times

    work()
    times = 1 if arguments.quick else max(1, min(MOST_TIMES, int(REPEAT_SECONDS / timed(1))))
    return statistics.median(timed(times) for _ in range(arguments.repeats))


class Layer:
    """One layer in its steady state, as tools/bench/card_selection.cc has it."""

    def __init__(self, elements, density, device):
        import torch

        self.least = 0.5 / density - 0.25
        self.kept = max(1, int(elements * density))
        self.gradient = torch.rand(elements, device=device) * 2 - 1
        self.residual = torch.rand(elements, device=device) * self.least * self.gradient.sign()
        self.magnitude = torch.empty(elements, device=device)

    def take(self, indexes):
        self.residual.index_select(0, indexes)
        self.residual.index_fill_(0, indexes, 0.0)

    def accumulate(self):
        import torch

        self.residual.add_(self.gradient)
        torch.abs(self.residual, out=self.magnitude)

    def compare(self):
        self.accumulate()
        self.take((self.magnitude >= self.least).nonzero().squeeze(1))

    def topk(self):
        import torch

        return torch.topk(self.magnitude, self.kept, sorted=False).indices

    def topk_step(self):
        self.accumulate()
        self.take(self.topk())


def select(arguments):
    import torch

    values, elements = {}, arguments.elements
    torch.manual_seed(1)
    with torch.inference_mode():
        layer = Layer(elements, 0.01, arguments.device)
        values["copy"] = 8 * elements / seconds_of(arguments, lambda: layer.magnitude.copy_(layer.gradient))
        for percent in (99, 95):
            layer = Layer(elements, 1 - percent / 100, arguments.device)
            values[f"compare_{percent}"] = seconds_of(arguments, layer.compare)
        layer = Layer(elements, 0.01, arguments.device)
        layer.accumulate()
        values["topk"] = seconds_of(arguments, layer.topk)
        values["topk_step"] = seconds_of(arguments, layer.topk_step)
    return values, []


def products(arguments):
    import torch

    values, samples = {}, arguments.batch[0]
    for precision, kind in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        for shape in arguments.layer:
            inputs, outputs = map(int, shape.split("x"))
            x, dy, weight = (torch.randn(size, device=arguments.device, dtype=kind)
                             for size in ((samples, inputs), (samples, outputs), (outputs, inputs)))
            for name, work in (("linear_forward", lambda: torch.matmul(x, weight.t())),
                               ("linear_backward_data", lambda: torch.matmul(dy, weight)),
                               ("linear_backward_weight", lambda: torch.matmul(dy.t(), x))):
                values[f"{name}_{shape}_{precision}"] = seconds_of(arguments, work)
    return values, ["F32 without TF32"]


def train(arguments):
    from gpu_training import VARIANTS

    values, remarks = {}, []
    for variant, make in VARIANTS.items():  # the quick ones of all batches first
        for batch in arguments.batch:
            name = f"{variant}_{batch}"
            if time.perf_counter() - arguments.start > arguments.seconds_in_all:
                remarks.append(f"{name} not measured: out of time")
                continue
            try:
                values[name] = rate(arguments, make, batch)
            except Exception as error:  # of what is too old, or cannot be captured
                remarks.append(f"{name} not measured: {first_line(error)}")
    return values, remarks


def rate(arguments, make, batch):
    """Samples per second of a variant whose loss falls."""
    step = make(batch, arguments.precision == "bf16", arguments.device)
    first = statistics.mean(step().item() for _ in range(VERIFIED_STEPS))
    seconds = seconds_of(arguments, step)
    last = statistics.mean(step().item() for _ in range(VERIFIED_STEPS))
    if not arguments.quick and not last < first:
        raise ArithmeticError(f"its loss does not fall: {first} at first, then {last}")
    return batch / seconds
