"""A smooth stand-in for the maximum cosine, and the way down it."""

import math

import numpy as np

from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.lbfgs import minimise

__all__ = ["SmoothMax", "descend", "largest_cosine"]

CLOSEST = 1e-15  # of 1 - c: coinciding points are treated as this far apart


class SmoothMax:
    r"""The smooth maximum of all cosines, on rows of any length, with its tangential gradient.

    .. math:: f_p = \frac1p \log \sum_{i \ne j} (1 - c_{ij})^{-p}, \qquad
              \frac{\partial f_p}{\partial c_{ij}} = \frac{(1 - c_{ij})^{-p-1}}{\sum (1 - c)^{-p}}

    Every term is scaled by the smallest distance m = min(1 - c), so none exceeds 1 at any p. The exponent is
    a power of two: (m / (1 - c))^p by squaring costs a tenth of what ``exp`` and ``log`` do.

    Parameters
    ----------
    num_points, dim : int
        K and D. Two K x K arrays are kept and written over at every call.
    exponent : int
        p, a power of two. May be changed between calls.
    """

    def __init__(self, num_points: int, dim: int, *, exponent: int = 1) -> None:
        """Set K, D and p, and make the two arrays."""
        self.shape = (num_points, dim)
        self.exponent = exponent
        self._ratio = np.empty((num_points, num_points))
        self._weight = np.empty((num_points, num_points))

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return f_p and its gradient at ``x``, K rows laid out flat."""
        x = x.reshape(self.shape)
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
        points = x / norms
        ratio, weight = self._ratio, self._weight
        np.matmul(points, points.T, out=ratio)
        np.subtract(1.0, ratio, out=ratio)
        ratio.reshape(-1)[:: len(x) + 1] = np.inf
        closest = max(float(ratio.min()), CLOSEST)
        if closest == CLOSEST:
            np.maximum(ratio, CLOSEST, out=ratio)
        np.divide(closest, ratio, out=ratio)
        np.copyto(weight, ratio)
        for _ in range(self.exponent.bit_length() - 1):
            np.multiply(weight, weight, out=weight)
        total = float(weight.sum())
        weight *= ratio
        gradient = weight @ points
        gradient *= 2 / (total * closest)
        gradient -= np.einsum("ij,ij->i", gradient, points)[:, None] * points
        gradient /= norms
        return math.log(total) / self.exponent - math.log(closest), gradient.reshape(-1)


def descend(
    smooth: SmoothMax, points: Array, exponents: list[int], *, iterations: int, tolerance: float = 1e-4
) -> Array:
    """Minimise f_p for each exponent in turn, each from where the last ended. Returns unit rows.

    An exponent ends after so many iterations, or when the entries of the gradient have fallen to
    ``tolerance`` times 1/(K√D), which is what they are like at random points.
    """
    x = points.reshape(-1)
    tolerance /= len(points) * math.sqrt(points.shape[1])
    for exponent in exponents:
        smooth.exponent = exponent
        x = minimise(smooth, x, iterations=iterations, tolerance=tolerance, memory=_memory(points.size))
    return unit_rows(x.reshape(points.shape))


def largest_cosine(points: Array) -> float:
    """Return the largest cosine between two different points; holds K x K, unlike ``measure.max_cosine``."""
    cosine = points @ points.T
    cosine.reshape(-1)[:: len(points) + 1] = -np.inf
    return float(cosine.max())


def _memory(length: int) -> int:
    return 20 if length < 20_000 else 10  # beyond that the pairs no longer fit the cache
