"""How good a network is on data it did not train on."""

from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from hyperproto._core.processes import meet_other_processes
from hyperproto.data import Batches, as_dataset
from hyperproto.metrics import absolute_error_terms, accuracy_terms
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.training.layout import lay_out, to_device

__all__ = ["evaluate", "measure"]


@torch.no_grad()
def evaluate(
    network: nn.Module,
    space: OutputSpace,
    data: Any,
    *,
    batch_size: int = 512,
    accelerator: Accelerator | None = None,
) -> dict[str, float]:
    """Return accuracy for class tasks and mean absolute error for ranges.

    Each example counts once, whatever the number of processes; missing labels do not count.

    Returns
    -------
    dict
        ``{"accuracy": ...}`` or ``{"mae": ...}`` for one unnamed task, else ``{"digit/accuracy": ...}`` and so on.
    """
    if accelerator is None:
        meet_other_processes()
        accelerator = Accelerator()
    batches = Batches(
        as_dataset(data, name="data"),
        batch_size,
        shuffle=False,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
    )
    network.to(accelerator.device)
    channels_last = lay_out(network)
    space.to(accelerator.device)
    was_training = network.training
    network.eval()
    sums: dict[str, tuple[float, int]] = {}
    try:
        for inputs, targets in batches.epoch():
            if len(inputs):
                z = network(to_device(inputs, accelerator.device, channels_last=channels_last))
                _add(sums, measure(space.predict(z), to_device(targets, accelerator.device)))
    finally:
        network.train(was_training)
    totals: dict[str, tuple[float, int]] = {}
    for part in gather_object([sums]):  # a process may have had no example, and so no measure
        _add(totals, part)
    return {name: total / count if count else float("nan") for name, (total, count) in totals.items()}


def _add(sums: dict[str, tuple[float, int]], terms: dict[str, tuple[float, int]]) -> None:
    for name, (total, count) in terms.items():
        before = sums.get(name, (0.0, 0))
        sums[name] = before[0] + total, before[1] + count


def measure(predictions: Targets, targets: Targets) -> dict[str, tuple[float, int]]:
    """Return (sum, count) of each measure: whole numbers are classes, others are measured by distance."""
    if isinstance(predictions, Tensor):
        predictions = {"": predictions}
    if isinstance(targets, Tensor):
        targets = {"": targets}
    terms = {}
    for task, predicted in predictions.items():
        prefix = f"{task}/" if task else ""
        if predicted.dtype.is_floating_point:
            terms[f"{prefix}mae"] = absolute_error_terms(predicted, targets[task])
        else:
            terms[f"{prefix}accuracy"] = accuracy_terms(predicted, targets[task])
    return terms
