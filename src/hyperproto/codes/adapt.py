"""Make a code of another size fit: pad or project, drop points, insert points into the deepest holes."""

import numpy as np

from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows

__all__ = ["adapt_code", "deepest_holes", "drop_points", "insert_points", "move_points"]

CANDIDATES = 400


def adapt_code(points: Array, num_points: int, dim: int, rng: np.random.Generator, *, noise: float) -> Array:
    """Return ``num_points`` points in ``dim`` dimensions, as near to the given code as may be.

    Fewer dimensions keep the principal axes, more are zero; points too many are dropped where it is most
    crowded, points missing are put into the deepest holes; then every coordinate is disturbed by ``noise``.
    """
    have = points.shape[1]
    if have < dim:
        points = np.pad(points, ((0, 0), (0, dim - have)))
    elif have > dim:
        points = unit_rows(points @ np.linalg.svd(points, full_matrices=False)[2][:dim].T)
    points = drop_points(points, max(0, len(points) - num_points), rng)
    points = insert_points(points, max(0, num_points - len(points)), rng)
    return unit_rows(points + noise * rng.standard_normal(points.shape))


def drop_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points without ``count`` of them, each time one of the three most crowded."""
    for _ in range(count):
        cosine = points @ points.T
        np.fill_diagonal(cosine, -1)
        crowd = ((1 - cosine.max()) / (1 - cosine).clip(1e-12)) ** 64
        worst = np.argsort(-crowd.sum(axis=1), kind="stable")[:3]
        points = np.delete(points, rng.choice(worst), axis=0)
    return points


def insert_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points and ``count`` more, each time in one of the three deepest holes found."""
    for _ in range(count):
        points = np.concatenate([points, deepest_holes(points, 3, rng)[[rng.integers(3)]]])
    return points


def move_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points with ``count`` of them, taken at random, put into the deepest holes."""
    kept = np.delete(points, rng.choice(len(points), count, replace=False), axis=0)
    return insert_points(kept, count, rng)


def deepest_holes(points: Array, count: int, rng: np.random.Generator, *, steps: int = 6) -> Array:
    """Return the ``count`` directions furthest from all points, of many random ones moved into their holes.

    Each step turns a direction away from a mean of the points near it. Shape (count, D).
    """
    holes = unit_rows(rng.standard_normal((CANDIDATES, points.shape[1])))
    for step in range(steps):
        cosine = holes @ points.T
        weight = np.exp(30 * (cosine - cosine.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        holes = unit_rows(holes - 0.3 / (step + 1) * (weight @ points))
    order = np.argsort((holes @ points.T).max(axis=1), kind="stable")
    return holes[order[:count]]
