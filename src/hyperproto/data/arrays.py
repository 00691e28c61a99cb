"""A data set held in memory, indexed a batch at a time."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import Dataset

from hyperproto._core.errors import InputError, InputTypeError

__all__ = ["AnyDataset", "Arrays", "as_dataset", "index_targets"]

Targets: TypeAlias = Tensor | Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs of shape (n, ...) and targets: a tensor of shape (n,), or one for each task's name.

    Indexing with a tensor of ids gives a batch in one operation.
    """

    inputs: Tensor
    targets: Targets

    def __post_init__(self) -> None:
        tensors = [self.targets] if isinstance(self.targets, Tensor) else list(self.targets.values())
        for target in tensors:
            if len(target) != len(self.inputs):
                raise InputError(
                    f"Inputs and targets must have the same number of rows; got {len(self.inputs)} and {len(target)}."
                )
        if not len(self.inputs):
            raise InputError("A data set must hold at least one example; got none.")

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, ids: Tensor | slice) -> tuple[Tensor, Targets]:
        return _rows(self.inputs, ids), index_targets(self.targets, ids)


AnyDataset: TypeAlias = Arrays | Dataset[Any]


def index_targets(targets: Targets, ids: Tensor | slice) -> Targets:
    """Return the rows ``ids`` of targets in either form."""
    if isinstance(targets, Tensor):
        return _rows(targets, ids)
    return {name: _rows(target, ids) for name, target in targets.items()}


def _rows(values: Tensor, ids: Tensor | slice) -> Tensor:
    return values.index_select(0, ids) if isinstance(ids, Tensor) else values[ids]  # values[ids] takes twice as long


def _tensor(values: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(
            f"`{name}` must be numbers ({error}). Class names become ids by space.encode(names)."
        ) from None


def as_dataset(data: Any, *, name: str) -> AnyDataset:
    """Accept a pair (inputs, targets) of tensors or arrays, an :class:`Arrays`, or a map-style torch Dataset.

    An :class:`~hyperproto.data.images.ImageData` is such a Dataset, from which batches are taken whole.
    """
    if isinstance(data, Arrays):
        return data
    if isinstance(data, Sequence) and not isinstance(data, str) and len(data) == 2:
        inputs, targets = data
        if isinstance(targets, Mapping):
            return Arrays(_tensor(inputs, "inputs"), {key: _tensor(value, key) for key, value in targets.items()})
        return Arrays(_tensor(inputs, "inputs"), _tensor(targets, "targets"))
    if isinstance(data, Dataset) and isinstance(data, Sized):
        return data
    raise InputTypeError(
        f"`{name}` must be a pair (inputs, targets), hp.data.Arrays or ImageData, or a torch Dataset with a length; "
        f"got {type(data).__name__}."
    )
