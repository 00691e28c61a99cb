"""Running a network over data, and measuring how good it is: everything outside
of training steps.
"""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from hyperproto.data import Batches, as_examples
from hyperproto.data.examples import Values
from hyperproto.defaults import INFERENCE_BATCH_SIZE
from hyperproto.metrics import absolute_error_terms, accuracy_terms
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks.task import higher_is_better
from hyperproto.training.steps import Machine, move, use_channels_last


@torch.no_grad()
def network_outputs(
    network: nn.Module,
    data: object,
    *,
    batch_size: int = INFERENCE_BATCH_SIZE,
    rows: Tensor | None = None,
    device: torch.device | None = None,
    call: Callable[[Values], Tensor] | None = None,
) -> Iterator[tuple[Tensor, Values]]:
    """Yield outputs, shape (n, dim), and targets batch by batch: in evaluation mode, without
    gradients.

    Parameters
    ----------
    network : nn.Module
        Moved to ``device``; its mode is restored at the end.
    data : pair (inputs, targets), Arrays, ImageData, Dataset or Batches
        Every example once, in order.
    batch_size : int, default 512
        Examples at a time; ``Batches`` have their own.
    rows : Tensor of int64, shape (m,), optional
        Run over these examples alone.
    device : torch.device, optional
        Where to compute, and where outputs and targets are; default: where the network is.
    call : callable, optional
        What of the network to call (default: itself), such as ``network.features``.
    """
    if device is None:
        device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    if isinstance(data, Batches):
        batches = data
    else:
        batches = Batches(as_examples(data, name="data"), batch_size, shuffle=False, rows=rows)
    network.to(device)
    channels_last = use_channels_last(network)
    was_training = network.training
    network.eval()
    try:
        for inputs, targets in batches.epoch():
            if len(inputs):
                yield (
                    (call or network)(move(inputs, device, channels_last=channels_last)),
                    move(targets, device),
                )
    finally:
        network.train(was_training)


def stack_outputs(
    network: nn.Module, inputs: Tensor, *, batch_size: int = INFERENCE_BATCH_SIZE
) -> Tensor:
    """Return the outputs of inputs of shape (n, ...), where the network is. Shape (n, dim)."""
    return torch.cat([z for z, _ in network_outputs(network, (inputs, {}), batch_size=batch_size)])


@torch.no_grad()
def evaluate(
    network: nn.Module,
    space: OutputSpace,
    data: object,
    *,
    batch_size: int = INFERENCE_BATCH_SIZE,
    machine: Machine | None = None,
) -> dict[str, float]:
    """Return accuracy for class tasks and mean absolute error for ranges.

    Each example counts once, whatever the number of processes; missing labels do not count.

    Returns
    -------
    dict
        ``{"accuracy": ...}`` or ``{"mae": ...}`` for one unnamed task, else ``{"digit/accuracy":
        ...}`` and so on.
    """
    machine = machine or Machine.here()
    examples, rank, world = as_examples(data, name="data"), machine.rank, machine.processes
    batches = Batches(examples, batch_size, shuffle=False, rank=rank, world=world)
    sums: dict[str, tuple[float, int]] = {}
    space.to(machine.device)
    for z, targets in network_outputs(network, batches, device=machine.device):
        add_terms(sums, measure(space, space.predict(z), targets))
    totals: dict[str, tuple[float, int]] = {}
    for part in machine.gather(sums):  # a process may have had no example, and so no measure
        add_terms(totals, part)
    return mean_terms(totals)


def mean_terms(totals: dict[str, tuple[float, int]]) -> dict[str, float]:
    """Return each sum by its count; NaN where nothing was counted."""
    return {
        name: total / count if count else float("nan") for name, (total, count) in totals.items()
    }


def add_terms(sums: dict[str, tuple[float, int]], terms: dict[str, tuple[float, int]]) -> None:
    """Add the (sum, count) of each measure to those so far."""
    for name, (total, count) in terms.items():
        before = sums.get(name, (0.0, 0))
        sums[name] = before[0] + total, before[1] + count


def measure(
    space: OutputSpace, predictions: Targets, targets: Targets
) -> dict[str, tuple[float, int]]:
    """Return (sum, count) of each metric, as the tasks have them; in a space without tasks whole
    numbers are classes, others are measured by distance.
    """
    terms: dict[str, tuple[float, int]] = {}
    tasks, true = space.tasks, by_name(targets)
    for name, predicted in by_name(predictions).items():
        if name in tasks:
            found = tasks[name].terms(predicted, true[name])
        elif predicted.dtype.is_floating_point:
            found = {"mae": absolute_error_terms(predicted, true[name])}
        else:
            found = {"accuracy": accuracy_terms(predicted, true[name])}
        terms |= {space.metric_name(name, metric): term for metric, term in found.items()}
    return terms


def baseline_metrics(space: OutputSpace, targets: Targets) -> dict[str, float]:
    """Return the measures of the baseline: the majority class, or the median of the targets.

    What is no better than these has learned nothing.
    """
    named = by_name(targets)
    predictions = {name: task.baseline(named[name]) for name, task in space.tasks.items()}
    return mean_terms(measure(space, predictions, targets))


def not_better(measures: Mapping[str, float], baseline: Mapping[str, float]) -> list[str]:
    """Return the names of the measures that are no better than those of the baseline, unless
    these are perfect.

    >>> not_better({"kind/accuracy": 0.4, "size/mae": 2.0}, {"kind/accuracy": 0.5, "size/mae": 3.0})
    ['kind/accuracy']
    """
    return [
        name
        for name, value in baseline.items()
        if (measures[name] <= value < 1 if higher_is_better(name) else measures[name] >= value > 0)
    ]
