"""Names beside points, so that none covers another: each takes the nearest free place around its point."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["place_labels"]

Array = NDArray[np.float64]

DIRECTIONS = 24
RINGS = (1.0, 1.6, 2.4, 3.4, 4.6, 6.0, 8.0, 10.5)  # distances from the point, in line heights
SIDEWAYS = 0.15  # line heights that a name beside its point is better than one above it
COVERED = 1.2  # line heights that covering another point is as bad as
ROUNDS, MANY = 3, 300  # every name may move again, knowing where the others stand; many have no room to


def place_labels(points: Array, sizes: Array, limits: tuple[float, float, float, float]) -> Array:
    """Return the centre of each label; NaN for one that finds no free place.

    Parameters
    ----------
    points : array, shape (n, 2)
        What is labelled, in pixels.
    sizes : array, shape (n, 2)
        Width and height of each label, in pixels.
    limits : (left, bottom, right, top)
        Labels stay inside, in pixels.

    Examples
    --------
    >>> place_labels(np.array([[0.0, 0.0]]), np.array([[20.0, 10.0]]), (-99, -99, 99, 99)).tolist()
    [[15.0, 0.0]]
    """
    line = float(np.median(sizes[:, 1]))
    centres = np.full_like(points, np.nan)
    order = np.argsort(-_crowding(points), kind="stable")  # where it is tight, choose first
    for _ in range(ROUNDS if len(points) <= MANY else 1):
        for i in order:
            centres[i] = np.nan
            centres[i] = _best_place(i, points, sizes, centres, line, limits)
    return centres


def _crowding(points: Array) -> Array:
    """Return how much is near each point: the sum of inverse squared distances."""
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    crowding: Array = (1 / (squares + 1)).sum(axis=1)
    return crowding


def _best_place(
    i: int, points: Array, sizes: Array, centres: Array, line: float, limits: tuple[float, float, float, float]
) -> Array:
    """Return the cheapest free place for label ``i``, given where the others stand."""
    turn = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ways = np.column_stack([np.cos(turn), np.sin(turn)])
    places = np.concatenate([points[i] + ways * (sizes[i] / 2 + (ring - 0.5) * line) for ring in RINGS])
    cost = np.repeat(RINGS, DIRECTIONS) - SIDEWAYS * np.tile(np.abs(ways[:, 0]), len(RINGS))
    around = np.ptp(places, axis=0) / 2 + sizes[i] / 2  # nothing further away can be in the way
    placed = np.flatnonzero((np.abs(centres - points[i]) < around + sizes / 2).all(axis=1))  # NaN is nowhere
    free = ~_overlaps(places, sizes[i], centres[placed], sizes[placed]).any(axis=1)
    half = sizes[i] / 2
    low, high = np.array(limits[:2]) + half, np.array(limits[2:]) - half
    free &= ((places >= low) & (places <= high)).all(axis=1)
    if not free.any():
        return np.full(2, np.nan)
    dots = points[(np.abs(points - points[i]) < around + line).all(axis=1)]
    cost = cost + COVERED * _overlaps(places, sizes[i], dots, np.full_like(dots, 0.5 * line)).sum(axis=1)
    best: Array = places[np.where(free, cost, np.inf).argmin()]
    return best


def _overlaps(places: Array, size: Array, centres: Array, sizes: Array) -> NDArray[np.bool_]:
    """Return which boxes of one size at ``places`` (p, 2) meet which of the boxes (n, 2). Shape (p, n)."""
    reach = (size + sizes) / 2
    across, along = (np.abs(places[:, None, axis] - centres[:, axis]) < reach[:, axis] for axis in (0, 1))
    return across & along
