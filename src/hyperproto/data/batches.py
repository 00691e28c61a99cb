"""Data as training takes them: rows in memory or images, and batches in an order that seed and
epoch decide.
"""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.processes import derive_seed
from hyperproto.data.augment import Augment
from hyperproto.data.image_data import ImageData, Keep
from hyperproto.data.preprocessing import Preprocessing, from_scipy, is_sparse, take_rows
from hyperproto.data.source import Split
from hyperproto.runtime.images import ImagePreprocessing

Targets: TypeAlias = Tensor | Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs of shape (n, ...), sparse rows among them, and targets: a tensor of shape (n,), or one
    per task by name.

    Indexing with a tensor of ids gives a batch in one operation.
    """

    inputs: Tensor
    targets: Targets

    def __post_init__(self) -> None:
        tensors = (
            [self.targets] if isinstance(self.targets, Tensor) else list(self.targets.values())
        )
        for target in tensors:
            if len(target) != len(self.inputs):
                got = f"{len(self.inputs)} and {len(target)}"
                raise InputError("Inputs and targets", "have the same number of rows", got)
        if not len(self.inputs):
            raise InputError("A data set", "hold at least one example", "none")

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, ids: Tensor | slice) -> tuple[Tensor, Targets]:
        return take_rows(self.inputs, ids), index_targets(self.targets, ids)


AnyDataset: TypeAlias = Arrays | Dataset[Any] | DataLoader[Any]


def index_targets(targets: Targets, ids: Tensor | slice) -> Targets:
    """Return the rows ``ids`` of targets in either form."""
    if isinstance(targets, Tensor):
        return take_rows(targets, ids)
    return {name: take_rows(target, ids) for name, target in targets.items()}


def as_dataset(data: Any, *, name: str) -> AnyDataset:
    """Accept a pair (inputs, targets) of tensors or arrays, an :class:`Arrays`, a map-style Dataset
    or a DataLoader.

    An :class:`ImageData` is such a Dataset, from which batches are taken whole.
    """
    if isinstance(data, Arrays) or (
        isinstance(data, DataLoader) and isinstance(data.dataset, Sized)
    ):
        return data
    if isinstance(data, Sequence) and not isinstance(data, str) and len(data) == 2:
        inputs, targets = data
        if isinstance(targets, Mapping):
            return Arrays(
                _tensor(inputs, "inputs"),
                {key: _tensor(value, key) for key, value in targets.items()},
            )
        return Arrays(_tensor(inputs, "inputs"), _tensor(targets, "targets"))
    if isinstance(data, Dataset) and isinstance(data, Sized):
        return data
    rule = (
        "be a pair (inputs, targets), hp.data.Arrays or ImageData, or a torch Dataset or "
        "DataLoader with a length"
    )
    raise InputTypeError(name, rule, type(data).__name__)


def _tensor(values: Any, name: str) -> Tensor:
    try:
        return (
            from_scipy(values)
            if not isinstance(values, Tensor) and is_sparse(values)
            else torch.as_tensor(values)
        )
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(
            name, "be numbers", error, "Class names become ids by space.encode(names)."
        ) from None


def training_data(
    split: Split,
    preprocessing: Preprocessing,
    augment: Augment | None = None,
    *,
    keep: Keep = "auto",
    workers: int | None = None,
    skip_corrupt: bool = False,
) -> Arrays | ImageData:
    """Return a split in the form that ``hp.fit`` and ``hp.evaluate`` take: rows of a table, or
    images.

    Parameters
    ----------
    split : Split
        One part of a :class:`~hyperproto.data.source.Source`.
    preprocessing : ImagePreprocessing or TablePreprocessing
        The source's, or that of a trained model.
    augment : Augment, optional
        For the training part; evaluation ignores it.
    keep, workers, skip_corrupt
        As for :class:`ImageData`.
    """
    if (
        isinstance(split.inputs, Tensor)
        and split.inputs.ndim == 2
        and isinstance(preprocessing, ImagePreprocessing)
    ):
        return Arrays(
            split.inputs, split.targets
        )  # features, computed from images that were prepared before
    if isinstance(preprocessing, ImagePreprocessing):
        return ImageData(
            split,
            preprocessing,
            augment=augment,
            keep=keep,
            workers=workers,
            skip_corrupt=skip_corrupt,
        )
    if not isinstance(split.inputs, Tensor):
        raise InputTypeError(
            "The inputs", "be rows of numbers for TablePreprocessing", "image files"
        )
    return Arrays(preprocessing.standardize(split.inputs), split.targets)


class Batches:
    """The batches of a data set for one process.

    ``batch_size`` is that of all processes together: batch b is the same set of examples however
    many processes there are, and each takes every ``world``-th of it. In training a last batch of a
    single example is left out (batch normalization needs two), and one that would leave a process
    with fewer than ``least``. In evaluation every example counts, and a process may get an empty
    batch. A DataLoader has batches and an order of its own, which nobody else knows, in one
    process. ``rows``, shape (m,), takes these examples of the data alone.
    """

    def __init__(
        self,
        data: AnyDataset,
        batch_size: int,
        *,
        shuffle: bool,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        least: int = 1,
        rows: Tensor | None = None,
    ) -> None:
        self.data, self.batch_size, self.shuffle, self.seed = data, batch_size, shuffle, seed
        self.rank, self.world, self.least, self.rows = rank, world, least, rows
        self.own_order = isinstance(data, DataLoader)
        if self.own_order and world > 1:
            raise InputError("A DataLoader", "be used in one process", world, "Pass its Dataset.")
        self.size = len(data) if rows is None else len(rows)  # type: ignore[arg-type]

    def __len__(self) -> int:
        if self.own_order:
            return self.size
        last = self.size % self.batch_size
        whole = self.size // self.batch_size
        least = self.least * self.world if whole == 0 else max(2, self.least * self.world)
        kept = last >= least if self.shuffle else last > 0
        return whole + kept

    def ids(self, epoch: int) -> list[Tensor]:
        """Return the examples of this process, batch by batch."""
        order = torch.arange(self.size)
        if self.shuffle:
            generator = torch.Generator().manual_seed(derive_seed(self.seed, "order", epoch))
            order = torch.randperm(self.size, generator=generator)
        order = order if self.rows is None else self.rows[order]
        return [
            batch[self.rank :: self.world]
            for batch in torch.split(order, self.batch_size)[: len(self)]
        ]

    def epoch(self, epoch: int = 0, *, start: int = 0) -> Iterator[tuple[Any, Any]]:
        """Yield (inputs, targets) batch by batch, from batch ``start`` on; those before it are not
        touched.

        Images are varied where the order is: in training.
        """
        if isinstance(self.data, DataLoader):
            if start:
                raise InputError(
                    "A run with a DataLoader", "go on from the start of an epoch", f"step {start}"
                )
            yield from self.data
            return
        ids = self.ids(epoch)[start:]
        if isinstance(self.data, Arrays):
            for some in ids:
                yield self.data[some]
        elif isinstance(self.data, ImageData):
            keys = {"seed": self.seed, "epoch": epoch} if self.shuffle else {}
            yield from self.data.batches(ids, world=self.world, **keys)
        else:
            lists = [some.tolist() for some in ids if len(some)]
            # its own generator: else the loader draws from the global one, once more where an epoch
            # is resumed
            yield from DataLoader(self.data, batch_sampler=lists, generator=torch.Generator())
