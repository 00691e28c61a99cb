"""Batches in an order that only the seed and the epoch decide, shared out among processes."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from hyperproto._core.seeding import derive_seed
from hyperproto.data.arrays import AnyDataset, Arrays
from hyperproto.data.images import ImageData

__all__ = ["Batches"]


class Batches:
    """The batches of a data set for one process.

    ``batch_size`` is that of all processes together: batch b is the same set of examples however many processes
    there are, and each takes every ``world``-th of it. In training a last batch of a single example is left out
    (batch normalisation needs two), and one that would leave a process with fewer than ``least``. In evaluation every
    example counts, and a process may get an empty batch.
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
    ) -> None:
        self.data, self.batch_size, self.shuffle, self.seed = data, batch_size, shuffle, seed
        self.rank, self.world, self.least = rank, world, least
        self.size = len(data)  # type: ignore[arg-type]  # map-style data sets have a length

    def __len__(self) -> int:
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
        return [batch[self.rank :: self.world] for batch in torch.split(order, self.batch_size)[: len(self)]]

    def epoch(self, epoch: int = 0, *, start: int = 0) -> Iterator[tuple[Any, Any]]:
        """Yield (inputs, targets) batch by batch, from batch ``start`` on; those before it are not touched.

        Images are varied where the order is: in training.
        """
        ids = self.ids(epoch)[start:]
        if isinstance(self.data, Arrays):
            for some in ids:
                yield self.data[some]
        elif isinstance(self.data, ImageData):
            keys = {"seed": self.seed, "epoch": epoch} if self.shuffle else {}
            yield from self.data.batches(ids, world=self.world, **keys)
        else:
            lists = [some.tolist() for some in ids if len(some)]
            # a generator of its own: else the loader draws from the global one, once more where an epoch is resumed
            yield from DataLoader(self.data, batch_sampler=lists, generator=torch.Generator())
