"""What the registry holds: a code that can be made, without making it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.code import Array

__all__ = ["Entry", "RowsByIndex", "fixed"]

CHUNK = 1 << 22  # numbers in one chunk of rows: small next to the result, large enough for numpy


class RowsByIndex(Protocol):
    """Makes chosen rows of a code; the rest of the code need never exist."""

    def __call__(self, index: Integers, dtype: DTypeLike = np.float64) -> Array:
        """Return unit rows, shape (len(index), dim), of the dtype where that saves time; else float64."""
        ...


@dataclass(frozen=True)
class Entry:
    """A spherical code known by construction.

    Attributes
    ----------
    name : str
        Short and unique, with the parameters in it: "kerdock-64".
    num_points, dim : int
        Its size and dimension.
    max_cosine : float
        No two of its points have a larger cosine; attained where ``exact``.
    citation : str
        Who found it, or which theorem gives ``max_cosine``; says so where it is only measured.
    rows : callable
        ``rows(index)`` makes chosen rows.
    sharp : bool
        Whether it meets Levenshtein's bound, so that no code of its size and dimension is better.
    exact : bool
        Whether ``max_cosine`` is attained; False where a theorem only bounds it.
    block : int
        Points come in blocks of this many, in order, opposite points together: equal shares of blocks make an
        even subset. 0: in no such order.
    """

    name: str
    num_points: int
    dim: int
    max_cosine: float
    citation: str
    rows: RowsByIndex
    sharp: bool = False
    exact: bool = True
    block: int = 0

    def build(self) -> Array:
        """Return every point, shape (num_points, dim), float64."""
        return self.take(np.arange(self.num_points))

    def take(self, index: Integers, *, dim: int | None = None, dtype: DTypeLike = np.float64) -> Array:
        """Return chosen points, padded with zeros to ``dim``: filled in chunks, so nothing else is large."""
        points: Array = np.zeros((len(index), dim or self.dim), dtype)
        step = max(1, CHUNK // self.dim)
        for start in range(0, len(index), step):
            part = slice(start, start + step)
            points[part, : self.dim] = self.rows(index[part], dtype)
        return points


def fixed(build: Callable[[], Array]) -> RowsByIndex:
    """Return rows by index of a code small enough to be made whole, once."""
    made: Callable[[], Any] = cache(build)

    def rows(index: Integers, dtype: DTypeLike = np.float64) -> Array:
        points: Array = made()[index]
        return points

    return rows
