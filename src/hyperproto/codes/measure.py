"""Points on the sphere as rows of an array: drawing and measuring them. K x K
exists in tiles only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.processes import one_thread

Array = NDArray[np.floating[Any]]
Ids = NDArray[np.intp]

TILE = 2048  # a tile of cosines is 2048 x 2048 float64 = 32 MB
ALL_PAIRS = 1e12  # twice the multiply-adds: each pair is computed once
FEW_DIMS = 6  # up to here a k-d tree finds nearest neighbors faster than all pairs do


@dataclass(frozen=True)
class Separation:
    """Cosine distances ``1 - cos`` over all pairs of different points: the columns of the paper's
    Table 2.
    """

    min: float
    mean: float
    max: float


def unit_rows(vectors: Array) -> Array:
    """Return ``vectors`` of shape (..., D) scaled to unit rows."""
    return vectors / row_lengths(vectors)


def row_lengths(vectors: Array) -> Array:
    """Return the length of each row of ``vectors``, shape (..., D). Shape (..., 1)."""
    return np.asarray(np.sqrt(np.einsum("...d,...d->...", vectors, vectors))[..., None])


def tangential(gradient: Array, points: Array, lengths: Array) -> Array:
    """Return a gradient in unit rows as one in rows of such lengths; it is written over.

    What points along a row changes nothing, as only the direction of a row counts. Shape (..., D).
    """
    gradient -= np.einsum("...d,...d->...", gradient, points)[..., None] * points
    gradient /= lengths
    return gradient


def random_points(num_points: int, dim: int, seed: int) -> Array:
    """Return points drawn uniformly from the sphere S^(dim-1). Shape (num_points, dim)."""
    return unit_rows(np.random.default_rng(seed).standard_normal((num_points, dim)))


def row_blocks(
    num_rows: int, num_columns: int = TILE, *, entries: int = TILE * TILE
) -> Iterator[slice]:
    """Yield slices that cover ``num_rows`` rows, each of so many rows that they have at most
    ``entries`` entries.

    Every pass over K x K takes its rows, and where both sides are large its columns, from here.

    >>> list(row_blocks(5, 10, entries=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, entries // max(1, num_columns))
    for start in range(0, num_rows, size):
        yield slice(start, min(start + size, num_rows))


def can_measure(num_points: int, dim: int) -> bool:
    """Return whether every pair can be measured within about a minute on one core."""
    return dim <= FEW_DIMS or num_points**2 * dim <= ALL_PAIRS


@one_thread()
def max_cosine(points: Array) -> float:
    """Return the largest cosine between two different points, the objective of Equation 4. Unit
    rows.
    """
    if len(points) > TILE and points.shape[1] <= FEW_DIMS:
        from scipy.spatial import KDTree

        distances, _ = KDTree(points).query(points, k=2)
        return float(1 - np.square(distances[:, 1]).min() / 2)
    blocks, largest = list(row_blocks(len(points))), -1.0
    for k, block in enumerate(blocks):
        rows = points[block].astype(np.float64, copy=False)
        for other in blocks[k:]:  # each pair once
            tile = rows @ points[other].astype(np.float64, copy=False).T
            if other is block:
                np.fill_diagonal(tile, -np.inf)
            largest = max(largest, float(tile.max()))
    return min(largest, 1.0)


@one_thread()
def sampled_max_cosine(points: Array, sample: int, *, seed: int) -> float:
    """Return the largest cosine between a sample of points and all others: never more than
    :func:`max_cosine`.
    """
    chosen = np.sort(
        np.random.default_rng(seed).choice(len(points), min(sample, len(points)), replace=False)
    )
    rows, largest = points[chosen], -1.0
    for block in row_blocks(len(points), TILE // 16):
        part = rows @ points[block].T
        own = (chosen >= block.start) & (chosen < block.stop)
        part[own, chosen[own] - block.start] = -np.inf
        largest = max(largest, float(part.max()))
    return min(largest, 1.0)


@one_thread()
def separation(points: Array) -> Separation:
    """Return the minimum, mean and maximum cosine distance over all pairs. Unit rows."""
    count, wide = len(points), points.astype(np.float64, copy=False)
    lowest = min(float((wide[rows] @ wide.T).min()) for rows in row_blocks(count, count))
    # sum over i != j of p_i.p_j = |sum of p_i|^2 - K, so the mean needs no pass over pairs
    total = float(np.square(points.sum(axis=0, dtype=np.float64)).sum()) - count
    return Separation(
        1 - max_cosine(points), 1 - total / (count * (count - 1)), 1 - max(lowest, -1.0)
    )


def nearest_neighbors(points: Array) -> tuple[Ids, Array]:
    """Return, for each point, the index of its nearest other point and the cosine to it. Both shape
    (K,).
    """
    count = len(points)
    index, cosine = np.empty(count, dtype=np.intp), np.empty(count)
    for block in row_blocks(count, count):
        tile = points[block] @ points.T
        tile.reshape(-1)[block.start :: count + 1] = -np.inf  # a point is not its own neighbor
        index[block] = nearest = tile.argmax(axis=1)
        cosine[block] = tile[np.arange(len(tile)), nearest]
    return index, cosine
