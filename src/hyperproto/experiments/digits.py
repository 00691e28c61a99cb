"""Training on scikit-learn's digits, plain or rotated, on any space."""

from pathlib import Path
from typing import Any

import torch

from hyperproto.data import load_digits, load_rotated_digits
from hyperproto.data.digits import ROTATED_DIGITS
from hyperproto.models import DigitNet
from hyperproto.spaces import (
    Classes,
    ConventionalSpace,
    CosineSoftmax,
    OutputSpace,
    Range,
    Space,
    SquaredCosine,
)
from hyperproto.training import Run, fit

__all__ = ["TEN_DIGITS", "digit_network", "train_digits"]

TEN_DIGITS = [str(digit) for digit in range(10)]
LOSSES: dict[str, SquaredCosine | CosineSoftmax] = {"squared": SquaredCosine(), "softmax": CosineSoftmax()}


def digit_network(space: OutputSpace, *, size: int, seed: int, width: int = 32) -> DigitNet:
    """Build the network for a space, its weights fixed by the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DigitNet(space.dim, size=size, width=width)


def train_digits(
    *,
    data: str,
    space: str,
    dim: int,
    loss: str,
    margin: float,
    epochs: int,
    batch_size: int,
    lr: float,
    schedule: str,
    seed: int,
    folder: Path | None,
) -> Run:
    """Train as ``hyperproto train`` is asked to; its options say what each argument means."""
    if data == "digits":
        train, held = load_digits(seed=seed)
        tasks: Any = Classes(TEN_DIGITS, loss=LOSSES[loss])
    else:
        train, held = load_rotated_digits(seed=seed, size=8)
        tasks = {
            "digit": Classes(list(ROTATED_DIGITS), loss=LOSSES[loss]),
            "angle": Range(0, 180, margin=margin),
        }
    output = Space(dim, tasks) if space == "sphere" else ConventionalSpace(tasks)
    network = digit_network(output, size=8, seed=seed)
    return fit(
        network,
        output,
        train,
        valid=held,
        epochs=epochs,
        batch_size=batch_size,
        lr=lr,
        schedule=schedule,
        reduction="mean",
        seed=seed,
        folder=folder,
    )
