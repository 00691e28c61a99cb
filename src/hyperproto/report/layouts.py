"""Two ways of laying classes out in few dimensions, given the angles between them in many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["keep_angles", "keep_neighbours"]

Array = NDArray[np.float64]

PERPLEXITY = 8.0  # about how many neighbours count: the ones a reader would look for around a name
HALVINGS = 60  # of the interval that holds a class's width: to rounding
STEPS = 500
SPREAD = 2.0  # of the start: with all classes close together at first, the layout may untangle


def keep_angles(angles: Array, start: Array) -> Array:
    r"""Return points whose distances come near the angles: :math:`\min \sum_{ij} (|x_i - x_j| - \theta_{ij})^2`.

    Parameters
    ----------
    angles : array, shape (K, K)
        In radians.
    start : array, shape (K, dim)
        Where to begin.
    """

    def stress(flat: Array) -> tuple[float, Array]:
        x = flat.reshape(start.shape)
        apart = np.sqrt(_squares(x) + 1e-18)  # never zero: two classes on one spot are pushed apart by the jitter
        off = apart - angles
        np.fill_diagonal(off, 0)
        return float((off**2).sum()) / 2, _pull(2 * off / apart, x)

    return _minimise(stress, start)


def keep_neighbours(angles: Array, start: Array) -> Array:
    r"""Return points with the same neighbours, by t-SNE [1]_ on the angles.

    With :math:`P` the chance that one class picks another as its neighbour, alike for all classes in how many count,
    and :math:`Q \propto 1 / (1 + |x_i - x_j|^2)`, this is :math:`\min -\sum_{ij} P_{ij} \log Q_{ij}`.

    Parameters
    ----------
    angles, start
        As in :func:`keep_angles`.

    References
    ----------
    .. [1] van der Maaten, Hinton. "Visualizing Data using t-SNE." JMLR 2008.
    """
    count = len(angles)
    if count < 4:
        return keep_angles(angles, start)  # two or three classes fit as they are
    chances = _chances(angles**2, min(PERPLEXITY, (count - 1) / 2))

    def divergence(flat: Array) -> tuple[float, Array]:
        x = flat.reshape(start.shape)
        near = 1 / (1 + _squares(x))
        np.fill_diagonal(near, 0)
        total = near.sum()
        value = -(chances * np.log(np.maximum(near, 1e-300) / total)).sum()
        return float(value), _pull(4 * (chances - near / total) * near, x)

    return _minimise(divergence, SPREAD * start)


def _chances(squares: Array, perplexity: float) -> Array:
    """Return the symmetric neighbour chances whose rows have the entropy of ``perplexity`` equal neighbours."""
    count = len(squares)
    squares = np.where(np.eye(count, dtype=bool), np.inf, squares)
    squares = squares - squares.min(axis=1, keepdims=True)  # the nearest gets exp(0): no row is all zero
    low, high = np.full((count, 1), 1e-9), np.full((count, 1), 1e9)
    for _ in range(HALVINGS):
        sharpness = np.sqrt(low * high)
        rows = np.exp(-sharpness * squares)
        rows /= rows.sum(axis=1, keepdims=True)
        entropy = -(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1, keepdims=True)
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, sharpness, low), np.where(wide, high, sharpness)
    both: Array = (rows + rows.T) / (2 * count)
    return both


def _squares(x: Array) -> Array:
    """Return the squared distance of every two rows, from differences. Shape (K, K)."""
    square = np.zeros((len(x), len(x)))
    for column in x.T:
        square += (column[:, None] - column) ** 2
    return square


def _pull(weights: Array, x: Array) -> Array:
    """Return the gradient in which each pair is drawn together by its weight, flat."""
    force: Array = weights.sum(axis=1)[:, None] * x - weights @ x
    return force.ravel()


def _minimise(value_and_gradient: Any, start: Array) -> Array:
    from scipy.optimize import minimize

    jitter = 1e-3 * np.random.default_rng(0).normal(size=start.shape)  # classes on one spot have no way apart
    found = minimize(
        value_and_gradient, (start + jitter).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    points: Array = found.x.reshape(start.shape)
    points -= points.mean(axis=0)
    return points
