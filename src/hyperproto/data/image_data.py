"""Images a batch at a time, the same whether they are in memory or decoded on the way."""

import os
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset

from hyperproto._core.checks import check_integer, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.processes import cpu_count, free_memory
from hyperproto.data.augment import (
    MIRROR,
    Augment,
    augmented,
    flip,
    normalize,
    random_box,
    uniforms,
)
from hyperproto.data.examples import Examples
from hyperproto.data.image_files import ImageFiles, decode_all, decode_rows, find_corrupt, stream
from hyperproto.data.source import Split
from hyperproto.runtime.images import ImagePreprocessing, Pixels, center, decode

Keep: TypeAlias = Literal["auto", "memory", "stream"]
Batch: TypeAlias = tuple[Tensor, dict[str, Tensor]]
MAX_IN_MEMORY = 2 * 2**30  # bytes
BOXES = 10  # attempts at a random part of an image before its middle is taken
RESIZED_AT_ONCE = 1024  # images


class ImageData(Examples, Dataset[Batch]):
    """Images and targets, a batch at a time.

    Every image is first brought to its stored form: the shorter side scaled to ``resize`` (to
    ``size`` where that is None) and the middle square kept, as uint8. Training varies that square;
    evaluation takes its center. Only with ``Augment(whole=True)`` are image files decoded anew for
    every batch, and random parts of all of them scaled.

    Parameters
    ----------
    split : Split
        Pixels as uint8 or image files, and targets.
    preprocessing : ImagePreprocessing
    augment : Augment, optional
        How training batches are varied.
    keep : {"auto", "memory", "stream"}, default "auto"
        Keep all stored images in memory, or have worker processes decode them batch by batch.
        "auto" keeps them where they take less than 2 GB and a quarter of the free memory.
    workers : int, optional
        Processes that decode (default: one per core). 0 decodes in this one.
    skip_corrupt : bool, default False
        Leave out images that cannot be decoded, with a warning that counts them; decodes every file
        first.

    Attributes
    ----------
    targets : dict of Tensor, shape (n,) each
    keep : {"memory", "stream"}
        What was chosen.
    skipped : tuple of Path
        What was left out.
    paths : ImageFiles
        The file of each example; empty where the images came in memory.
    """

    targets: dict[str, Tensor]

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
        if not len(split):
            raise InputError("A data set", "hold at least one example", "none")
        self.preprocessing, self.augment = preprocessing, augment
        self.workers = (
            cpu_count() if workers is None else check_integer(workers, "workers", at_least=0)
        )
        ways = {"auto": _choose_keep(split, preprocessing), "memory": "memory", "stream": "stream"}
        self.keep = choose(keep, ways, what="way to keep images")
        self.skipped: tuple[Path, ...] = ()
        # draws are keyed by these, so leaving one out changes no other
        self._rows = np.arange(len(split))
        self._pixels: Pixels | None = None
        self.paths = ImageFiles([])
        if isinstance(split.inputs, ImageFiles):
            self.paths = split.inputs
            if skip_corrupt:
                self._leave_out_corrupt()
            if augment is not None and augment.whole:
                self.keep = "stream"
            if self.keep == "memory":
                self._pixels = decode_all(self.paths, preprocessing, workers=self.workers)
        else:
            self._pixels = _from_tensor(split.inputs, preprocessing)
        self.targets = {
            name: target[torch.from_numpy(self._rows)] for name, target in split.targets.items()
        }

    def _leave_out_corrupt(self) -> None:
        paths = self.paths
        corrupt = find_corrupt(paths, workers=self.workers)
        if not corrupt:
            return
        rows = sorted(corrupt)
        first = f'"{paths[rows[0]]}"'
        if len(rows) == len(paths):
            raise InputError(
                f"None of the {len(paths)} images can be read. The first, {first}, is "
                f"{corrupt[rows[0]]}."
            )
        self._rows = np.delete(self._rows, rows)
        self.paths = ImageFiles(paths[row] for row in self._rows.tolist())
        self.skipped = tuple(paths[row] for row in rows)
        message = (
            f"{len(rows)} of {len(paths)} images cannot be read and are left out; the first is "
            f"{first}."
        )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Batch:
        """Return one example as evaluation sees it: shape (channels, size,
        size), and its targets.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        inputs, targets = self.batch(torch.tensor([index % len(self)]))
        return inputs[0], {name: target[0] for name, target in targets.items()}

    def batch(self, ids: Tensor, *, seed: int | None = None, epoch: int = 0) -> Batch:
        """Return a batch: varied at random with a seed, as evaluation sees it without.

        Parameters
        ----------
        ids : Tensor of int64, shape (n,)
            Which examples, in which order.
        seed, epoch : int, optional
            Together with the sample they decide every draw.

        Returns
        -------
        inputs : Tensor of float32, shape (n, channels, size, size), channels last in memory
        targets : dict of Tensor, shape (n,) each
        """
        return self._finish(self.pixels(ids, seed=seed, epoch=epoch), ids)

    def pixels(self, ids: Tensor, *, seed: int | None = None, epoch: int = 0) -> Pixels:
        """Return what :meth:`batch` does before its last step, as uint8, shape (n, size, size,
        channels).
        """
        size, augment, samples = self.preprocessing.size, self.augment, self._rows[ids.numpy()]
        if (
            augment is not None
            and augment.whole
            and len(self.paths)
            and (seed is not None or augment.at_test)
        ):
            return self._random_parts(ids, augment, seed, epoch)
        if self._pixels is not None:
            stored: Pixels = self._pixels.take(ids.numpy(), axis=0)
        else:
            stored = decode_rows(self.paths, self.preprocessing, ids)
        if augment is None or seed is None:
            return np.ascontiguousarray(center(stored, size))
        return augmented(stored, augment, size, seed=seed, epoch=epoch, samples=samples)

    def _random_parts(self, ids: Tensor, augment: Augment, seed: int | None, epoch: int) -> Pixels:
        """Decode random parts of the whole images; without a seed those of seed 0, and none of them
        mirrored.
        """
        assert augment.resized_crop is not None
        key = (0, 0) if seed is None else (seed, epoch)
        draws = uniforms(*key, self._rows[ids.numpy()], MIRROR + 1 + 2 * BOXES)
        box = partial(random_box, shares=augment.resized_crop)
        parts = [
            decode(self.paths[row], self.preprocessing, partial(box, draws=drawn))
            for row, drawn in zip(ids.tolist(), draws.tolist(), strict=True)
        ]
        return flip(np.stack(parts), (draws[:, MIRROR] < 0.5) & augment.flip & (seed is not None))

    def first(self) -> Tensor:
        """Return the first image as evaluation sees it. Shape (1, channels, size, size)."""
        return self.batch(torch.arange(1))[0]

    def batches(
        self, ids: list[Tensor], *, seed: int | None = None, epoch: int = 0, world: int = 1
    ) -> Iterator[Batch]:
        """Yield :meth:`batch` of each, prepared ahead by worker processes where images are
        streamed.

        The cores are shared among ``world`` processes.
        """
        prepare = partial(self.pixels, seed=seed, epoch=epoch)
        workers = min(self.workers and max(1, self.workers // world), len(ids))
        prepared = (
            map(prepare, ids) if self.keep == "memory" else stream(prepare, ids, workers=workers)
        )
        # sent as uint8: a quarter of what the network takes
        for some, pixels in zip(ids, prepared, strict=True):
            yield self._finish(np.asarray(pixels), some)

    def _finish(self, pixels: Pixels, ids: Tensor) -> Batch:
        inputs = normalize(pixels, self.preprocessing.mean, self.preprocessing.std)
        if torch.cuda.is_available():
            inputs = inputs.pin_memory()
        return inputs, {name: target.index_select(0, ids) for name, target in self.targets.items()}


def _choose_keep(split: Split, preprocessing: ImagePreprocessing) -> str:
    """Return where images are best kept: in memory, if they are there already or small enough
    together.
    """
    needed = len(split) * preprocessing.channels * preprocessing.stored_side**2
    # processes on this machine, each with a copy
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    fits = needed <= min(MAX_IN_MEMORY, free_memory() // 4) // here
    return "memory" if fits or isinstance(split.inputs, Tensor) else "stream"


def _from_tensor(images: Tensor, preprocessing: ImagePreprocessing) -> Pixels:
    """Return images, shape (n, channels, height, width) of uint8, as stored: the middle square,
    channels last.
    """
    if images.dtype != torch.uint8:
        raise InputTypeError("Images in memory", "be uint8, 0 to 255", images.dtype)
    channels, side = preprocessing.channels, preprocessing.stored_side
    if images.ndim != 4 or images.shape[1] != channels:
        rule = f"have shape (n, {channels}, height, width) to match the preprocessing"
        raise InputError(
            "Images in memory",
            rule,
            tuple(images.shape),
            "Its mean and std have one number per channel.",
        )
    height, width = images.shape[2:]
    if (height, width) != (side, side):
        short = min(height, width)
        top, left = (height - short) // 2, (width - short) // 2
        middle = images[:, :, top : top + short, left : left + short]
        scale = partial(functional.interpolate, size=(side, side), mode="bilinear", antialias=True)
        images = torch.cat([scale(part) for part in torch.split(middle, RESIZED_AT_ONCE)])
    return images.permute(0, 2, 3, 1).contiguous().numpy()
