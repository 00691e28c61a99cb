"""The smooth maximum of ``smooth_max.py`` where some points stay where they are, for many starts at once."""

import math

import numpy as np

from hyperproto.codes.code import Array
from hyperproto.codes.smooth_max import CLOSEST

__all__ = ["SmoothMaxBeside", "largest_cosine_beside"]


class SmoothMaxBeside:
    r"""The smooth maximum over all pairs that hold a new point, summed over B independent starts.

    .. math:: f_p = \frac1p \log \Bigl( 2 \sum_{i, k} (1 - x_i \cdot q_k)^{-p}
                                        + \sum_{i \ne j} (1 - x_i \cdot x_j)^{-p} \Bigr)

    with new points x and old points q, which never move; pairs of old points are left out, as nothing can be done
    about them. The starts do not know each other: the Hessian of the sum is block diagonal, so one descent takes all
    of them down in a few large products instead of many small ones.

    Parameters
    ----------
    fixed : Array, shape (M, D)
        The old points, unit rows.
    starts, count : int
        B, and how many new points each start has.
    exponent : int
        p, a power of two. May be changed between calls.
    """

    def __init__(self, fixed: Array, starts: int, count: int, *, exponent: int = 1) -> None:
        """Set the old points, the sizes and p."""
        self.fixed = fixed
        self.shape = (starts, count, fixed.shape[1])
        self.exponent = exponent

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the sum of f_p over the starts and its tangential gradient, at rows of any length laid out flat."""
        x = x.reshape(self.shape)
        norms = np.sqrt(np.einsum("bid,bid->bi", x, x))[..., None]
        points = x / norms
        old, new = _distances(self.fixed, points)
        closest = np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2))).clip(CLOSEST)[:, None, None]
        parts = [np.divide(closest, np.maximum(part, CLOSEST, out=part), out=part) for part in (old, new)]
        weights = [self._power(part) for part in parts]
        total = 2 * weights[0].sum(axis=(1, 2)) + weights[1].sum(axis=(1, 2))
        for weight, ratio in zip(weights, parts, strict=True):
            weight *= ratio
        gradient = weights[0] @ self.fixed + weights[1] @ points
        gradient *= 2 / (total[:, None, None] * closest)
        gradient -= np.einsum("bid,bid->bi", gradient, points)[..., None] * points
        gradient /= norms
        value = np.log(total) / self.exponent - np.log(closest[:, 0, 0])
        return float(value.sum()), gradient.reshape(-1)

    def _power(self, ratio: Array) -> Array:
        """Return ratio^p, by squaring."""
        weight = ratio.copy()
        for _ in range(self.exponent.bit_length() - 1):
            np.multiply(weight, weight, out=weight)
        return weight


def largest_cosine_beside(fixed: Array, points: Array) -> Array:
    """Return, for each start, the largest cosine of a pair that holds a new point. Shapes (B, count, D) -> (B,)."""
    old, new = _distances(fixed, points)
    largest: Array = 1 - np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2)))
    return largest


def _distances(fixed: Array, points: Array) -> tuple[Array, Array]:
    """Return 1 - cosine to the old points, (B, count, M), and among the new ones, (B, count, count)."""
    starts, count, dim = points.shape
    old = np.subtract(1.0, points.reshape(-1, dim) @ fixed.T).reshape(starts, count, len(fixed))
    new = np.subtract(1.0, points @ points.transpose(0, 2, 1))
    new.reshape(starts, -1)[:, :: count + 1] = math.inf
    return old, new
