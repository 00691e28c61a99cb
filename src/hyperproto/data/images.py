"""Images ready for training: from files or pixels to batches the network takes."""

import os
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.data.arrays import index_targets
from hyperproto.data.augment import augmented, centre, check_augment, normalise
from hyperproto.data.decode import stored_side
from hyperproto.data.preprocessing import Augment, ImagePreprocessing
from hyperproto.data.source import ImageFiles, Split
from hyperproto.data.stored import Decoded, OnDisk, PathList, available_memory, decode_all, from_tensor
from hyperproto.data.stream import stream

__all__ = ["ImageData"]

Keep: TypeAlias = Literal["auto", "memory", "stream"]
Batch: TypeAlias = tuple[Tensor, dict[str, Tensor]]
MOST_IN_MEMORY = 2 * 2**30  # bytes


class ImageData(Dataset[Any]):
    """Images and targets, a batch at a time, the same whether they are held in memory or decoded on the way.

    Every image is first brought to its stored form: the shorter side scaled to ``resize`` (to ``size`` where that is
    None) and the middle square kept, as uint8. Training varies that square; evaluation takes its centre.
    differs from paper: random resized crops are taken from the middle square, not from the whole rectangle.

    Parameters
    ----------
    split : Split
        Pixels as uint8 or image files, and targets.
    preprocessing : ImagePreprocessing
    augment : Augment, optional
        How training batches are varied.
    keep : {"auto", "memory", "stream"}, default "auto"
        Hold all stored images in memory, or have worker processes decode them batch by batch. "auto" holds them where
        they take less than 2 GB and a quarter of the free memory.
    workers : int, optional
        Processes that decode; as many as there are cores unless given. 0 decodes in this one.
    skip_corrupt : bool, default False
        Leave out images that cannot be decoded, with a warning that counts them; looks at all of them at once.

    Attributes
    ----------
    targets : dict of Tensor, shape (n,) each
    keep : {"memory", "stream"}
        What was chosen.
    skipped : tuple of Path
        What was left out.
    """

    def __init__(
        self,
        split: Split,
        preprocessing: ImagePreprocessing,
        *,
        augment: Augment | None = None,
        keep: Keep = "auto",
        workers: int | None = None,
        skip_corrupt: bool = False,
    ) -> None:
        _check(split, preprocessing)
        if augment is not None:
            check_augment(augment)
        self.preprocessing, self.augment = preprocessing, augment
        self.workers = _cores() if workers is None else check_integer(workers, "workers", at_least=0)
        self.keep = choose(
            keep,
            {"auto": _choice(split, preprocessing), "memory": "memory", "stream": "stream"},
            what="way to keep images",
        )
        self.skipped: tuple[Path, ...] = ()
        self._stored: Decoded | OnDisk
        self._rows = np.arange(len(split))  # draws are keyed by these, so leaving one out changes no other
        if isinstance(split.inputs, ImageFiles):
            paths = split.inputs.paths
            self._open(paths if isinstance(paths, PathList) else PathList(paths), skip_corrupt)
        else:
            self._stored = Decoded(from_tensor(split.inputs, preprocessing))
        self.targets = {name: target[torch.from_numpy(self._rows)] for name, target in split.targets.items()}

    def _open(self, paths: PathList, skip_corrupt: bool) -> None:
        """Decode all files, where they are to be kept or looked at."""
        self._stored = OnDisk(paths, self.preprocessing)
        in_memory = self.keep == "memory"
        if not in_memory and not skip_corrupt:
            return
        pixels, corrupt = decode_all(
            paths, self.preprocessing, keep=in_memory, skip_corrupt=skip_corrupt, workers=self.workers
        )
        if pixels is not None:
            self._stored = Decoded(pixels)
        if corrupt:
            self._leave_out(paths, corrupt)

    def _leave_out(self, paths: PathList, corrupt: dict[int, Any]) -> None:
        rows = sorted(corrupt)
        if len(rows) == len(paths):
            raise InputError(f"None of the {len(paths)} images can be read. The first: {corrupt[rows[0]]}")
        self._rows = np.delete(self._rows, rows)
        self.skipped = tuple(paths[row] for row in rows)
        warnings.warn(
            f'{len(rows)} of {len(paths)} images cannot be read and are left out; the first is "{self.skipped[0]}".',
            stacklevel=4,
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Batch:
        """Return one example as evaluation sees it: shape (channels, size, size), and its targets."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        inputs, targets = self.batch(torch.tensor([index % len(self)]))
        return inputs[0], {name: target[0] for name, target in targets.items()}

    def batch(self, ids: Tensor, *, seed: int | None = None, epoch: int | None = None) -> Batch:
        """Return a batch: varied at random with a seed and an epoch, as evaluation sees it without.

        Parameters
        ----------
        ids : Tensor of int64, shape (n,)
            Which examples, in which order.
        seed, epoch : int, optional
            Both or neither; together with the sample they decide every draw.

        Returns
        -------
        inputs : Tensor of float32, shape (n, channels, size, size), channels last in memory
        targets : dict of Tensor, shape (n,) each
        """
        return self._finish(self.pixels(ids, seed=seed, epoch=epoch), ids)

    def pixels(self, ids: Tensor, *, seed: int | None = None, epoch: int | None = None) -> NDArray[np.uint8]:
        """Return what :meth:`batch` does before its last step, as uint8, shape (n, size, size, channels)."""
        if (seed is None) != (epoch is None):
            raise InputError(f"Give `seed` and `epoch`, or neither; got {seed} and {epoch}.")
        rows = self._rows[ids.numpy()]
        stored, size = self._stored.take(rows), self.preprocessing.size
        if self.augment is None or seed is None or epoch is None:
            return np.ascontiguousarray(centre(stored, size))
        return augmented(stored, self.augment, size, seed=seed, epoch=epoch, samples=rows)

    def batches(
        self, ids: list[Tensor], *, seed: int | None = None, epoch: int | None = None, world: int = 1
    ) -> Iterator[Batch]:
        """Yield :meth:`batch` of each, prepared ahead by worker processes where images are streamed.

        The cores are shared out among ``world`` processes.
        """
        if self.keep == "memory":
            yield from (self.batch(some, seed=seed, epoch=epoch) for some in ids)
            return
        workers = min(self.workers and max(1, self.workers // world), len(ids))
        made = stream(partial(self.pixels, seed=seed, epoch=epoch), ids, workers=workers)
        for some, pixels in zip(ids, made, strict=True):
            yield self._finish(np.asarray(pixels), some)  # crossed as uint8: a quarter of what the network takes

    def _finish(self, pixels: NDArray[np.uint8], ids: Tensor) -> Batch:
        inputs = normalise(pixels, self.preprocessing.mean, self.preprocessing.std)
        if torch.cuda.is_available():
            inputs = inputs.pin_memory()
        targets = index_targets(self.targets, ids)
        assert isinstance(targets, dict)
        return inputs, targets


def _check(split: Split, preprocessing: ImagePreprocessing) -> None:
    if not isinstance(split, Split) or not isinstance(preprocessing, ImagePreprocessing):
        raise InputTypeError(
            "`ImageData` takes a Split and an ImagePreprocessing; got "
            f"{type(split).__name__} and {type(preprocessing).__name__}."
        )
    if not len(split):
        raise InputError("A data set must hold at least one example; got none.")
    if preprocessing.resize is not None and preprocessing.resize < preprocessing.size:
        raise InputError(f"`resize` must be at least `size`; got {preprocessing.resize} and {preprocessing.size}.")


def _choice(split: Split, preprocessing: ImagePreprocessing) -> str:
    """Return where images are best kept: in memory, if they are there already or small enough together."""
    needed = len(split) * preprocessing.channels * stored_side(preprocessing) ** 2
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # processes on this machine, each with a copy
    fits = needed <= min(MOST_IN_MEMORY, available_memory() // 4) // here
    return "memory" if fits or isinstance(split.inputs, Tensor) else "stream"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
