"""MNIST: 70,000 handwritten digits of 28 by 28 pixels in four idx files; and the rotated ones of the joint task."""

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.digits import ROTATED_DIGITS, rotate
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.published import DatasetInfo
from hyperproto.data.source import Bounds, Labels, Source, Split, select

__all__ = ["MNIST", "locate_mnist", "read_mnist", "read_rotated_mnist"]

MEAN, STD = (0.1307,), (0.3081,)  # of the pixels of the training images
STEMS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
UNSIGNED_BYTES = 8  # the code of the only kind of number MNIST has
BATCH = 2048  # images rotated at once: 13 MB in float32

MNIST = DatasetInfo(
    title="MNIST",
    url="http://yann.lecun.com/exdb/mnist/ (or its mirror https://ossci-datasets.s3.amazonaws.com/mnist/)",
    layout="its four files, gzipped or not,",
    needed=tuple(f"{stem}-idx{3 if 'images' in stem else 1}-ubyte.gz" for stem in STEMS),
    folders=("mnist", "MNIST", "MNIST/raw"),
    counts=(60_000, 10_000),
)


def read_mnist(path: str | Path) -> Source:
    """Read MNIST from its four idx files, gzipped or not.

    Parameters
    ----------
    path : str or Path
        The folder of the files, or one that holds it as "mnist", "MNIST" or "MNIST/raw".

    Returns
    -------
    Source
        With the one target "digit", and images of shape (n, 1, 28, 28).
    """
    files = max((_files(place) for place in MNIST.places(path)), key=len)
    if absent := [name for stem, name in zip(STEMS, MNIST.needed, strict=True) if stem not in files]:
        raise MNIST.missing(path, absent)
    return Source(
        name="mnist",
        train=_split(files["train-images"], files["train-labels"]),
        test=_split(files["t10k-images"], files["t10k-labels"]),
        targets={"digit": Labels([str(digit) for digit in range(10)])},
        preprocessing=ImagePreprocessing(28, MEAN, STD),
    )


def locate_mnist(path: str | Path) -> Path | None:
    """Return the folder that holds all four files, or None."""
    return next((place for place in MNIST.places(path) if len(_files(place)) == len(STEMS)), None)


def _files(place: Path) -> dict[str, Path]:
    """Return those of the four files that are there, by the start of their names."""
    return {stem: file for stem in STEMS if (file := _file(place, stem)) is not None}


def _file(place: Path, stem: str) -> Path | None:
    ending = f"idx{3 if 'images' in stem else 1}-ubyte"
    names = (f"{stem}{mark}{ending}{packed}" for mark in "-." for packed in ("", ".gz"))
    return next((place / name for name in names if (place / name).is_file()), None)


def _split(images: Path, labels: Path) -> Split:
    pixels, ids = _read_idx(images, ndim=3), _read_idx(labels, ndim=1).long()
    if len(pixels) != len(ids):
        got = f"{len(pixels)} images and {len(ids)} labels"
        raise InputError(f'"{images}" and "{labels}"', "belong together", got)
    if len(bad := (ids > 9).nonzero().flatten()):
        got = f"{int(ids[bad[0]])} for image {int(bad[0])} ({len(bad)} of {len(ids)})"
        raise InputError(f'Labels in "{labels}"', "be digits", got, "Get the file again.")
    return Split(pixels.unsqueeze(1), {"digit": ids})


def _read_idx(path: Path, *, ndim: int) -> Tensor:
    """Return the content of an idx file: two zero bytes, the kind of number, ndim, the shape, then the numbers."""
    try:
        content = bytearray(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    except (EOFError, OSError, zlib.error) as error:
        got = f"an error ({error})"
        raise InputError(f'"{path}"', "be a complete gzip file", got, "Get it again.") from None
    header = 4 + 4 * ndim
    if len(content) < header or content[:4] != bytes((0, 0, UNSIGNED_BYTES, ndim)):
        rule = f"be an idx file of bytes in {ndim} dimension{'s'[: ndim > 1]}"
        raise InputError(f'"{path}"', rule, f"{bytes(content[:4])!r} at its start", "Get it again.")
    shape = [int.from_bytes(content[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(ndim)]
    if len(content) != header + math.prod(shape) or 0 in shape:
        rule = f"hold {math.prod(shape):,} bytes for shape {tuple(shape)} after its header"
        raise InputError(f'"{path}"', rule, f"{len(content) - header:,}", "It is cut short: get it again.")
    return torch.frombuffer(content, dtype=torch.uint8, offset=header).view(shape)


def read_rotated_mnist(path: str | Path, *, seed: int = 0, digits: Sequence[str] = ROTATED_DIGITS) -> Source:
    """Read some of the digits, each rotated counterclockwise by its own random angle in [0, 180) degrees.

    The joint task of the paper: which digit it is, and how far it is rotated.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_mnist`.
    seed : int
        Fixes the angles.
    digits : sequence of str
        Which digits; the paper's are 2, 3, 4, 5 and 7.

    Returns
    -------
    Source
        With the targets "digit", among ``digits`` in that order, and "angle", in degrees.
    """
    wanted = torch.tensor([choose(digit, {str(k): k for k in range(10)}, what="digit") for digit in digits])
    source = read_mnist(path)
    assert source.test is not None
    return Source(
        name="rotated-mnist",
        train=_rotated(source.train, wanted, derive_seed(seed, "train angles")),
        test=_rotated(source.test, wanted, derive_seed(seed, "test angles")),
        targets={"digit": Labels(digits), "angle": Bounds(0, 180)},
        preprocessing=source.preprocessing,
    )


def _rotated(split: Split, wanted: Tensor, seed: int) -> Split:
    rows, ids = (split.targets["digit"][:, None] == wanted).nonzero().unbind(1)
    pixels = select(split, rows).inputs
    assert isinstance(pixels, Tensor)
    angles = torch.rand(len(rows), generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 180
    for images, degrees in zip(torch.split(pixels, BATCH), torch.split(angles.float(), BATCH), strict=True):
        images.copy_(rotate(images.float(), degrees).round())  # in place: `pixels` is our own copy
    return Split(pixels, {"digit": ids.contiguous(), "angle": angles})
