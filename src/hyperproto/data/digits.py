"""Handwritten digits, plain and rotated: scikit-learn's 1,797 of 8 by 8 pixels, and MNIST's 70,000
of 28 by 28.
"""

import gzip
import math
import zlib
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, require
from hyperproto._core.processes import derive_seed
from hyperproto.data.examples import Arrays
from hyperproto.data.published import DatasetInfo
from hyperproto.data.source import Source, Split, select
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.tasks import Classes, Range, Task

DIGITS = tuple(str(digit) for digit in range(10))
ROTATED_DIGITS = ("2", "3", "4", "5", "7")  # paper: the others look alike, or the same, upside down
TEST_SHARE = 0.25  # of scikit-learn's digits, which have no official split


def load_digits(*, seed: int = 0, part: Literal["test", "valid"] = "test") -> tuple[Arrays, Arrays]:
    """Return digits split at random into training data and a held-out quarter: images in [0, 1] and
    class ids.

    ``part="valid"`` is for choosing settings: the test quarter is left out, and a quarter of the
    rest held out.
    """
    datasets = require("sklearn.datasets", extra="sklearn", purpose="scikit-learn's digits")
    digits = datasets.load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16
    labels = torch.from_numpy(digits.target).long()
    train = torch.randperm(len(images), generator=_generator(seed, "split"))
    train, other = train.tensor_split([round(len(train) * (1 - TEST_SHARE))])
    if choose(part, {"test": False, "valid": True}, what="part of the digits"):
        train, other = train.tensor_split([round(len(train) * (1 - TEST_SHARE))])
    return Arrays(images[train], labels[train]), Arrays(images[other], labels[other])


def load_rotated_digits(
    *,
    seed: int = 0,
    part: Literal["test", "valid"] = "test",
    copies: int = 8,
    held_out_copies: int = 4,
    size: int = 16,
) -> tuple[Arrays, Arrays]:
    """Return the digits 2, 3, 4, 5, 7 rotated by a random angle in [0, 180) degrees: the paper's
    joint task.

    Parameters
    ----------
    seed, part
        As for :func:`load_digits`.
    copies, held_out_copies : int
        How often each image is rotated, each time by another angle.
    size : int, default 16
        Pixels per side; images are enlarged before they are rotated, since 8 by 8 blurs badly.

    Returns
    -------
    train, held_out : Arrays
        Images, shape (n, 1, size, size), and targets ``{"digit": id, "angle": degrees}``.
    """
    train, other = load_digits(seed=seed, part=part)
    return (
        _rotated(train, copies, size, _generator(seed, "train angles")),
        _rotated(other, held_out_copies, size, _generator(seed, "held-out angles")),
    )


def _rotated(digits: Arrays, copies: int, size: int, generator: torch.Generator) -> Arrays:
    assert isinstance(digits.targets, Tensor)
    rows, labels = _rotated_rows(digits.targets).repeat(copies, 1).T
    angles = torch.rand(len(rows), generator=generator) * 180
    large = functional.interpolate(
        digits.inputs, size=(size, size), mode="bilinear", align_corners=False
    )
    return Arrays(rotate(large[rows], angles), {"digit": labels.contiguous(), "angle": angles})


def _rotated_rows(digits: Tensor) -> Tensor:
    """Return where the digits are that are rotated: pairs of a row and which of the five, shape (n,
    2).
    """
    return (digits[:, None] == torch.tensor([int(name) for name in ROTATED_DIGITS])).nonzero()


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Rotate each image, shape (n, channels, height, width), counterclockwise by its own angle,
    about its center.
    """
    turn = torch.deg2rad(degrees)
    cosine, sine, zero = turn.cos(), turn.sin(), torch.zeros_like(turn)
    affine = torch.stack([cosine, -sine, zero, sine, cosine, zero], dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _generator(seed: int, name: str) -> torch.Generator:
    return torch.Generator().manual_seed(derive_seed(seed, name))


def read_digits(*, seed: int = 0) -> Source:
    """Return scikit-learn's 1,797 digits of 8 by 8 pixels, with the target "digit"; the seed fixes
    the split.
    """
    return _source("digits", load_digits(seed=seed), {"digit": Classes(DIGITS)}, 8)


def read_rotated_digits(*, seed: int = 0, size: int = 8, copies: int = 8) -> Source:
    """Return :func:`load_rotated_digits` as a source, with the targets "digit" and "angle"."""
    parts = load_rotated_digits(seed=seed, size=size, copies=copies)
    return _source(
        "rotated-digits",
        parts,
        {"digit": Classes(ROTATED_DIGITS), "angle": Range(0, 180, outside="clip")},
        size,
    )


def _source(name: str, parts: tuple[Arrays, Arrays], targets: dict[str, Task], size: int) -> Source:
    train, test = (_split(part) for part in parts)
    return Source(name, train, test, targets, ImagePreprocessing(size, mean=(0.0,), std=(1.0,)))


def _split(data: Arrays) -> Split:
    """Return images in [0, 1] as bytes, and targets by name."""
    targets = {"digit": data.targets} if isinstance(data.targets, Tensor) else dict(data.targets)
    wide = {
        name: target.double() if target.is_floating_point() else target
        for name, target in targets.items()
    }
    return Split((data.inputs * 255).round().byte(), wide)


MEAN, STD = (0.1307,), (0.3081,)  # of the pixels of the training images
STEMS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
UNSIGNED_BYTES = 8  # the code of the only kind of number MNIST has
LARGEST = 2**28  # bytes of a file; MNIST has 47 million
BATCH = 2048  # images rotated at once: 13 MB in float32

MNIST = DatasetInfo(
    title="MNIST",
    url=(
        "http://yann.lecun.com/exdb/mnist/ (or its mirror "
        "https://ossci-datasets.s3.amazonaws.com/mnist/)"
    ),
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
    files = _mnist_files(path)
    if absent := [
        name for stem, name in zip(STEMS, MNIST.needed, strict=True) if stem not in files
    ]:
        raise MNIST.missing(path, absent)
    return Source(
        name="mnist",
        train=_read_part(files["train-images"], files["train-labels"]),
        test=_read_part(files["t10k-images"], files["t10k-labels"]),
        targets={"digit": Classes(DIGITS)},
        preprocessing=ImagePreprocessing(28, MEAN, STD),
    )


def is_mnist(path: str | Path) -> bool:
    """Whether all four files of MNIST are at a path."""
    return len(_mnist_files(path)) == len(STEMS)


def _mnist_files(path: str | Path) -> dict[str, Path]:
    """Return those of the four files that are there, by the start of their names, where most of
    them are.
    """
    places = MNIST.places(path)
    found = ({stem: file for stem in STEMS if (file := _file(place, stem))} for place in places)
    return max(found, key=len)


def _file(place: Path, stem: str) -> Path | None:
    ending = f"idx{3 if 'images' in stem else 1}-ubyte"
    names = (f"{stem}{mark}{ending}{packed}" for mark in "-." for packed in ("", ".gz"))
    return next((place / name for name in names if (place / name).is_file()), None)


def _read_part(images: Path, labels: Path) -> Split:
    pixels, ids = _read_idx(images, ndim=3), _read_idx(labels, ndim=1).long()
    if len(pixels) != len(ids):
        got = f"{len(pixels)} images and {len(ids)} labels"
        raise InputError(f'"{images}" and "{labels}"', "belong together", got)
    if len(bad := (ids > 9).nonzero().flatten()):
        got = f"{int(ids[bad[0]])} for image {int(bad[0])} ({len(bad)} of {len(ids)})"
        raise InputError(f'Labels in "{labels}"', "be digits", got, "Get the file again.")
    return Split(pixels.unsqueeze(1), {"digit": ids})


def _read_idx(path: Path, *, ndim: int) -> Tensor:
    """Return the content of an idx file: two zero bytes, the kind of number, ndim, the shape, then
    the numbers.

    Reads as many bytes as the header says, and one more: a small file may unpack to any size.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            header = file.read(4 + 4 * ndim)
            shape = [
                int.from_bytes(header[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(ndim)
            ]
            size = math.prod(shape)
            content = bytearray(file.read(min(size, LARGEST) + 1))
    except (EOFError, OSError, zlib.error) as error:
        got = f"an error ({error})"
        raise InputError(f'"{path}"', "be a complete gzip file", got, "Get it again.") from None
    if len(header) < 4 + 4 * ndim or header[:4] != bytes((0, 0, UNSIGNED_BYTES, ndim)):
        rule = f"be an idx file of bytes in {ndim} dimension{'s'[: ndim > 1]}"
        raise InputError(f'"{path}"', rule, f"{header[:4]!r} at its start", "Get it again.")
    if len(content) != size or 0 in shape:
        rule = f"hold {size:,} bytes for shape {tuple(shape)} after its header, {LARGEST:,} at most"
        got = f"{len(content):,}" if len(content) <= size else "more"
        raise InputError(f'"{path}"', rule, got, "It is cut short or damaged: get it again.")
    return torch.frombuffer(content, dtype=torch.uint8).view(shape)


def read_rotated_mnist(path: str | Path, *, seed: int = 0) -> Source:
    """Read the digits 2, 3, 4, 5, 7, each rotated counterclockwise by its own random angle in [0,
    180) degrees.

    The joint task of the paper: which digit it is, and how far it is rotated.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_mnist`.
    seed : int
        Fixes the angles.

    Returns
    -------
    Source
        With the targets "digit" and "angle", in degrees.
    """
    source = read_mnist(path)
    assert source.test is not None
    return Source(
        name="rotated-mnist",
        train=_rotated_part(source.train, derive_seed(seed, "train angles")),
        test=_rotated_part(source.test, derive_seed(seed, "test angles")),
        targets={"digit": Classes(ROTATED_DIGITS), "angle": Range(0, 180, outside="clip")},
        preprocessing=source.preprocessing,
    )


def _rotated_part(split: Split, seed: int) -> Split:
    rows, ids = _rotated_rows(split.targets["digit"]).unbind(1)
    pixels = select(split, rows).inputs
    assert isinstance(pixels, Tensor)
    angles = (
        torch.rand(len(rows), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        * 180
    )
    for images, degrees in zip(
        torch.split(pixels, BATCH), torch.split(angles.float(), BATCH), strict=True
    ):
        images.copy_(rotate(images.float(), degrees).round())  # in place: `pixels` is our own copy
    return Split(pixels, {"digit": ids.contiguous(), "angle": angles})
