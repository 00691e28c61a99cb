"""Handwritten digits, plain and rotated: scikit-learn's 1,797 of 8 by 8 pixels, and MNIST's 70,000
of 28 by 28.
"""

import gzip
import math
import zlib
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, require
from hyperproto._core.processes import derive_seed
from hyperproto.data.examples import Arrays
from hyperproto.data.published import DatasetInfo, check_labels
from hyperproto.data.source import Source, Split
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.tasks import Classes, Range, Task

Part: TypeAlias = tuple[Tensor, dict[str, Tensor]]

DIGITS = tuple(str(digit) for digit in range(10))
ROTATED_DIGITS = ("2", "3", "4", "5", "7")  # paper: the others look alike, or the same, upside down
ROTATED_TARGETS = {"digit": Classes(ROTATED_DIGITS), "angle": Range(0, 180, outside="clip")}
TEST_SHARE = 0.25  # of scikit-learn's digits, which have no official split


def load_digits(*, seed: int = 0, part: Literal["test", "valid"] = "test") -> tuple[Arrays, Arrays]:
    """Return digits split at random into training data and a held-out quarter: images in [0, 1] and
    class ids.

    ``part="valid"`` is for choosing settings: the test quarter is left out, and a quarter of the
    rest held out.
    """
    (train, digits), (other, others) = _digits(seed, part)
    return Arrays(train, digits["digit"]), Arrays(other, others["digit"])


def _digits(seed: int, part: str) -> list[Part]:
    datasets = require("sklearn.datasets", extra="sklearn", purpose="scikit-learn's digits")
    digits = datasets.load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16
    labels = torch.from_numpy(digits.target).long()
    train = torch.randperm(len(images), generator=_generator(seed, "split"))
    for _ in range(choose(part, {"test": 1, "valid": 2}, what="part of the digits")):
        train, other = train.tensor_split([round(len(train) * (1 - TEST_SHARE))])
    return [(images[rows], {"digit": labels[rows]}) for rows in (train, other)]


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
    train, other = _rotated_digits(seed, part, (copies, held_out_copies), size)
    return Arrays(*train), Arrays(*other)


def _rotated_digits(seed: int, part: str, copies: tuple[int, int], size: int) -> list[Part]:
    parts, names = _digits(seed, part), ("train angles", "held-out angles")
    return [
        _rotated(
            functional.interpolate(images, size, mode="bilinear", align_corners=False),
            targets["digit"],
            _generator(seed, name),
            times,
            torch.float32,
        )
        for (images, targets), name, times in zip(parts, names, copies, strict=True)
    ]


def _rotated(
    images: Tensor,
    digits: Tensor,
    generator: torch.Generator,
    copies: int = 1,
    dtype: torch.dtype = torch.float64,
) -> Part:
    """Return the five digits that are rotated, each ``copies`` times by an angle of its own."""
    which = torch.tensor([int(name) for name in ROTATED_DIGITS])
    rows, ids = (digits[:, None] == which).nonzero().repeat(copies, 1).T
    angles = torch.rand(len(rows), generator=generator, dtype=dtype) * 180
    images = images[rows]  # our own copy, so that it can be changed in place
    for some, degrees in zip(
        torch.split(images, BATCH), torch.split(angles.float(), BATCH), strict=True
    ):
        turned = rotate(some.float(), degrees)
        some.copy_(turned if some.is_floating_point() else turned.round())
    return images, {"digit": ids.contiguous(), "angle": angles}


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
    return _source("digits", _digits(seed, "test"), {"digit": Classes(DIGITS)})


def read_rotated_digits(*, seed: int = 0, size: int = 8, copies: int = 8) -> Source:
    """Return :func:`load_rotated_digits` as a source, with the targets "digit" and "angle"."""
    parts = _rotated_digits(seed, "test", (copies, 4), size)
    return _source("rotated-digits", parts, ROTATED_TARGETS)


def _source(name: str, parts: list[Part], targets: dict[str, Task]) -> Source:
    """Return images in [0, 1] as bytes, and angles as precise as others have them."""
    train, test = (
        Split(
            (images * 255).round().byte(),
            {name: x.double() if x.is_floating_point() else x for name, x in found.items()},
        )
        for images, found in parts
    )
    size = parts[0][0].shape[-1]
    return Source(name, train, test, targets, ImagePreprocessing(size, mean=(0.0,), std=(1.0,)))


AS_USUAL = ImagePreprocessing(28, mean=(0.1307,), std=(0.3081,))  # of the training images
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
    needed=tuple(
        f"{part}-{kind}*ubyte*" for part in ("train", "t10k") for kind in ("images", "labels")
    ),
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
    train, test = (Split(*part) for part in _mnist(path))
    return Source("mnist", train, test, {"digit": Classes(DIGITS)}, AS_USUAL)


def _mnist(path: str | Path) -> list[Part]:
    folder, parts = MNIST.find(path), []
    for part in ("train", "t10k"):
        images, labels = (
            min(filter(Path.is_file, folder.glob(f"{part}-{kind}*ubyte*")), default=folder)
            for kind in ("images", "labels")
        )
        pixels, ids = _read_idx(images, ndim=3), _read_idx(labels, ndim=1).long()
        check_labels(ids, len(DIGITS), labels)
        parts.append((pixels.unsqueeze(1), {"digit": ids}))
    return parts


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
    train, test = (
        Split(*_rotated(images, targets["digit"], _generator(seed, name)))
        for (images, targets), name in zip(
            _mnist(path), ("train angles", "test angles"), strict=True
        )
    )
    return Source("rotated-mnist", train, test, ROTATED_TARGETS, AS_USUAL)
