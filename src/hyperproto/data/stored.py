"""Images in their stored form, squares of one size as uint8: held in memory, or decoded when asked for."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data.decode import CorruptImageError, decode, stored_side
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.stream import stream

__all__ = ["Decoded", "OnDisk", "PathList", "available_memory", "decode_all", "from_tensor"]

Pixels: TypeAlias = NDArray[np.uint8]
AT_ONCE = 64  # images a worker decodes before it hands them over
WORTH_A_WORKER = 200  # images; for fewer, starting a process takes longer than it saves
RESIZED_AT_ONCE = 1024


class PathList(Sequence[Path]):
    """Paths in two arrays: a million take the memory of their letters, and no worker copies them by counting."""

    def __init__(self, paths: Iterable[Path]) -> None:
        encoded = [os.fsencode(path) for path in paths]
        self._letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self._ends = np.cumsum([0, *map(len, encoded)])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> Path:  # type: ignore[override]  # slices are not needed
        if not 0 <= index < len(self):
            raise IndexError(index)
        return Path(os.fsdecode(self._letters[self._ends[index] : self._ends[index + 1]].tobytes()))


class OnDisk:
    """Image files, decoded each time they are asked for."""

    def __init__(self, paths: PathList, preprocessing: ImagePreprocessing) -> None:
        self.paths, self.preprocessing = paths, preprocessing

    def take(self, rows: NDArray[np.int64]) -> Pixels:
        """Return the images of these rows, shape (n, side, side, channels)."""
        side, channels = stored_side(self.preprocessing), self.preprocessing.channels
        pixels = np.empty((len(rows), side, side, channels), dtype=np.uint8)
        for place, row in enumerate(rows.tolist()):
            pixels[place] = decode(self.paths[row], self.preprocessing).transpose(1, 2, 0)
        return pixels


class Decoded:
    """Images in memory, shape (n, side, side, channels)."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def take(self, rows: NDArray[np.int64]) -> Pixels:
        """Return the images of these rows, shape (n, side, side, channels)."""
        taken: Pixels = self.pixels.take(rows, axis=0)
        return taken


def decode_all(
    paths: PathList, preprocessing: ImagePreprocessing, *, keep: bool, skip_corrupt: bool, workers: int
) -> tuple[Pixels | None, dict[int, CorruptImageError]]:
    """Decode every file once, in parallel.

    Returns
    -------
    pixels : uint8, shape (n, side, side, channels), or None
        None unless ``keep``; what cannot be decoded stays black.
    corrupt : dict
        What is wrong, by row; empty unless ``skip_corrupt``, since otherwise the first of them is raised.
    """
    side, n = stored_side(preprocessing), len(paths)
    pixels = np.zeros((n, side, side, preprocessing.channels), dtype=np.uint8) if keep else None
    corrupt: dict[int, CorruptImageError] = {}
    parts = list(torch.split(torch.arange(n), AT_ONCE))
    make = partial(_decode_rows, paths, preprocessing, keep, skip_corrupt)
    made = stream(make, parts, workers=min(workers, n // WORTH_A_WORKER))
    for rows, (decoded, wrong) in zip(parts, _watched(made, n), strict=True):
        if pixels is not None:
            pixels[rows.numpy()] = decoded
        corrupt |= wrong
    return pixels, corrupt


def _decode_rows(
    paths: PathList, preprocessing: ImagePreprocessing, keep: bool, skip_corrupt: bool, rows: Tensor
) -> tuple[Pixels, dict[int, CorruptImageError]]:
    """Decode some files: what a worker does."""
    side, corrupt = stored_side(preprocessing), {}
    pixels = np.zeros((len(rows) if keep else 0, side, side, preprocessing.channels), dtype=np.uint8)
    for place, row in enumerate(rows.tolist()):
        try:
            image = decode(paths[row], preprocessing)
        except CorruptImageError as error:
            if not skip_corrupt:
                raise
            corrupt[row] = error
        else:
            if keep:
                pixels[place] = image.transpose(1, 2, 0)
    return pixels, corrupt


def _watched(done: Iterator[Any], total: int) -> Iterator[Any]:
    """Pass on what is done, with a progress bar where somebody is looking."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("decoding images", total=total)
        for item in done:
            bar.advance(task, AT_ONCE)
            yield item


def from_tensor(images: Tensor, preprocessing: ImagePreprocessing) -> Pixels:
    """Return images as they are stored: of the size the preprocessing says, channels last.

    Parameters
    ----------
    images : Tensor of uint8, shape (n, channels, height, width)
    """
    if images.dtype != torch.uint8:
        raise InputTypeError(f"Images in memory must be uint8, 0 to 255; got {images.dtype}.")
    channels = preprocessing.channels
    if images.ndim != 4 or images.shape[1] != channels:
        raise InputError(
            f"Images must have shape (n, {channels}, height, width) to match the preprocessing; got "
            f"{tuple(images.shape)}. Its mean and std have one number a channel."
        )
    side = stored_side(preprocessing)
    if images.shape[2:] != (side, side):
        images = torch.cat([_square(part, side) for part in torch.split(images, RESIZED_AT_ONCE)])
    return images.permute(0, 2, 3, 1).contiguous().numpy()


def _square(images: Tensor, side: int) -> Tensor:
    """Scale the shorter side to ``side`` and keep the middle square."""
    height, width = images.shape[2:]
    short = min(height, width)
    top, left = (height - short) // 2, (width - short) // 2
    middle = images[:, :, top : top + short, left : left + short]
    return functional.interpolate(middle, size=(side, side), mode="bilinear", antialias=True)


def available_memory() -> int:
    """Return how many bytes may still be had, as far as the system says."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 4 * 2**30  # not Linux: every machine that trains has as much
