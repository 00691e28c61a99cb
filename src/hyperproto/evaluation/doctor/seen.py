"""What a doctor looks at: a run's record, its space, and its outputs on some of the data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto.data import Arrays, ImageData
from hyperproto.spaces import Classes, OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.tasks import MISSING
from hyperproto.training import RunRecord

__all__ = ["Part", "Seen", "look_at"]

MOST = 4096  # examples of a part: enough for every finding
AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Part:
    """A network's answers to a part of the data.

    Attributes
    ----------
    name : str
        "train" or "test".
    z : Tensor, shape (n, dim)
    predicted, targets : dict of Tensor, shape (n,)
        By task. Where an output has no direction the prediction is missing: -1, or NaN.
    """

    name: str
    z: Tensor
    predicted: dict[str, Tensor]
    targets: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Seen:
    """Everything findings are made of; ``parts`` is empty where there is no data to look at."""

    record: RunRecord
    space: OutputSpace
    parts: tuple[Part, ...] = ()

    def losses(self) -> list[float]:
        """Return the training loss of each epoch; NaN where it was not a number."""
        held = [line.get("loss") for line in self.record.history]
        return [float("nan") if loss is None else float(loss) for loss in held]


@torch.no_grad()
def look_at(name: str, network: nn.Module, space: TaskSpace, data: Arrays | ImageData, *, most: int = MOST) -> Part:
    """Run a network over at most ``most`` examples, spread evenly over the data."""
    network.eval()
    outputs, targets = [], []
    for inputs, wished in _some_of(data, most):
        outputs.append(network(inputs))
        targets.append(_by_task(space, wished))
    z = torch.cat(outputs)
    held = {task: torch.cat([part[task] for part in targets]) for task in space.tasks}
    return Part(name, z, _predict(space, z), held)


def _some_of(data: Arrays | ImageData, most: int) -> Iterator[tuple[Any, Any]]:
    """Yield batches of inputs and targets; data sorted by class are seen from end to end."""
    rows = torch.linspace(0, len(data) - 1, min(most, len(data)), dtype=torch.float64).round().long()
    ids = list(torch.split(rows, AT_ONCE))
    yield from data.batches(ids) if isinstance(data, ImageData) else (data[some] for some in ids)


def _by_task(space: TaskSpace, targets: Any) -> dict[str, Tensor]:
    if isinstance(targets, Mapping) and space.bare:
        return {space.names[0]: next(iter(targets.values()))}
    return dict(targets) if isinstance(targets, Mapping) else {space.names[0]: targets}


def _predict(space: TaskSpace, z: Tensor) -> dict[str, Tensor]:
    """Predict from the rows that have a direction; the others have no answer."""
    usable = z.isfinite().all(dim=1) & (z.abs().amax(dim=1) > torch.finfo(z.dtype).tiny)
    answers = _by_task(space, space.predict(z[usable]))
    found = {}
    for task, answer in answers.items():
        missing = MISSING if isinstance(space.tasks[task], Classes) else torch.nan
        found[task] = answer.new_full((len(z),), missing)
        found[task][usable] = answer
    return found
