"""What the registry lists, a code that can be made without making it, and sections, which make one
code of another.

Let U have as rows k unit anchors with Gram matrix G = U U^T and let t be cosines. The points x with
U x = t share the component U^T G^-1 t of squared length τ = t^T G^-1 t; without it, and
renormalized, they lie in k dimensions less, and a cosine c between them becomes (c - τ)/(1 - τ).

*Deriving* at a point u is the section at the code's own maximum cosine s, where τ = s^2: the cosine
becomes (s - s^2)/(1 - s^2) = s/(1 + s). Sections at cosine 0 keep s: they are how lattices lose a
dimension.

Delsarte, Goethals, Seidel, "Spherical codes and designs" (1977), section 8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hyperproto._core.processes import derive_seed
from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.measure import Array, row_blocks

RowsByIndex = Callable[[Integers, DTypeLike], Array]

CHUNK = 1 << 22  # numbers in one chunk of rows: small next to the result, large enough for numpy
# points in a code from which subsets are not drawn: whole cosets, the first, are made faster
HUGE = 1 << 18
TOLERANCE = 1e-9  # products of the codes here differ by 1e-3 and more


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
        The largest cosine of two of its points.
    citation : str
        Who found it, or which theorem gives ``max_cosine``; says so where it is only measured.
    rows : callable
        ``rows(index, dtype)`` makes chosen unit rows, of the dtype where that saves time; no other
        is made.
    """

    name: str
    num_points: int
    dim: int
    max_cosine: float
    citation: str
    rows: RowsByIndex

    def build(self) -> Array:
        """Return every point, shape (num_points, dim), float64."""
        return self.take(np.arange(self.num_points))

    def draw(self, num_points: int, *, seed: int) -> Integers:
        """Return the indices of a subset, in increasing order: drawn by the seed, of a huge code
        the first ones.
        """
        if num_points == self.num_points or self.num_points > HUGE:
            return np.arange(num_points)
        drawn = np.random.default_rng(derive_seed(seed, "subset", self.name)).permutation(
            self.num_points
        )
        return np.sort(drawn[:num_points])

    def take(
        self, index: Integers, *, dim: int | None = None, dtype: DTypeLike = np.float64
    ) -> Array:
        """Return chosen points, padded with zeros to ``dim``: filled in chunks, so nothing else is
        large.
        """
        points: Array = np.zeros((len(index), dim or self.dim), dtype)
        for part in row_blocks(len(index), self.dim, entries=CHUNK):
            points[part, : self.dim] = self.rows(index[part], dtype)
        return points


def fixed(build: Callable[[], Array]) -> RowsByIndex:
    """Return rows by index of a code small enough to be made whole, once."""
    points_once = cache(build)
    return lambda index, dtype: points_once()[index]


def section(points: Array, anchors: Array, cosines: ArrayLike) -> Array:
    """Return the points at the given cosines from the k anchors, without that component, as unit
    rows of D - k.

    Anchors are independent unit rows; they need not be points of the code.
    """
    orthogonal = np.linalg.qr(anchors.T, mode="complete").Q[:, len(anchors) :]
    return unit_rows(points[members(points, anchors, cosines)] @ orthogonal)


def members(points: Array, anchors: Array, cosines: ArrayLike) -> Integers:
    """Return the indices of the points at the given cosines from the anchors."""
    fits = np.abs(points @ anchors.T - np.asarray(cosines)) < TOLERANCE
    return np.flatnonzero(fits.all(axis=1))


def derive(points: Array, max_cosine: float, *, steps: int = 1, base: int = 0) -> Array:
    """Return the code derived at its point number ``base``, and so on for ``steps`` steps.

    >>> from hyperproto.codes.algebra.lattices import e8_roots
    >>> derive(e8_roots(), 1 / 2, steps=2).shape
    (27, 6)
    """
    for _ in range(steps):
        points = section(points, points[base : base + 1], max_cosine)
        max_cosine = max_cosine / (1 + max_cosine)
    return points


def unit_rows(vectors: Array | NDArray[np.int64]) -> Array:
    """Return the rows divided by their lengths, float64.

    Not by `measure.unit_rows`, whose sums end in another bit: the codes would no longer be the same
    bit for bit.
    """
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def with_opposites(lines: Array) -> Array:
    """Return x and -x for every row x; opposite points stand next to each other."""
    return np.stack([lines, -lines], axis=1).reshape(-1, lines.shape[1])
