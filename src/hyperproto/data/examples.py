"""Examples that batches are taken from: arrays in memory, images, any Dataset, or a DataLoader."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from hyperproto._core.checks import check_finite_rows
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data.preprocessing import from_scipy, is_sparse, take_rows

Targets: TypeAlias = Tensor | Mapping[str, Tensor]
Values: TypeAlias = Any
"""Inputs or targets of a batch: tensors, unless a Dataset of the user's own has others."""


class Examples(ABC):
    """Inputs and targets, wherever they are.

    Attributes
    ----------
    targets : Tensor or mapping from str to Tensor, or None
        All of them, where they are in memory.
    loader : DataLoader or None
        What has batches and an order of its own, so that nobody else can choose examples.
    """

    targets: Targets | None
    loader: DataLoader[object] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @abstractmethod
    def first(self) -> Values:
        """Return the inputs of the first example, or the first batch of a loader. Shape (n, ...)."""

    @abstractmethod
    def batches(
        self, ids: list[Tensor], *, seed: int | None = None, epoch: int = 0, world: int = 1
    ) -> Iterator[tuple[Values, Values]]:
        """Yield the examples of each of ``ids``, varied at random by the epoch where there is a seed.

        ``world`` processes share the cores that prepare them.
        """

    def check_inputs(self) -> None:  # noqa: B027  # only arrays are looked through
        """Raise where inputs that are in memory are not finite."""


@dataclass(frozen=True, eq=False, repr=False)
class Arrays(Examples):
    """Inputs of shape (n, ...), sparse rows among them, and targets: a tensor of shape (n,), or one
    per task by name.

    Indexing with a tensor of ids gives a batch in one operation.
    """

    inputs: Tensor
    targets: Targets

    def __post_init__(self) -> None:
        named = self.targets if isinstance(self.targets, Mapping) else {"": self.targets}
        for target in named.values():
            if len(target) != len(self.inputs):
                got = f"{len(self.inputs)} and {len(target)}"
                raise InputError("Inputs and targets", "have the same number of rows", got)
        if not len(self.inputs):
            raise InputError("A data set", "hold at least one example", "none")

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        return f"Arrays of {len(self):,} inputs of shape {tuple(self.inputs.shape[1:])}"

    def __getitem__(self, ids: Tensor | slice) -> tuple[Tensor, Targets]:
        return take_rows(self.inputs, ids), index_targets(self.targets, ids)

    def first(self) -> Tensor:
        """Return the inputs of the first example. Shape (1, ...)."""
        return take_rows(self.inputs, slice(0, 1))

    def batches(self, ids: list[Tensor], **keys: object) -> Iterator[tuple[Values, Values]]:
        """Yield the examples of each of ``ids``."""
        yield from map(self.__getitem__, ids)

    def check_inputs(self) -> None:
        """Raise where inputs are not finite."""
        if self.inputs.is_floating_point():
            values = self.inputs.values()[:, None] if is_sparse(self.inputs) else self.inputs
            advice = "Remove those rows, or fill in the missing values."
            check_finite_rows(values, "The inputs", advice=advice, error=InputError)


class MapStyle(Examples):
    """The examples of a Dataset that has a length, collated as a DataLoader does."""

    targets = None

    def __init__(self, dataset: Dataset[object]) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]  # which is Sized

    def first(self) -> Values:
        """Return the inputs of the first example. Shape (1, ...)."""
        return default_collate([self.dataset[0]])[0]

    def batches(self, ids: list[Tensor], **keys: object) -> Iterator[tuple[Values, Values]]:
        """Yield the examples of each of ``ids``, without those that are empty."""
        lists = [some.tolist() for some in ids if len(some)]
        # a generator of its own: else the loader draws from the global one, once more where an
        # epoch is resumed
        yield from DataLoader(self.dataset, batch_sampler=lists, generator=torch.Generator())


class Loader(MapStyle):
    """The batches of a DataLoader, in its own order."""

    loader: DataLoader[object]

    def __init__(self, loader: DataLoader[object]) -> None:
        super().__init__(loader.dataset)
        self.loader = loader

    def first(self) -> Values:
        """Return the inputs of the first batch. Shape (n, ...)."""
        batch = next(iter(self.loader))
        if not isinstance(batch, Sequence) or len(batch) != 2:
            rule = "be pairs (inputs, targets)"
            raise InputTypeError("The batches of a DataLoader", rule, type(batch).__name__)
        return batch[0]

    def batches(self, ids: list[Tensor], **keys: object) -> Iterator[tuple[Values, Values]]:
        """Yield every batch, whatever ``ids`` are."""
        yield from self.loader


def map_targets(targets: Values, change: Callable[[Values, str], Tensor]) -> Targets:
    """Return targets in the form that they have, each changed by a function of it and its name."""
    if isinstance(targets, Mapping):
        return {name: change(target, name) for name, target in targets.items()}
    return change(targets, "targets")


def index_targets(targets: Targets, ids: Tensor | slice) -> Targets:
    """Return the rows ``ids`` of targets."""
    if isinstance(targets, Mapping):
        return {name: take_rows(target, ids) for name, target in targets.items()}
    return take_rows(targets, ids)


def as_examples(data: object, *, name: str) -> Examples:
    """Accept a pair (inputs, targets) of tensors or arrays, :class:`Arrays`, an
    :class:`~hyperproto.data.ImageData`, a map-style Dataset or a DataLoader.
    """
    if isinstance(data, Examples):
        return data
    if isinstance(data, DataLoader) and hasattr(data.dataset, "__len__"):
        return Loader(data)
    if isinstance(data, Dataset) and hasattr(data, "__len__"):
        return MapStyle(data)
    match data:
        case inputs, targets:
            return Arrays(_tensor(inputs, "inputs"), map_targets(targets, _tensor))
    rule = (
        "be a pair (inputs, targets), hp.data.Arrays or ImageData, or a torch Dataset or "
        "DataLoader with a length"
    )
    raise InputTypeError(name, rule, type(data).__name__)


def _tensor(values: Values, name: str) -> Tensor:
    try:
        return from_scipy(values) if hasattr(values, "tocsr") else torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        advice = "Class names become ids by space.encode(names)."
        raise InputTypeError(name, "be numbers", error, advice) from None
