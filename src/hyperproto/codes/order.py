"""Which of many points to use first: those far apart."""

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.threads import one_thread
from hyperproto.codes.code import Array

__all__ = ["farthest_first", "spread_order"]

EXPONENT = 16  # of the crowding that swaps reduce: near pairs count, and how many of them there are
Ids = NDArray[np.intp]


def farthest_first(points: Array, given: int) -> Ids:
    """Return an order of K points: the first ``given`` as they stand, then always the furthest from all before.

    Holds K x K. Equally far ones keep their order.

    >>> around = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    >>> farthest_first(np.stack([np.cos(around), np.sin(around)], axis=1), 1).tolist()
    [0, 4, 2, 6, 1, 3, 5, 7]
    """
    cosine = _cosines(points)
    order = list(range(given))
    nearest = cosine[:given].max(axis=0)
    nearest[:given] = np.inf  # taken
    for _ in range(len(points) - given):
        taken = int(nearest.argmin())
        order.append(taken)
        np.maximum(nearest, cosine[taken], out=nearest)
        nearest[taken] = np.inf
    return np.array(order)


def spread_order(points: Array, count: int) -> Ids:
    r"""Return an order of K points whose first ``count`` are far apart, and the others furthest first.

    Begins with the furthest each time, then swaps a used point for an unused one as long as that lowers the crowding
    among those used, :math:`\sum (1 - c_{ij})^{-16}`, always by the best swap there is. Holds K x K.

    Parameters
    ----------
    points : Array, shape (K, D)
        Unit rows.
    count : int
        How many are to be far apart, at least one.
    """
    order = farthest_first(points, 1)
    distance = np.maximum(1 - _cosines(points), 1e-12)
    np.fill_diagonal(distance, np.inf)
    weight = (distance.min() / distance) ** EXPONENT
    used, free = np.sort(order[:count]), np.sort(order[count:])
    for _ in range(len(points) if len(free) else 0):
        crowding = weight[np.ix_(used, used)].sum(axis=1)
        gain = crowding[:, None] - _sums_without_each(weight[np.ix_(used, free)])
        out, into = np.unravel_index(gain.argmax(), gain.shape)
        if gain[out, into] <= 1e-9 * crowding[out]:
            break
        used[out], free[into] = free[into], used[out]
    chosen = np.concatenate([used, free])
    ordered: Ids = chosen[farthest_first(points[chosen], count)]
    return ordered


def _sums_without_each(values: Array) -> Array:
    """Return the sum of each column without one row in turn, never by subtraction: what is left may be tiny."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[:-1], axis=0, out=before[1:])
    np.cumsum(values[:0:-1], axis=0, out=after[-2::-1])
    return before + after


def _cosines(points: Array) -> Array:
    """Return all cosines, equal ones equal whatever their last bits say. Shape (K, K)."""
    with one_thread():
        rounded: Array = np.clip(points @ points.T, -1, 1).round(12)
    return rounded
