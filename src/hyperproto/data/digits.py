"""scikit-learn's digits: 1,797 real handwritten digits, 8 by 8 pixels, plain and rotated."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.arrays import Arrays

__all__ = ["ROTATED_DIGITS", "load_digits", "load_rotated_digits", "rotate"]

ROTATED_DIGITS = ("2", "3", "4", "5", "7")  # paper: the others look alike, or the same, upside down


HELD_OUT = 0.25


def load_digits(*, seed: int = 0, part: Literal["test", "valid"] = "test") -> tuple[Arrays, Arrays]:
    """Return digits split at random into training data and a held-out quarter: images in [0, 1] and class ids.

    ``part="valid"`` is for choosing settings: the test quarter is put aside, and a quarter of the rest held out.
    """
    images, labels = _all_digits()
    train = torch.randperm(len(images), generator=_generator(seed, "split"))
    train, held = train.tensor_split([round(len(train) * (1 - HELD_OUT))])
    if choose(part, {"test": False, "valid": True}, what="part of the digits"):
        train, held = train.tensor_split([round(len(train) * (1 - HELD_OUT))])
    return Arrays(images[train], labels[train]), Arrays(images[held], labels[held])


def load_rotated_digits(
    *,
    seed: int = 0,
    part: Literal["test", "valid"] = "test",
    copies: int = 8,
    held_out_copies: int = 4,
    size: int = 16,
) -> tuple[Arrays, Arrays]:
    """Return the digits 2, 3, 4, 5, 7 turned by a random angle in [0, 180) degrees: the paper's joint task.

    Parameters
    ----------
    seed, part
        As for :func:`load_digits`.
    copies, held_out_copies : int
        How often each image is turned, each time by another angle.
    size : int, default 16
        Pixels per side; images are enlarged before they are turned, since 8 by 8 blurs badly.

    Returns
    -------
    train, held : Arrays
        Images, shape (n, 1, size, size), and targets ``{"digit": id, "angle": degrees}``.
    """
    train, held = load_digits(seed=seed, part=part)
    return tuple(  # type: ignore[return-value]
        _rotated(part, times, size, _generator(seed, name))
        for part, times, name in ((train, copies, "train angles"), (held, held_out_copies, "held-out angles"))
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
    """Turn each image, shape (n, channels, height, width), counter-clockwise by its own angle, about its centre."""
    turn = torch.deg2rad(degrees)
    cosine, sine, zero = turn.cos(), turn.sin(), torch.zeros_like(turn)
    affine = torch.stack([cosine, -sine, zero, sine, cosine, zero], dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _all_digits() -> tuple[Tensor, Tensor]:
    from sklearn import datasets

    held = datasets.load_digits()
    images = torch.from_numpy(held.images).float().unsqueeze(1) / 16
    return images, torch.from_numpy(held.target).long()


def _generator(seed: int, name: str) -> torch.Generator:
    return torch.Generator().manual_seed(derive_seed(seed, name))
