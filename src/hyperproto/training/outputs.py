"""Running a network over data, and measuring how good it is: everything outside
of training steps.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto.data import Batches, as_dataset
from hyperproto.defaults import INFERENCE_BATCH_SIZE
from hyperproto.metrics import absolute_error_terms, accuracy_terms, most_likely
from hyperproto.spaces import OutputSpace
from hyperproto.training.distributed import Machine, move, use_channels_last


@torch.no_grad()
def network_outputs(
    network: nn.Module,
    data: Any,
    *,
    batch_size: int = INFERENCE_BATCH_SIZE,
    rows: Tensor | None = None,
    device: torch.device | None = None,
    call: Callable[[Any], Tensor] | None = None,
) -> Iterator[tuple[Tensor, Any]]:
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
    batches = data
    if not isinstance(data, Batches):
        batches = Batches(as_dataset(data, name="data"), batch_size, shuffle=False, rows=rows)
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
    data: Any,
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
    data, rank, world = as_dataset(data, name="data"), machine.rank, machine.processes
    batches = Batches(data, batch_size, shuffle=False, rank=rank, world=world)
    sums: dict[str, tuple[float, int]] = {}
    space.to(machine.device)
    for z, targets in network_outputs(network, batches, device=machine.device):
        add_terms(sums, measure(space, space.predict_by_task(z), space.by_task(targets)))
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
    space: OutputSpace, predictions: Mapping[str, Tensor], targets: Mapping[str, Tensor]
) -> dict[str, tuple[float, int]]:
    """Return (sum, count) of each measure: whole numbers are classes, others are measured by
    distance.
    """
    terms = {}
    for task, predicted in predictions.items():
        if predicted.dtype.is_floating_point:
            terms[f"{space.prefix(task)}mae"] = absolute_error_terms(predicted, targets[task])
        else:
            terms[f"{space.prefix(task)}accuracy"] = accuracy_terms(predicted, targets[task])
    return terms


def constant_measures(space: OutputSpace, targets: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the measures of the best constant answers to targets: the most frequent class, or the
    median.

    What is no better than these has learned nothing.
    """
    answers = {}
    for name, given in targets.items():
        target = most_likely(given) if given.ndim > 1 else given
        if target.dtype.is_floating_point:
            answers[name] = target.nanmedian().expand(len(target))
        else:
            present = target[target >= 0].long()
            answers[name] = (
                present.mode().values if len(present) else present.new_tensor(0)
            ).expand(len(target))
    return mean_terms(measure(space, answers, targets))


def not_better(measures: Mapping[str, float], constant: Mapping[str, float]) -> list[str]:
    """Return the names of the measures that are no better than those of constant answers, unless
    these are perfect.

    >>> not_better({"kind/accuracy": 0.4, "size/mae": 2.0}, {"kind/accuracy": 0.5, "size/mae": 3.0})
    ['kind/accuracy']
    """
    return [
        name
        for name, value in constant.items()
        if (
            measures[name] <= value < 1
            if name.endswith("accuracy")
            else measures[name] >= value > 0
        )
    ]
