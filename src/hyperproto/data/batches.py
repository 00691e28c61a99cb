"""Data as training takes them, and batches in an order that seed and epoch decide."""

from collections.abc import Iterator

import torch
from torch import Tensor

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.processes import derive_seed
from hyperproto.data.augment import Augment
from hyperproto.data.examples import Arrays, Examples, Values
from hyperproto.data.image_data import ImageData, Keep
from hyperproto.data.preprocessing import Preprocessing, TablePreprocessing
from hyperproto.data.source import Split


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
    inputs = split.inputs
    if isinstance(preprocessing, TablePreprocessing):
        if not isinstance(inputs, Tensor):
            rule = "be rows of numbers for TablePreprocessing"
            raise InputTypeError("The inputs", rule, "image files")
        return Arrays(preprocessing.standardize(inputs), split.targets)
    if isinstance(inputs, Tensor) and inputs.ndim == 2:
        return Arrays(inputs, split.targets)  # features of images that were prepared before
    return ImageData(
        split, preprocessing, augment=augment, keep=keep, workers=workers, skip_corrupt=skip_corrupt
    )


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
        data: Examples,
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
        self.rank, self.world, self.least = rank, world, least
        self.rows = torch.arange(len(data)) if rows is None else rows
        self.own_order = data.loader is not None
        if self.own_order and world > 1:
            raise InputError("A DataLoader", "be used in one process", world, "Pass its Dataset.")

    def __len__(self) -> int:
        if self.data.loader is not None:
            return len(self.data.loader)
        whole, last = divmod(len(self.rows), self.batch_size)
        least = self.least * self.world if whole == 0 else max(2, self.least * self.world)
        kept = last >= least if self.shuffle else last > 0
        return whole + kept

    def ids(self, epoch: int) -> list[Tensor]:
        """Return the examples of this process, batch by batch."""
        order = self.rows
        if self.shuffle:
            generator = torch.Generator().manual_seed(derive_seed(self.seed, "order", epoch))
            order = order[torch.randperm(len(order), generator=generator)]
        return [
            batch[self.rank :: self.world]
            for batch in torch.split(order, self.batch_size)[: len(self)]
        ]

    def epoch(self, epoch: int = 0, *, start: int = 0) -> Iterator[tuple[Values, Values]]:
        """Yield (inputs, targets) batch by batch, from batch ``start`` on; those before it are not
        touched.

        Images are varied where the order is: in training.
        """
        if self.own_order and start:
            rule = "go on from the start of an epoch"
            raise InputError("A run with a DataLoader", rule, f"step {start}")
        ids, seed = self.ids(epoch)[start:], self.seed if self.shuffle else None
        yield from self.data.batches(ids, seed=seed, epoch=epoch, world=self.world)
