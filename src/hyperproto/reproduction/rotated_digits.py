"""The paper's joint task, in small: which digit, and how far it is turned, on one S²; and a multi-task baseline."""

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from hyperproto._core.errors import NonFiniteLossError
from hyperproto.baselines import ConventionalSpace
from hyperproto.data import Arrays, load_rotated_digits
from hyperproto.data.digits import ROTATED_DIGITS
from hyperproto.models import DigitNet
from hyperproto.spaces import Classes, CompositeSpace, OutputSpace, Range, Space, Sphere
from hyperproto.training import Run, fit

__all__ = [
    "EPOCHS",
    "SPACES",
    "TEN_DIGITS",
    "Row",
    "compare",
    "digit_network",
    "held_out_pictures",
    "outputs_on_sphere",
]

EPOCHS = 3
COPIES = 40  # how often each training image is turned: 27,080 images
LR = 0.4  # for the mean loss; near the best of each space on the validation part (benchmarks/rotated_digits.py)
SIZE, SHOWN = 8, 24  # pixels the network sees, pixels people see
DIGITS = list(ROTATED_DIGITS)
TEN_DIGITS = [str(digit) for digit in range(10)]


def digit_network(space: OutputSpace, *, size: int, seed: int, width: int = 32) -> DigitNet:
    """Build the network for a space, its weights fixed by the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DigitNet(space.dim, size=size, width=width)


def _paper() -> OutputSpace:
    return Space(3, digit=Classes(DIGITS), angle=Range(0, 180))


def _point() -> OutputSpace:
    return CompositeSpace(3, digit=Classes(DIGITS), angle=Range(0, 180, margin=0.1))


def _baseline() -> OutputSpace:
    return ConventionalSpace(digit=Classes(DIGITS), angle=Range(0, 180))


SPACES = {
    "S², the paper's loss": _paper,
    "S², one point for both, margin 0.1": _point,
    "softmax + squared error": _baseline,
}


@dataclass(frozen=True)
class Row:
    """One line of the table: how one output space did; without a run, its training diverged."""

    name: str
    run: Run | None
    seconds: float

    @property
    def accuracy(self) -> float:
        """Share of digits read right."""
        return self.run.metrics["digit/accuracy"] if self.run else math.nan

    @property
    def mae(self) -> float:
        """Mean error of the angle, in degrees."""
        return self.run.metrics["angle/mae"] if self.run else math.nan


def compare(
    *,
    epochs: int = EPOCHS,
    lr: float = LR,
    seed: int = 0,
    part: Literal["test", "valid"] = "test",
    only: str | None = None,
) -> tuple[list[Row], Arrays]:
    """Train every space with the same network, data, epochs and rate; return the table and the held-out data."""
    train, test = load_rotated_digits(seed=seed, part=part, copies=COPIES, size=SIZE)
    rows = []
    for name in SPACES if only is None else (only,):
        space = SPACES[name]()
        network = digit_network(space, size=SIZE, seed=seed)
        started = time.perf_counter()
        run: Run | None = None
        with suppress(NonFiniteLossError):  # squared error explodes at rates that the sphere bears
            run = fit(network, space, train, valid=test, epochs=epochs, lr=lr, reduction="mean", seed=seed)
        rows.append(Row(name, run, time.perf_counter() - started))
    return rows, test


def held_out_pictures(seed: int) -> Tensor:
    """Return the held-out images of :func:`compare` as people like to see them, shape (n, SHOWN, SHOWN)."""
    _, test = load_rotated_digits(seed=seed, copies=1, size=SHOWN)
    return test.inputs[:, 0]


@torch.no_grad()
def outputs_on_sphere(run: Run, images: Tensor) -> Tensor:
    """Return where a trained network puts images, unit rows of shape (n, dim)."""
    assert isinstance(run.space, Sphere)
    device = next(run.network.parameters()).device
    return run.space.project(run.network.eval()(images.to(device))).cpu()
