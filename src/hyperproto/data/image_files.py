"""Image files: which they are, decoding one or all of them, and an error that names a file that is
no image.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hyperproto._core.errors import HyperprotoError, MissingDataError
from hyperproto._core.processes import cpu_count
from hyperproto._core.progress import progress_bar
from hyperproto.data.augment import Augment
from hyperproto.defaults import IMAGE_SIZE, choose_augment, choose_image_size
from hyperproto.runtime.images import (
    EXTENSIONS,
    CorruptImageError,
    ImagePreprocessing,
    Pixels,
    decode,
    open_image,
)

AT_ONCE = 64  # images a worker decodes before it passes them on
WORTH_A_WORKER = 200  # images; for fewer, starting a process takes longer than it saves
SAMPLED = 100  # images whose size is looked up
AHEAD = 2  # batches each worker may have ready

T = TypeVar("T")


class ImageFiles(Sequence[Path]):
    """Images on disk, of any size, decoded when they are needed: their paths.

    In one array: a million paths take the memory of their letters, and no worker copies them by
    counting references.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = np.array([os.fsencode(path) for path in paths], dtype=np.bytes_)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> Path:  # type: ignore[override]  # slices are not needed
        return Path(os.fsdecode(self._paths[index]))


def images_in(folder: Path) -> list[Path]:
    """Return the image files of a folder by extension, sorted by name; hidden ones are skipped."""
    if not os.path.isdir(folder):  # Path.is_dir raises where a name is longer than one may be
        return []
    with os.scandir(folder) as entries:
        found = [Path(entry) for entry in entries if entry.name[0] != "." and entry.is_file()]
    return sorted(path for path in found if path.suffix.lower() in EXTENSIONS)


def check_files_exist(paths: Iterable[Path], *, listed_in: str) -> None:
    """Raise where a listed file is not there, naming the first and how many."""
    paths = list(paths)
    absent = [path for path in paths if not os.path.isfile(path)]
    if absent:
        raise MissingDataError(
            f'Every image listed in "{listed_in}"',
            "exist",
            f'no "{absent[0]}" ({len(absent)} of {len(paths)} missing)',
            "Put it there, or remove its line.",
        )


def image_size(path: Path) -> tuple[int, int] | None:
    """Return the width and height that the header of an image file says, or None where it says
    none.
    """
    try:
        with open_image(path) as image:
            return image.size
    except Exception:  # decoding it later says what it is
        return None


def choose_preparation(inputs: Tensor | ImageFiles) -> tuple[ImagePreprocessing, Augment, str]:
    """Return how images of one's own are prepared and varied by their size, and a sentence that
    says so.
    """
    assert isinstance(inputs, ImageFiles)
    rows = sorted({round(row) for row in np.linspace(0, len(inputs) - 1, SAMPLED)})
    sides = [min(found) for row in rows if (found := image_size(inputs[row])) is not None]
    side = float(np.median(sides or [IMAGE_SIZE]))
    size, resize = choose_image_size(side)
    augment = Augment(**choose_augment(size, is_cut=resize is not None))
    note = (
        f"Images are {size} x {size} pixels for the network: the shorter side of the files is "
        f"{side:g} (median)."
    )
    return ImagePreprocessing(size, resize=resize), augment, note


def decode_rows(paths: Sequence[Path], preprocessing: ImagePreprocessing, rows: Tensor) -> Pixels:
    """Return the images of these rows as :func:`decode` does, shape (n, side, side, channels)."""
    side = preprocessing.stored_side
    pixels = np.empty((len(rows), side, side, preprocessing.channels), dtype=np.uint8)
    for place, row in enumerate(rows.tolist()):
        pixels[place] = decode(paths[row], preprocessing)
    return pixels


def decode_all(paths: ImageFiles, preprocessing: ImagePreprocessing, *, workers: int) -> Pixels:
    """Decode every file, in parallel, shape (n, side, side, channels)."""
    side = preprocessing.stored_side
    pixels = np.empty((len(paths), side, side, preprocessing.channels), dtype=np.uint8)
    make = partial(decode_rows, paths, preprocessing)
    for rows, images in _in_parts(make, len(paths), workers, "decoding images"):
        pixels[rows] = images
    return pixels


def find_corrupt(paths: ImageFiles, *, workers: int | None = None) -> dict[int, str]:
    """Decode every file, in parallel; return by row what those are that cannot be, such as "an
    empty file".

    An image that is cut short is found too, which reading its header alone would miss.
    """
    found: dict[int, str] = {}
    workers = cpu_count() if workers is None else workers
    make = partial(_corrupt_rows, paths)
    for _, corrupt in _in_parts(make, len(paths), workers, "verifying images"):
        found |= corrupt
    return found


def _corrupt_rows(paths: ImageFiles, rows: Tensor) -> dict[int, str]:
    found = {}
    for row in rows.tolist():
        try:
            decode(paths[row], ImagePreprocessing(8))
        except CorruptImageError as error:
            found[row] = str(error.got)
    return found


def _in_parts(
    make: Callable[[Tensor], T], n: int, workers: int, doing: str
) -> Iterator[tuple[NDArray[np.int64], T]]:
    """Yield some rows of ``n`` and what ``make`` returns for them, in order,
    with a progress bar.
    """
    parts = list(torch.split(torch.arange(n), AT_ONCE))
    done = stream(make, parts, workers=min(workers, n // WORTH_A_WORKER))
    with progress_bar(doing, n) as bar:
        for rows, made in zip(parts, done, strict=True):
            yield rows.numpy(), made
            bar.update(int(rows[-1]) + 1)


class _Work(Dataset[tuple[T | None, Exception | None]]):
    """What a worker is asked for: whole batches, or why there is none."""

    def __init__(self, make: Callable[[Tensor], T]) -> None:
        self.make = make

    def __getitem__(self, ids: Tensor) -> tuple[T | None, Exception | None]:
        try:
            return self.make(ids), None
        except (HyperprotoError, OSError) as error:
            # raised in the worker it would arrive wrapped in a traceback; its sentence is enough
            return None, error


def stream(make: Callable[[Tensor], T], ids: list[Tensor], *, workers: int) -> Iterator[T]:
    """Yield ``make`` of each batch of ids in order, done ahead by ``workers`` processes; 0 does it
    here.

    Arrays arrive as tensors, in shared memory.
    """
    with warnings.catch_warnings():
        # more workers than cores: as asked
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        loader = DataLoader(
            _Work(make),
            sampler=ids,
            batch_size=None,
            num_workers=workers,
            prefetch_factor=AHEAD if workers else None,
            # its own, so that streaming does not change the network's random numbers
            generator=torch.Generator(),
        )
        batches = iter(loader)
    try:
        for made, error in batches:
            if error is not None:
                raise error
            yield made
    finally:
        # ends the workers now; an error's traceback would keep them, and ending them later takes
        # seconds
        del batches
