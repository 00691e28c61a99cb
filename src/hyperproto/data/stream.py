"""Work on batches done ahead by worker processes, in order."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hyperproto._core.errors import HyperprotoError

__all__ = ["stream"]

AHEAD = 2  # batches each worker may have ready


class _Work(Dataset[Any]):
    """What a worker holds: it is asked for whole batches."""

    def __init__(self, make: Callable[[Tensor], Any]) -> None:
        self.make = make

    def __getitem__(self, ids: Tensor) -> Any:
        try:
            return self.make(ids)
        except (HyperprotoError, OSError) as error:
            return error  # raised in the worker it would arrive wrapped in a traceback; its sentence is enough


def stream(make: Callable[[Tensor], Any], ids: list[Tensor], *, workers: int) -> Iterator[Any]:
    """Yield ``make`` of each batch of ids, done ahead by ``workers`` processes; 0 does it here.

    Arrays arrive as tensors, in shared memory.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")  # more workers than cores: as asked
        loader = DataLoader(
            _Work(make),
            sampler=ids,
            batch_size=None,
            num_workers=workers,
            prefetch_factor=AHEAD if workers else None,
            generator=torch.Generator(),  # its own, so that streaming leaves the network's chance alone
        )
        batches = iter(loader)
    try:
        for made in batches:
            if isinstance(made, Exception):
                raise made
            yield made
    finally:
        del batches  # ends the workers now; an error's traceback would keep them, and ending them later takes seconds
