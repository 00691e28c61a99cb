"""Contact polish: make the pairs that touch touch exactly, down to the last digits.

At an optimum the closest pairs all have the same cosine t. Smooth maxima only approach that; here the
equations c_ij = t are solved as such.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.smooth_max import largest_cosine

__all__ = ["contacts", "polish"]

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]

MAX_CONTACTS = 1000  # beyond this the solve costs more than it gives
WEIGHTS = (1e-2, 1e-4, 1e-6, 1e-8)


def polish(points: Array, *, exponent: float, iterations: int = 12) -> Array:
    """Return the points with their contacts made exact, or the points themselves where that does not help.

    Parameters
    ----------
    points : Array, shape (K, D)
        Unit rows, at or near a minimum of the smooth maximum.
    exponent : float
        The exponent of that minimum: pairs that carry at least a weight of 1e-2, 1e-4, 1e-6 and 1e-8 in it,
        relative to the closest pair, are tried as the set of contacts.
    iterations : int
        Steps of Gauss-Newton for each set.
    """
    best, lowest = points, largest_cosine(points)
    tried = 0
    for weight in WEIGHTS:
        pairs = contacts(best, slack=-math.log(weight) / exponent)
        if len(pairs[0]) == tried or len(pairs[0]) > MAX_CONTACTS:
            continue
        tried = len(pairs[0])
        candidate, spread = best, math.inf
        for _ in range(iterations):
            candidate, before = _equalise(candidate, pairs)
            if before > 0.5 * spread:
                break  # Newton converges faster than that, or not at all
            spread = before
            if (cosine := largest_cosine(candidate)) < lowest:
                best, lowest = candidate, cosine
    return best


def contacts(points: Array, *, slack: float) -> Pairs:
    """Return the pairs i < j whose distance 1 - c is within a factor 1 + slack of the smallest."""
    distance = 1 - points @ points.T
    distance[np.tril_indices(len(points))] = np.inf
    i, j = np.nonzero(distance <= distance.min() * (1 + slack))
    return i, j


def _equalise(points: Array, pairs: Pairs) -> tuple[Array, float]:
    """Take one step of Gauss-Newton of least norm, in the points and t, towards c_ij = t for every pair.

    The derivative of c_ij along a tangent vector at p_i is that of p_j - c_ij p_i, and that of -t is -1. The
    step is J^T λ with J J^T λ = -residual. Also returns how far apart the cosines were before the step.
    """
    i, j = pairs
    count, dim = points.shape
    cosine = np.einsum("ed,ed->e", points[i], points[j])
    towards_j = points[j] - cosine[:, None] * points[i]
    towards_i = points[i] - cosine[:, None] * points[j]
    values = np.concatenate([towards_j, towards_i], axis=1).ravel()
    axes = np.arange(dim)
    columns = np.concatenate([i[:, None] * dim + axes, j[:, None] * dim + axes], axis=1).ravel()
    starts = np.arange(len(i) + 1) * (2 * dim)
    jacobian = csr_array((values, columns, starts), shape=(len(i), count * dim))
    normal = (jacobian @ jacobian.T).toarray() + 1.0  # the 1 is t's share
    normal.flat[:: len(i) + 1] += 1e-13  # contacts may depend on each other
    multipliers = cho_solve(cho_factor(normal, overwrite_a=True, check_finite=False), cosine.max() - cosine)
    moved = unit_rows(points + (jacobian.T @ multipliers).reshape(count, dim))
    return moved, float(np.ptp(cosine))
