r"""A layout that means something, changed as little as keeps every pair apart.

.. math:: \min_p \; \frac1K \sum_i |p_i - q_i|^2 + \frac{\mu}{K} \sum_{i \ne j} \max(0,\, p_i \cdot p_j - c)^2

q is the prior laid out in D dimensions, c the largest cosine that is wished for. Ranking (Equation 6) keeps the order
of the cosines and gives up the axes along which the classes differ; this keeps the axes. A network whose features
vary along them reaches such points by a linear layer.
"""

import math

import numpy as np

from hyperproto._core.threads import one_thread
from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.lbfgs import minimise

__all__ = ["SHARE", "apart_points", "wished_cosine"]

SHARE = 0.7  # of the smallest angle that mathematics allows
FIRMNESS = (10.0, 100.0, 1000.0)  # μ, in turn: the last of them misses the wish by little


def wished_cosine(num_points: int, dim: int) -> float:
    """Return the largest cosine to wish for: at seven tenths of the smallest angle that mathematics allows.

    >>> [round(wished_cosine(100, dim), 2) for dim in (5, 10, 25)]
    [0.82, 0.62, 0.5]
    """
    return math.cos(SHARE * math.acos(separation_bound(num_points, dim)))


def apart_points(layout: Array, max_cosine: float, *, iterations: int = 200) -> Array:
    """Return the unit rows nearest to those of ``layout`` among which no cosine is much above ``max_cosine``.

    >>> near = np.array([[1.0, 0.0], [0.99, 0.141], [-1.0, 0.0]])
    >>> apart = apart_points(near, 0.5)
    >>> bool(apart[0] @ apart[1] < 0.51), bool(apart[2] @ near[2] > 0.999)
    (True, True)
    """
    x = layout.reshape(-1)
    with one_thread():
        for firmness in FIRMNESS:
            x = minimise(_Apart(layout, max_cosine, firmness), x, iterations=iterations, tolerance=1e-8)
    return unit_rows(x.reshape(layout.shape))


class _Apart:
    """The objective on rows of any length, with its gradient."""

    def __init__(self, layout: Array, max_cosine: float, firmness: float) -> None:
        self.layout, self.max_cosine, self.firmness = layout, max_cosine, firmness

    def __call__(self, x: Array) -> tuple[float, Array]:
        rows = x.reshape(self.layout.shape)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        points = rows / norms
        moved = points - self.layout
        excess = points @ points.T - self.max_cosine
        np.fill_diagonal(excess, 0.0)
        np.maximum(excess, 0.0, out=excess)
        value = (moved**2).sum() + self.firmness * (excess**2).sum()
        pull = 2 * moved + 4 * self.firmness * (excess @ points)
        pull -= np.einsum("ij,ij->i", pull, points)[:, None] * points
        return float(value / len(rows)), (pull / norms / len(rows)).reshape(-1)
