"""scikit-learn's digits: 1,797 real handwritten digits, 8 by 8 pixels, plain and rotated."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.batches import Arrays
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.source import Bounds, Labels, Source, Split

__all__ = ["ROTATED_DIGITS", "load_digits", "load_rotated_digits", "read_digits", "read_rotated_digits", "rotate"]

ROTATED_DIGITS = ("2", "3", "4", "5", "7")  # paper: the others look alike, or the same, upside down
HELD_OUT = 0.25


def load_digits(*, seed: int = 0, part: Literal["test", "valid"] = "test") -> tuple[Arrays, Arrays]:
    """Return digits split at random into training data and a held-out quarter: images in [0, 1] and class ids.

    ``part="valid"`` is for choosing settings: the test quarter is left out, and a quarter of the rest held out.
    """
    from sklearn import datasets

    digits = datasets.load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16
    labels = torch.from_numpy(digits.target).long()
    train = torch.randperm(len(images), generator=_generator(seed, "split"))
    train, other = train.tensor_split([round(len(train) * (1 - HELD_OUT))])
    if choose(part, {"test": False, "valid": True}, what="part of the digits"):
        train, other = train.tensor_split([round(len(train) * (1 - HELD_OUT))])
    return Arrays(images[train], labels[train]), Arrays(images[other], labels[other])


def load_rotated_digits(
    *,
    seed: int = 0,
    part: Literal["test", "valid"] = "test",
    copies: int = 8,
    held_out_copies: int = 4,
    size: int = 16,
) -> tuple[Arrays, Arrays]:
    """Return the digits 2, 3, 4, 5, 7 rotated by a random angle in [0, 180) degrees: the paper's joint task.

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
    wanted = torch.tensor([int(name) for name in ROTATED_DIGITS])
    chosen = (digits.targets[:, None] == wanted).nonzero()  # (row, which of the five)
    rows, labels = chosen.repeat(copies, 1).T
    angles = torch.rand(len(rows), generator=generator) * 180
    large = functional.interpolate(digits.inputs, size=(size, size), mode="bilinear", align_corners=False)
    return Arrays(rotate(large[rows], angles), {"digit": labels.contiguous(), "angle": angles})


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Rotate each image, shape (n, channels, height, width), counterclockwise by its own angle, about its center."""
    turn = torch.deg2rad(degrees)
    cosine, sine, zero = turn.cos(), turn.sin(), torch.zeros_like(turn)
    affine = torch.stack([cosine, -sine, zero, sine, cosine, zero], dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _generator(seed: int, name: str) -> torch.Generator:
    return torch.Generator().manual_seed(derive_seed(seed, name))


def read_digits(*, seed: int = 0) -> Source:
    """Return scikit-learn's 1,797 digits of 8 by 8 pixels, with the target "digit"; the seed fixes the split."""
    return _source("digits", load_digits(seed=seed), {"digit": Labels([str(digit) for digit in range(10)])}, 8)


def read_rotated_digits(*, seed: int = 0, size: int = 8, copies: int = 8) -> Source:
    """Return the digits 2, 3, 4, 5, 7 rotated by an angle in [0, 180) degrees, with the targets "digit" and "angle".

    Parameters
    ----------
    seed : int
        Fixes the held-out quarter and the angles.
    size : int
        Pixels per side.
    copies : int
        How often each training image is rotated, each time by another angle.
    """
    parts = load_rotated_digits(seed=seed, size=size, copies=copies)
    return _source("rotated-digits", parts, {"digit": Labels(ROTATED_DIGITS), "angle": Bounds(0, 180)}, size)


def _source(name: str, parts: tuple[Arrays, Arrays], targets: dict[str, Labels | Bounds], size: int) -> Source:
    train, test = (_split(part) for part in parts)
    return Source(name, train, test, targets, ImagePreprocessing(size, mean=(0.0,), std=(1.0,)))


def _split(data: Arrays) -> Split:
    """Return images in [0, 1] as bytes, and targets by name."""
    targets = {"digit": data.targets} if isinstance(data.targets, Tensor) else dict(data.targets)
    wide = {name: target.double() if target.is_floating_point() else target for name, target in targets.items()}
    return Split((data.inputs * 255).round().byte(), wide)
