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
from hyperproto.training.outputs import network_outputs

__all__ = ["add_terms", "evaluate", "mean_terms", "measure"]


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
    rank, world = accelerator.process_index, accelerator.num_processes
    batches = Batches(as_dataset(data, name="data"), batch_size, shuffle=False, rank=rank, world=world)
    sums: dict[str, tuple[float, int]] = {}
    space.to(accelerator.device)
    for z, targets in network_outputs(network, batches, device=accelerator.device):
        add_terms(sums, measure(space.predict(z), targets))
    totals: dict[str, tuple[float, int]] = {}
    for part in gather_object([sums]):  # a process may have had no example, and so no measure
        add_terms(totals, part)
    return mean_terms(totals)


def mean_terms(totals: dict[str, tuple[float, int]]) -> dict[str, float]:
    """Return each sum by its count; NaN where nothing was counted."""
    return {name: total / count if count else float("nan") for name, (total, count) in totals.items()}


def add_terms(sums: dict[str, tuple[float, int]], terms: dict[str, tuple[float, int]]) -> None:
    """Add the (sum, count) of each measure to those so far."""
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
