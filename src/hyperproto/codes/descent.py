"""The paper's own placement, Equation 5: push every point away from its nearest neighbour."""

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.threads import one_thread
from hyperproto.codes.code import Array

__all__ = ["nearest_neighbours", "random_points", "separation_descent", "separation_gradient", "unit_rows"]

TILE_ENTRIES = 2048 * 2048  # 32 MB of cosines at a time


def unit_rows(vectors: Array) -> Array:
    """Return ``vectors`` of shape (K, D) scaled to unit rows."""
    unit: Array = vectors / np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return unit


def random_points(num_points: int, dim: int, seed: int) -> Array:
    """Return points drawn uniformly from the sphere S^(dim-1). Shape (num_points, dim)."""
    return unit_rows(np.random.default_rng(seed).standard_normal((num_points, dim)))


def nearest_neighbours(points: Array) -> tuple[NDArray[np.intp], Array]:
    """Return, for each point, the index of its nearest other point and the cosine to it. Both shape (K,).

    Rows are taken in blocks, so K x K is not held for large K.
    """
    count = len(points)
    index, cosine = np.empty(count, dtype=np.intp), np.empty(count)
    block = max(1, TILE_ENTRIES // count)
    tile = np.empty((min(block, count), count))
    for start in range(0, count, block):
        rows = points[start : start + block]
        here = tile[: len(rows)]
        np.matmul(rows, points.T, out=here)
        here.reshape(-1)[start :: count + 1] = -np.inf  # a point is not its own neighbour
        nearest = here.argmax(axis=1)
        index[start : start + block] = nearest
        cosine[start : start + block] = here[np.arange(len(rows)), nearest]
    return index, cosine


def separation_gradient(points: Array) -> tuple[float, Array]:
    r"""Return Equation 5 and its gradient with respect to the points, both for unit rows.

    .. math:: \mathcal{L}(P) = \frac1K \sum_i \max_{j \ne i} p_i \cdot p_j

    Row i of the gradient is the neighbour of i, plus every point whose neighbour is i, over K.
    """
    nearest, cosine = nearest_neighbours(points)
    order = nearest.argsort(kind="stable")  # gathers the points that share a neighbour; np.add.at is slower
    shared = nearest[order]
    first = np.concatenate(([0], (shared[1:] != shared[:-1]).nonzero()[0] + 1))
    gradient = points[nearest]
    gradient[shared[first]] += np.add.reduceat(points[order], first, axis=0)
    gradient /= len(points)
    return float(cosine.mean()), gradient


def separation_descent(
    num_points: int, dim: int, *, seed: int, steps: int = 10_000, lr: float = 0.1, momentum: float = 0.0
) -> Array:
    """Place points as the paper does: projected gradient descent on Equation 5 from a random start.

    Parameters
    ----------
    num_points, dim : int
        K and D.
    seed : int
        Seed of the random start.
    steps, lr : int, float
        The values of the authors' script.
    momentum : float, default 0
        The authors ask for 0.9 but build a new optimiser at every step, so that it never acts. Keeping it
        helps for K >= 200 and diverges for small K.

    Returns
    -------
    Array, shape (num_points, dim), unit rows.
    """
    points = random_points(num_points, dim, seed)
    velocity = np.zeros_like(points)
    with one_thread():
        for _ in range(steps):
            velocity *= momentum
            velocity += separation_gradient(points)[1]
            points = unit_rows(points - lr * velocity)
    return points
