"""Equal-area maps of the two halves of S²: every class is seen once, and crowding is the same everywhere."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["graticule", "halves"]

Array = NDArray[np.float64]

CANDIDATES = 500  # directions to look from, of which the one that cuts the fewest classes is taken
RIM = 0.25  # cosine: classes nearer to the rim than this are in danger of losing their neighbours to the other map


def halves(vectors: Array) -> list[tuple[str, Array, NDArray[np.int64]]]:
    """Return title, points (n, 2) in the unit disc, and classes (n,) of the front and of the back.

    Both are Lambert's azimuthal equal-area map, seen from outside: what leaves one map at its right rim enters the
    other at the left.
    """
    front, right, up = _axes(vectors)
    maps = []
    for title, way, across in (("front", front, right), ("back", -front, -right)):
        depth = vectors @ way
        ids = np.flatnonzero(depth > 0 if title == "front" else depth >= 0)
        flat = np.column_stack([vectors[ids] @ across, vectors[ids] @ up])
        maps.append((title, flat / np.sqrt(1 + depth[ids])[:, None], ids))  # the rim, depth 0, has radius 1
    return maps


def graticule() -> list[Array]:
    """Return the rim and circles 30° and 60° from the middle, as lines to draw behind a map."""
    turn = np.linspace(0, 2 * np.pi, 181)
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    return [ring * np.sqrt(2) * np.sin(np.deg2rad(away) / 2) for away in (30, 60, 90)]


def _axes(vectors: Array) -> tuple[Array, Array, Array]:
    """Return the direction to look from that keeps classes off the rim, and what is right and up from there."""
    index = np.arange(CANDIDATES) + 0.5
    height, turn = 1 - index / CANDIDATES, np.pi * (1 + 5**0.5) * index  # half a Fibonacci lattice
    flat = np.sqrt(1 - height**2)
    candidates = np.column_stack([flat * np.cos(turn), flat * np.sin(turn), height])
    safe = np.minimum(np.abs(candidates @ vectors.T), RIM).sum(axis=1)
    front = candidates[safe.argmax()]
    helper = np.eye(3)[np.abs(front).argmin()]
    up = helper - (helper @ front) * front
    up /= np.linalg.norm(up)
    return front, np.cross(up, front), up
