"""Exact measurements over all pairs, in tiles: K x K is never held."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from hyperproto._core.threads import one_thread
from hyperproto.codes.code import Array

__all__ = ["Separation", "can_measure", "max_cosine", "sampled_max_cosine", "separation"]

TILE = 2048  # a tile of cosines is 2048 x 2048 float64 = 32 MB
ALL_PAIRS = 1e12  # multiply-adds twice over: each pair is looked at once
FEW_DIMS = 6  # up to here a k-d tree finds nearest neighbours faster than all pairs do


@dataclass(frozen=True)
class Separation:
    """Cosine distances ``1 - cos`` over all pairs of different points: the columns of the paper's Table 2."""

    min: float
    mean: float
    max: float


def can_measure(num_points: int, dim: int) -> bool:
    """Return whether every pair can be measured within about a minute on one core."""
    return dim <= FEW_DIMS or num_points**2 * dim <= ALL_PAIRS


def max_cosine(points: Array) -> float:
    """Return the largest cosine between two different points, the objective of Equation 4. Unit rows."""
    if len(points) > TILE and points.shape[1] <= FEW_DIMS:
        distances, _ = KDTree(points).query(points, k=2)
        return float(1 - np.square(distances[:, 1]).min() / 2)
    return max(float(tile.max()) for tile in _cosine_tiles(points))


def sampled_max_cosine(points: Array, sample: int, *, seed: int) -> float:
    """Return the largest cosine between a sample of points and all others: never more than :func:`max_cosine`."""
    chosen = np.sort(np.random.default_rng(seed).choice(len(points), min(sample, len(points)), replace=False))
    rows, largest = points[chosen], -1.0
    with one_thread():
        for start in range(0, len(points), 16 * TILE):
            part = rows @ points[start : start + 16 * TILE].T
            own = (chosen >= start) & (chosen < start + part.shape[1])
            part[own, chosen[own] - start] = -np.inf
            largest = max(largest, float(part.max()))
    return min(largest, 1.0)


def separation(points: Array) -> Separation:
    """Return the minimum, mean and maximum cosine distance over all pairs. Unit rows."""
    lowest = min(float(tile.min()) for tile in _cosine_tiles(points, diagonal=np.inf))
    count = len(points)
    # sum over i != j of p_i.p_j = |sum of p_i|^2 - K, so the mean needs no pass over pairs
    total = float(np.square(points.sum(axis=0, dtype=np.float64)).sum()) - count
    return Separation(1 - max_cosine(points), 1 - total / (count * (count - 1)), 1 - lowest)


def _cosine_tiles(points: Array, *, diagonal: float = -np.inf) -> Iterator[Array]:
    """Yield the upper triangle of the cosine matrix tile by tile, its diagonal overwritten, clipped to [-1, 1]."""
    with one_thread():
        for i in range(0, len(points), TILE):
            rows = points[i : i + TILE].astype(np.float64, copy=False)
            for j in range(i, len(points), TILE):
                tile = (rows @ points[j : j + TILE].astype(np.float64, copy=False).T).clip(-1, 1)
                if i == j:
                    np.fill_diagonal(tile, diagonal)
                yield tile
