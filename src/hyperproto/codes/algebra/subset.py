"""A fair subset: which K of the K' points of a code.

A symmetric code treats all its points alike; a subset need not. Two numbers say how fair it is: the norm of
the mean vector (0 when the points balance) and the spread, over points, of the number of nearest neighbors
(points at the maximum cosine). A random subset of K has a mean norm of about 1/sqrt(K) and a spread of about
the square root of the mean number of neighbors.

- Of the families equal shares of their cosets are taken, else antipodal points together, by the seed;
- in codes of a few thousand points a seeded local search then swaps points until their cost falls no more.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.processes import derive_seed, one_thread
from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.measure import Array, row_blocks

NEAR = 1e-6  # cosines of the codes here differ by 1e-3 and more
NEAR_SINGLE = 1e-4
PROBES = 64  # points whose neighbors are counted where there are many
SEARCHED = 6_000  # beyond this many points swaps are too slow, and only some are probed
WORK = 4_000_000_000  # the number of swaps tried times K'^2
PATIENCE = 40  # swaps that fail in a row before the search ends
COMPARED = 20_000_000  # up to this many numbers in a subset two choices are made and measured


def fairness(points: Array, max_cosine: float, *, seed: int = 0) -> tuple[float, float, float]:
    """Return how evenly unit rows are spread: smaller is fairer.

    The length of the mean of the points; and the mean and standard deviation, over points, of the number of points at
    ``max_cosine``, over 64 of them that ``seed`` picks where there are more than 6,000.
    """
    probes, count = points, len(points)
    if count > SEARCHED:
        probes = points[np.sort(np.random.default_rng(seed).choice(count, PROBES, replace=False))]
    tolerance = NEAR if points.dtype == np.float64 else NEAR_SINGLE
    neighbors, total = np.zeros(len(probes)), np.zeros(points.shape[1])
    for block in row_blocks(count, 1, entries=4096):
        neighbors += (np.abs(points[block] @ probes.T - max_cosine) < tolerance).sum(axis=0)
        total += points[block].sum(axis=0, dtype=np.float64)
    return float(np.linalg.norm(total)) / count, float(neighbors.mean()), float(neighbors.std())


def choose_subset(entry: Entry, num_points: int, *, seed: int = 0) -> Integers:
    """Return the indices of a fair subset, in increasing order."""
    if num_points == entry.num_points:
        return np.arange(num_points)
    rng = np.random.default_rng(derive_seed(seed, "subset", entry.name))
    in_pairs = entry.block > 0 and entry.block % 2 == 0  # shares are of pairs: a block must have whole ones
    start = _equal_shares(entry, num_points, rng) if in_pairs else None
    if start is not None and entry.num_points > SEARCHED:
        return start
    with one_thread():
        points = entry.build()
        start = _antipodal_start(points, num_points, rng) if start is None else start
        return _balanced(points, entry.max_cosine, start, rng)


def _equal_shares(entry: Entry, num_points: int, rng: np.random.Generator) -> Integers:
    """Return runs of points, equally long in a power of two of blocks; opposite points stay together.

    The runs start at the same place of each block, or at random ones; whichever is fairer, where K is not so
    large that measuring takes long. Places are multiples of the power of two that fits the run: in a linear
    family the same place keeps close to a subspace, where all points are alike.
    """
    available = entry.num_points // entry.block
    if num_points > available * entry.block:
        return np.arange(num_points)
    blocks = min(_power_of_two(-(-num_points // entry.block)), available)
    pairs, odd = divmod(num_points, 2)
    shares = 2 * (pairs // blocks + (np.arange(blocks) < pairs % blocks))
    shares[-1] += odd
    first = (_aligned_start(blocks, available, rng) + np.arange(blocks)) * entry.block
    run = np.arange(num_points) - np.repeat(np.cumsum(shares) - shares, shares)
    places = run + _aligned_start(int(shares.max()), entry.block, rng)
    shifts = np.repeat(2 * rng.integers(entry.block // 2, size=blocks), shares)
    start = np.repeat(first, shares)
    same: Integers = start + places
    scattered: Integers = np.sort(start + (run + shifts) % entry.block)
    if blocks == 1 or num_points * entry.dim > COMPARED or _unfairness(entry, same) <= _unfairness(entry, scattered):
        return same
    return scattered


def _unfairness(entry: Entry, index: Integers) -> float:
    """Return the spread and the mean norm together, each about 1 for a random subset."""
    mean_norm, neighbors, deviation = fairness(entry.take(index, dtype=np.float32), entry.max_cosine)
    return deviation / math.sqrt(1 + neighbors) + mean_norm * math.sqrt(len(index))


def _aligned_start(count: int, available: int, rng: np.random.Generator) -> int:
    """Return a random multiple of the power of two that fits ``count``, where one fits."""
    run = _power_of_two(count)
    return int(rng.integers(max(1, available // run))) * run


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()


def _balanced(points: Array, max_cosine: float, start: Integers, rng: np.random.Generator) -> Integers:
    """Return K indices: those of the start, after swaps that lower the cost while they can."""
    if len(points) > SEARCHED:
        return np.sort(start)
    adjacent: Array = np.empty((len(points), len(points)), np.float32)  # 1 where two are at the maximum cosine
    for block in row_blocks(len(points), 1, entries=1024):
        adjacent[block] = np.abs(points[block] @ points.T - max_cosine) < NEAR
    chosen = np.zeros(len(points), bool)
    chosen[start] = True
    fails = 0
    for _ in range(20 + WORK // len(points) ** 2):
        out = int(rng.choice(np.flatnonzero(chosen)))
        chosen[out] = False
        new = _best_addition(points, adjacent, chosen, out)
        chosen[new] = True
        fails = fails + 1 if new == out else 0
        if fails > PATIENCE:
            break
    return np.flatnonzero(chosen)


def _best_addition(points: Array, adjacent: Array, chosen: NDArray[np.bool_], preferred: int) -> int:
    """Return the point that joins the chosen ones at the least cost; ``preferred`` where no other is better.

    With d the numbers of neighbors among the chosen ones and T the sum of the chosen points, point j turns

    - the sum of squares of d over the subset into  sum d^2 + 2 (A d)_j + d_j + d_j^2,  and the sum into  sum
      d + 2 d_j;
    - |T|^2 into  |T|^2 + 2 T.x_j + 1.

    The cost is (squares - sum^2 / K) + w |T|^2; w, the mean of d, makes both parts alike in a random subset.
    """
    count = int(chosen.sum()) + 1
    degree = adjacent @ chosen.astype(np.float32)
    inside = np.where(chosen, degree, 0)
    squares = 2 * (adjacent @ inside) + degree + degree**2
    spread = squares - (inside.sum() + 2 * degree) ** 2 / count
    weight = 1 + inside.sum() / count
    cost = spread + 2 * weight * (points @ points[chosen].sum(axis=0))
    cost[chosen] = np.inf
    best = int(cost.argmin())
    return best if cost[best] < cost[preferred] - 1e-3 else preferred


def _antipodal_start(points: Array, num_points: int, rng: np.random.Generator) -> Integers:
    """Return K indices at random, x and -x together where the code is symmetric."""
    keys = points.round(6) + 0.0  # no -0.0: it would not sort as 0.0 does
    order, mirrored = np.lexsort(keys.T), np.lexsort(0.0 - keys.T)
    if not np.array_equal(keys[order], 0.0 - keys[mirrored]):
        return rng.permutation(len(points))[:num_points]
    antipode = np.empty(len(points), np.int64)
    antipode[order] = mirrored
    halves = rng.permutation(np.flatnonzero(np.arange(len(points)) < antipode))
    return np.stack([halves, antipode[halves]], axis=1).reshape(-1)[:num_points]
