"""How evenly a subset of a symmetric code treats its points.

A symmetric code treats all its points alike; a subset need not. Two numbers say how fair it is: the norm of
the mean vector (0 when the points balance) and the spread, over points, of the number of nearest neighbours
(points at the maximum cosine). A random subset of K has a mean norm of about 1/sqrt(K) and a spread of about
the square root of the mean number of neighbours.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.code import Array

__all__ = ["NEAR", "Fairness", "fairness", "random_fairness"]

NEAR = 1e-6  # cosines of the codes here differ by 1e-3 and more
NEAR_SINGLE = 1e-4
PROBED, PROBES = 6_000, 64  # beyond so many points the neighbours of 64 of them are counted
CHUNK = 4096


@dataclass(frozen=True)
class Fairness:
    """How evenly points are spread: smaller is fairer.

    Attributes
    ----------
    mean_norm : float
        Length of the mean of the points.
    neighbour_mean, neighbour_std : float
        Mean and standard deviation, over points, of the number of points at the maximum cosine; over
        ``probes`` of the points where there are many.
    probes : int
        Number of points that were looked at.
    """

    mean_norm: float
    neighbour_mean: float
    neighbour_std: float
    probes: int


def fairness(points: Array, max_cosine: float, *, seed: int = 0) -> Fairness:
    """Return how fair a set of unit rows is; neighbours are at ``max_cosine``, ``seed`` picks the probes."""
    chunks = (points[start : start + CHUNK] for start in range(0, len(points), CHUNK))
    return _measure(chunks, points[_probes(len(points), seed)], max_cosine)


def random_fairness(entry: Entry, num_points: int, *, seed: int = 0) -> Fairness:
    """Return how fair a random subset of an entry is, to compare a fair one with. Never holds all of it."""
    index = np.random.default_rng(seed).integers(entry.num_points, size=num_points)
    if entry.num_points <= 1 << 24:  # a permutation fits in memory; in larger codes hardly a point comes twice
        index = np.random.default_rng(seed).permutation(entry.num_points)[:num_points]
    probes = entry.take(index[_probes(num_points, seed)], dtype=np.float32)
    index = np.sort(index)
    chunks = (entry.take(index[start : start + CHUNK], dtype=np.float32) for start in range(0, num_points, CHUNK))
    return _measure(chunks, probes, entry.max_cosine)


def _probes(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return which of ``count`` points are looked at."""
    if count <= PROBED:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, PROBES, replace=False))


def _measure(chunks: Iterable[Array], probes: Array, max_cosine: float) -> Fairness:
    """Return the fairness of the points in ``chunks``, their neighbours counted for the probes among them."""
    tolerance = NEAR if probes.dtype == np.float64 else NEAR_SINGLE
    neighbours, total, count = np.zeros(len(probes)), np.zeros(probes.shape[1]), 0
    for chunk in chunks:
        neighbours += (np.abs(chunk @ probes.T - max_cosine) < tolerance).sum(axis=0)
        total += chunk.sum(axis=0, dtype=np.float64)
        count += len(chunk)
    mean_norm = float(np.linalg.norm(total)) / count
    return Fairness(mean_norm, float(neighbours.mean()), float(neighbours.std()), len(probes))
