"""Small things that several constructions share."""

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.code import Array

__all__ = ["distinct", "unit_rows", "with_opposites"]


def unit_rows(vectors: Array | NDArray[np.int64]) -> Array:
    """Return the rows divided by their lengths, float64."""
    points: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return points


def with_opposites(lines: Array) -> Array:
    """Return x and -x for every row x; opposite points stand next to each other."""
    return np.stack([lines, -lines], axis=1).reshape(-1, lines.shape[1])


def distinct(values: Integers) -> tuple[Integers, Integers]:
    """Return the values that occur, or a range if that is no longer, and the place of each given one."""
    first, last = int(values.min()), int(values.max())
    if last - first < len(values):
        return np.arange(first, last + 1), values - first
    used, which = np.unique(values, return_inverse=True)
    return used, which
