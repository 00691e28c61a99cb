r"""The ranking loss, Equation 6, over every triplet without ever listing one.

.. math:: \mathcal{L} = \frac{1}{|T|} \sum_{(i,j,k)} \log(1 + e^{d}) - t\,d, \qquad
          d = c_{ij} - c_{ik}, \quad t = [\![ s_{ij} \ge s_{ik} ]\!]

which is the cross-entropy of the paper written out. Over both orders of (j, k):

- log(1 + e^d) = log(2 cosh(d/2)) + d/2, and the d/2 cancel.
- Σ t d is linear in the cosines: Σ_j w_ij c_ij, where w_ij counts the k that are less similar to i than j is, minus
  those that are more. Ties count on both sides, and cancel. w depends on the prior alone: sort once.
- log(2 cosh(d/2)) is even and |d| <= 2, so a polynomial of degree 16 in d stands in for it to 1e-10, and
  Σ_jk (c_ij - c_ik)^m needs only the power sums of row i.

So a step takes O(K²) memory and O(K² m) time, m = 16. Per row the sum of log(2 cosh(d/2)) does not depend on which
class gets which point of a code: with the points fixed, Equation 6 is a quadratic assignment (``assignment.py``).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.code import Array

__all__ = ["DEGREE", "Ranking", "order_weights"]

DEGREE = 16  # even; 12 is right to 2e-8 in value, but 1e-6 in slope where points coincide and oppose
BLOCK_ENTRIES = 65_536  # cosines worked on at a time: a few such blocks fit the cache


class Ranking:
    """Equation 6 for given similarities, as a function of the points.

    Parameters
    ----------
    similarity : Array, shape (A, K)
        Rows of the prior: how similar each anchor is to each of the K classes. Larger is closer.
    anchors : Array of int, shape (A,), optional
        The classes those rows belong to, i in (i, j, k); all K classes unless given. The sum is then over the
        triplets of these anchors.
    """

    def __init__(self, similarity: Array, anchors: NDArray[np.intp] | None = None) -> None:
        """Sort each row of the prior, once."""
        count, self.num_points = similarity.shape
        self.anchors = np.arange(count) if anchors is None else np.asarray(anchors)
        self.weights = order_weights(similarity, self.anchors)
        self.triplets = count * (self.num_points - 1) * (self.num_points - 2)

    def __call__(self, points: Array) -> tuple[float, Array]:
        """Return the loss and its gradient in the points, unit rows of shape (K, D); not tangential."""
        gradient = np.zeros_like(points)
        total = 0.0
        size = max(32, BLOCK_ENTRIES // self.num_points)  # the sums over all points cost too much for a few rows
        for start in range(0, len(self.anchors), size):
            anchors = self.anchors[start : start + size]
            cosines = points[anchors] @ points.T
            value, pull = _rows(cosines, anchors, self.weights[start : start + size])
            total += value
            gradient[anchors] += pull @ points
            gradient += pull.T @ points[anchors]
        scale = 1 / max(self.triplets, 1)
        return float(total * scale), gradient * scale


def order_weights(similarity: Array, anchors: NDArray[np.intp]) -> Array:
    """Return w of shape (A, K): how many others are less similar to the anchor, minus how many are more.

    >>> order_weights(np.array([[1.0, 0.2, 0.7, 0.2]]), np.array([0]))
    array([[ 0., -1.,  2., -1.]])
    """
    weights = np.empty(similarity.shape)
    others = np.ones(similarity.shape[1], dtype=bool)
    for row, anchor in enumerate(anchors):
        others[anchor] = False
        values = similarity[row, others]
        ordered = np.sort(values)
        below = np.searchsorted(ordered, values, side="left")
        above = len(values) - np.searchsorted(ordered, values, side="right")
        weights[row, others] = below - above
        weights[row, anchor] = 0
        others[anchor] = True
    return weights


def _rows(cosines: Array, anchors: NDArray[np.intp], weights: Array) -> tuple[float, Array]:
    """Return the sum over the triplets of some anchors, and its derivative in their cosines, shape (a, K)."""
    count = cosines.shape[1] - 1
    itself = np.arange(len(anchors)), anchors
    cosines[itself] = 0
    cosines -= cosines.sum(axis=1, keepdims=True) / count  # d does not change, and the powers stay small
    cosines[itself] = 0  # adds nothing to any power sum
    sums = np.empty((DEGREE + 1, len(anchors)))
    sums[0] = count
    power = cosines.copy()
    for exponent in range(1, DEGREE + 1):
        np.sum(power, axis=1, out=sums[exponent])
        if exponent < DEGREE:
            power *= cosines
    coefficients = _expand(sums)
    value = float((coefficients * sums).sum()) - EVEN_PART[0] * count * len(anchors)  # without j = k
    value -= float(np.vdot(weights, cosines))
    slope = power
    slope[:] = 2 * DEGREE * coefficients[DEGREE][:, None]
    for exponent in range(DEGREE - 1, 0, -1):  # Horner, a polynomial for each row
        slope *= cosines
        slope += (2 * exponent) * coefficients[exponent][:, None]
    slope -= weights
    slope[itself] = 0
    return value, slope


def _expand(sums: Array) -> Array:
    """Return the coefficients in x of Σ_k h(x - c_k), one polynomial a row, from the power sums of the c_k."""
    coefficients: Array = BINOMIALS @ sums
    return coefficients


def _even_part() -> Array:
    """Return the coefficients of the polynomial that stands in for log(2 cosh(d/2)) on [-2, 2]."""
    fitted = np.polynomial.Chebyshev.interpolate(lambda d: np.log(2 * np.cosh(d / 2)), DEGREE, domain=[-2, 2])
    coefficients = fitted.convert(domain=[-1, 1], window=[-1, 1], kind=np.polynomial.Polynomial).coef.astype(float)
    coefficients[1::2] = 0
    return coefficients


def _binomials() -> Array:
    """Return B with B[r, s] = a_m (m choose r) (-1)^s for m = r + s <= DEGREE, where a_m is that of d^m."""
    table = np.zeros((DEGREE + 1, DEGREE + 1))
    for m in range(0, DEGREE + 1, 2):
        for r in range(m + 1):
            table[r, m - r] = EVEN_PART[m] * math.comb(m, r) * (-1) ** (m - r)
    return table


EVEN_PART = _even_part()
BINOMIALS = _binomials()
