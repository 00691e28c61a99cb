"""A smooth stand-in for the maximum cosine, the way down it, and the polish that makes contacts exact.

At an optimum the closest pairs all have the same cosine t. Smooth maxima only approach that; the polish solves the
equations c_ij = t as such, down to the last digits.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from hyperproto.codes.lbfgs import minimize
from hyperproto.codes.measure import Array, unit_rows

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]

CLOSEST = 1e-15  # of 1 - c: coinciding points are treated as at this distance
MAX_CONTACTS = 1000  # beyond this the solve costs more than it gives
WEIGHTS = (1e-2, 1e-4, 1e-6, 1e-8)
POLISHING = 12  # steps of Gauss-Newton for each set of contacts


class SmoothMax:
    r"""The smooth maximum of all cosines, on rows of any length, with its tangential gradient.

    .. math:: f_p = \frac1p \log \sum_{i \ne j} (1 - c_{ij})^{-p}, \qquad
              \frac{\partial f_p}{\partial c_{ij}} = \frac{(1 - c_{ij})^{-p-1}}{\sum (1 - c)^{-p}}

    Every term is scaled by the smallest distance m = min(1 - c), so none exceeds 1 at any p. The exponent is
    a power of two, which may be changed between calls: (m / (1 - c))^p by squaring costs a tenth of what ``exp`` and
    ``log`` do. Two K x K arrays are kept and written over at every call.
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
        _raise_to(weight, self.exponent)
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
    """Minimize f_p for each exponent in turn, each from where the last ended. Returns unit rows.

    An exponent ends after so many iterations, or when the entries of the gradient have fallen to
    ``tolerance`` times 1/(K√D), which is what they are like at random points.
    """
    x = points.reshape(-1)
    tolerance /= len(points) * math.sqrt(points.shape[1])
    memory = 20 if points.size < 20_000 else 10  # beyond that the pairs no longer fit the cache
    for exponent in exponents:
        smooth.exponent = exponent
        x = minimize(smooth, x, iterations=iterations, tolerance=tolerance, memory=memory)
    return unit_rows(x.reshape(points.shape))


def largest_cosine(points: Array) -> float:
    """Return the largest cosine between two different points; keeps K x K in memory, unlike ``max_cosine``."""
    cosine = points @ points.T
    cosine.reshape(-1)[:: len(points) + 1] = -np.inf
    return float(cosine.max())


class SmoothMaxWithFixedPoints:
    r"""The smooth maximum over all pairs with a new point, where others stay fixed, summed over B independent starts.

    .. math:: f_p = \frac1p \log \Bigl( 2 \sum_{i, k} (1 - x_i \cdot q_k)^{-p}
                                        + \sum_{i \ne j} (1 - x_i \cdot x_j)^{-p} \Bigr)

    with new points x and fixed points q; pairs of fixed points are left out, as nothing can be done about them. The
    starts do not know each other: the Hessian of the sum is block diagonal, so one descent takes all of them down in
    a few large products instead of many small ones. The exponent is that of :class:`SmoothMax`.
    """

    def __init__(self, fixed: Array, starts: int, count: int, *, exponent: int = 1) -> None:
        """Set the fixed points of shape (M, D), how many starts there are, new points in each, and p."""
        self.fixed = fixed
        self.shape = (starts, count, fixed.shape[1])
        self.exponent = exponent

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the sum of f_p over the starts and its tangential gradient, at rows of any length laid out flat."""
        x = x.reshape(self.shape)
        norms = np.sqrt(np.einsum("bid,bid->bi", x, x))[..., None]
        points = x / norms
        old, new = self._distances(points)
        closest = np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2))).clip(CLOSEST)[:, None, None]
        parts = [np.divide(closest, np.maximum(part, CLOSEST, out=part), out=part) for part in (old, new)]
        weights = [part.copy() for part in parts]
        for weight in weights:
            _raise_to(weight, self.exponent)
        total = 2 * weights[0].sum(axis=(1, 2)) + weights[1].sum(axis=(1, 2))
        for weight, ratio in zip(weights, parts, strict=True):
            weight *= ratio
        gradient = weights[0] @ self.fixed + weights[1] @ points
        gradient *= 2 / (total[:, None, None] * closest)
        gradient -= np.einsum("bid,bid->bi", gradient, points)[..., None] * points
        gradient /= norms
        value = np.log(total) / self.exponent - np.log(closest[:, 0, 0])
        return float(value.sum()), gradient.reshape(-1)

    def largest_cosines(self, points: Array) -> Array:
        """Return, for each start, the largest cosine of a pair with a new point. Shapes (B, count, D) -> (B,)."""
        old, new = self._distances(points)
        largest: Array = 1 - np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2)))
        return largest

    def _distances(self, points: Array) -> tuple[Array, Array]:
        """Return 1 - cosine to the fixed points, (B, count, M), and among the new ones, (B, count, count)."""
        starts, count, dim = points.shape
        old = np.subtract(1.0, points.reshape(-1, dim) @ self.fixed.T).reshape(starts, count, len(self.fixed))
        new = np.subtract(1.0, points @ points.transpose(0, 2, 1))
        new.reshape(starts, -1)[:, :: count + 1] = math.inf
        return old, new


def _raise_to(ratio: Array, exponent: int) -> None:
    """Raise to a power of two in place, by squaring: a tenth of what ``exp`` and ``log`` cost."""
    for _ in range(exponent.bit_length() - 1):
        np.multiply(ratio, ratio, out=ratio)


def polish(points: Array, *, exponent: float) -> Array:
    """Return the points with their contacts made exact, or the points themselves where that does not help.

    The points are unit rows at or near a minimum of the smooth maximum with that exponent. Pairs that carry at least
    a weight of 1e-2, 1e-4, 1e-6 and 1e-8 in it, relative to the closest pair, are tried as the set of contacts.
    """
    best, lowest = points, largest_cosine(points)
    tried = 0
    for weight in WEIGHTS:
        pairs = contacts(best, slack=-math.log(weight) / exponent)
        if len(pairs[0]) == tried or len(pairs[0]) > MAX_CONTACTS:
            continue
        tried = len(pairs[0])
        candidate, spread = best, math.inf
        for _ in range(POLISHING):
            candidate, before = _equalize(candidate, pairs)
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


def _equalize(points: Array, pairs: Pairs) -> tuple[Array, float]:
    """Take one step of Gauss-Newton of least norm, in the points and t, toward c_ij = t for every pair.

    The derivative of c_ij along a tangent vector at p_i is that of p_j - c_ij p_i, and that of -t is -1. The
    step is J^T λ with J J^T λ = -residual. Also returns how different the cosines were before the step.
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
