"""A smooth stand-in for the maximum cosine, L-BFGS to go down it, and the polish that makes
contacts exact.

At an optimum the closest pairs all have the same cosine t. Smooth maxima only approach that; the
polish solves the equations c_ij = t as such, down to the last digits.

L-BFGS is kept by hand, in its compact form [1]_: a step is two products with the stored pairs, not
forty dot products. For the small problems here (K = 100, D = 10) the time goes into calls, not into
arithmetic, and this form takes a fourteenth of the time of
``scipy.optimize.minimize(method="L-BFGS-B")``.

References
----------
.. [1] Byrd, Nocedal, Schnabel. "Representations of quasi-Newton matrices [...]." 1994, Theorem 2.2.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from hyperproto.codes.measure import Array, row_lengths, tangential, unit_rows

Objective = Callable[[Array], tuple[float, Array]]
Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]

REACH = 0.1  # length of the very first step, when nothing is known about the curvature
CLOSEST = 1e-15  # of 1 - c: coinciding points are treated as at this distance
MAX_CONTACTS = 1000  # beyond this the solve costs more than it gives
WEIGHTS = (1e-2, 1e-4, 1e-6, 1e-8)
POLISHING = 12  # steps of Gauss-Newton for each set of contacts


class Memory:
    r"""The last pairs s = Δx, y = Δg, and the inverse Hessian they imply.

    .. math:: H = γI + [S\; γY]
              \begin{pmatrix} R^{-T}(D + γY^TY)R^{-1} & -R^{-T} \\ -R^{-1} & 0 \end{pmatrix} [S\;
              γY]^T, \qquad R_{ij} = s_i \cdot y_j \; (i \le j)

    Slots are filled in turn. An empty slot is a zero row everywhere, and R is kept as its inverse:
    leaving out the oldest pair or adding a new one changes a single row and column of that, in any
    order of slots.
    """

    def __init__(self, size: int, length: int) -> None:
        """Make room for ``size`` pairs of vectors of the given length."""
        self.pairs = np.zeros((2 * size, length))  # rows of S, then rows of Y
        self.inverse_r = np.zeros((size, size))
        self.gram = np.zeros((size, size))  # Y Y^T
        self.curvature = np.zeros(size)  # D, s_i . y_i
        self.scale = 1.0  # γ
        self.slot = 0

    def add(self, s: Array, y: Array) -> None:
        """Store one pair in place of the oldest; ignore it where the curvature is not positive."""
        size = len(self.curvature)
        curvature, length = float(s @ y), float(y @ y)
        if not curvature > 1e-12 * length * self.scale:
            return
        k = self.slot
        self.pairs[k], self.pairs[size + k] = s, y
        products = self.pairs @ y
        self.inverse_r[k] = 0
        self.inverse_r[:, k] = 0
        self.inverse_r[:, k] = self.inverse_r @ products[:size] / -curvature
        self.inverse_r[k, k] = 1 / curvature
        self.gram[k] = self.gram[:, k] = products[size:]
        self.curvature[k] = curvature
        self.scale = curvature / length
        self.slot = (k + 1) % size

    def apply(self, g: Array) -> Array:
        """Return H g."""
        size = len(self.curvature)
        products = self.pairs @ g
        u = self.inverse_r @ products[:size]
        v = (self.curvature * u + self.scale * (self.gram @ u - products[size:])) @ self.inverse_r
        step: Array = self.scale * g
        step += np.concatenate([v, -self.scale * u]) @ self.pairs
        return step


def minimize(
    objective: Objective, x: Array, *, iterations: int, tolerance: float = 1e-9, memory: int = 20
) -> Array:
    """Return a point with a smaller objective, by L-BFGS with a backtracking line search from
    ``x``.

    The objective maps x to the value and its gradient, a new array each time. Stops after that many
    iterations, once the largest entry of the gradient is below ``tolerance``, or when steps no
    longer help. Keeps ``memory`` pairs.
    """
    pairs = Memory(min(memory, iterations), len(x))
    value, gradient = objective(x)
    step = gradient * (REACH / max(float(np.sqrt(gradient @ gradient)), 1e-300))
    idle = 0
    for _ in range(iterations):
        slope = float(step @ gradient)
        if slope <= 0 or np.abs(gradient).max() < tolerance:
            break
        accepted = _backtrack(objective, x, value, step, slope)
        if accepted is None:
            break
        new_x, new_value, new_gradient = accepted
        pairs.add(new_x - x, new_gradient - gradient)
        idle = idle + 1 if value - new_value < 1e-13 * max(1.0, abs(value)) else 0
        x, value, gradient = new_x, new_value, new_gradient
        if idle == 3:
            break
        step = pairs.apply(gradient)
    return x


def minimize_points(
    objectives: Iterable[Objective],
    points: Array,
    *,
    iterations: int,
    tolerance: float = 1e-9,
    memory: int = 20,
) -> Array:
    """Minimize several objectives of rows in turn, each by :func:`minimize` from where the last
    ended. Returns unit rows, shape (..., D) as ``points``.
    """
    x = points.reshape(-1)
    for objective in objectives:
        x = minimize(objective, x, iterations=iterations, tolerance=tolerance, memory=memory)
    return unit_rows(x.reshape(points.shape))


def _backtrack(
    objective: Objective, x: Array, value: float, step: Array, slope: float
) -> tuple[Array, float, Array] | None:
    """Shorten the step until the objective falls by enough (Armijo); None where twelve times do not
    help.
    """
    size = 1.0
    for _ in range(12):
        new_x = x - size * step
        new_value, new_gradient = objective(new_x)
        if new_value <= value - 1e-4 * size * slope:
            return new_x, new_value, new_gradient
        # to the minimum of the parabola through both values and the slope
        size *= min(0.5, max(0.1, 0.5 * size * slope / (new_value - value + size * slope)))
    return None


class Smooth(ABC):
    """A smooth maximum, with an exponent that may be changed between calls."""

    exponent: int

    @abstractmethod
    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and its gradient at ``x``, rows of any length laid out flat."""

    def stages(self, exponents: Iterable[int]) -> Iterator["Smooth"]:
        """Yield itself with each exponent in turn."""
        for self.exponent in exponents:
            yield self


class SmoothMax(Smooth):
    r"""The smooth maximum of all cosines, on rows of any length, with its tangential gradient.

    .. math:: f_p = \frac1p \log \sum_{i \ne j} (1 - c_{ij})^{-p}, \qquad
              \frac{\partial f_p}{\partial c_{ij}} = \frac{(1 - c_{ij})^{-p-1}}{\sum (1 - c)^{-p}}

    Every term is scaled by the smallest distance m = min(1 - c), so none exceeds 1 at any p. The
    exponent is a power of two, which may be changed between calls: (m / (1 - c))^p by squaring
    costs a tenth of what ``exp`` and ``log`` do. Two K x K arrays are kept and written over at
    every call.
    """

    def __init__(self, num_points: int, dim: int, *, exponent: int = 1) -> None:
        self.shape = (num_points, dim)
        self.exponent = exponent
        self._ratio = np.empty((num_points, num_points))
        self._weight = np.empty((num_points, num_points))

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return f_p and its gradient at ``x``, K rows laid out flat."""
        x = x.reshape(self.shape)
        norms = row_lengths(x)
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
        value = math.log(total) / self.exponent - math.log(closest)
        return value, tangential(gradient, points, norms).reshape(-1)


def descend(
    smooth: SmoothMax,
    points: Array,
    exponents: list[int],
    *,
    iterations: int,
    tolerance: float = 1e-4,
) -> Array:
    """Minimize f_p for each exponent in turn, each from where the last ended. Returns unit rows.

    An exponent ends after so many iterations, or when the entries of the gradient have fallen to
    ``tolerance`` times 1/(K√D), which is what they are like at random points.
    """
    tolerance /= len(points) * math.sqrt(points.shape[1])
    memory = 20 if points.size < 20_000 else 10  # beyond that the pairs no longer fit the cache
    stages = smooth.stages(exponents)
    return minimize_points(
        stages, points, iterations=iterations, tolerance=tolerance, memory=memory
    )


def largest_cosine(points: Array) -> float:
    """Return the largest cosine between two different points; keeps K x K in memory, unlike
    ``max_cosine``.
    """
    cosine = points @ points.T
    cosine.reshape(-1)[:: len(points) + 1] = -np.inf
    return float(cosine.max())


class SmoothMaxWithFixedPoints(Smooth):
    r"""The smooth maximum over all pairs with a new point, where others stay fixed, summed over B
    independent starts.

    .. math:: f_p = \frac1p \log \Bigl( 2 \sum_{i, k} (1 - x_i \cdot q_k)^{-p}
                                        + \sum_{i \ne j} (1 - x_i \cdot x_j)^{-p} \Bigr)

    with new points x and fixed points q; pairs of fixed points are left out, as nothing can be done
    about them. The starts do not know each other: the Hessian of the sum is block diagonal, so one
    descent takes all of them down in a few large products instead of many small ones. The exponent
    is that of :class:`SmoothMax`.
    """

    def __init__(self, fixed: Array, starts: int, count: int, *, exponent: int = 1) -> None:
        """Set the fixed points of shape (M, D), how many starts there are, new points in each, and
        p.
        """
        self.fixed = fixed
        self.shape = (starts, count, fixed.shape[1])
        self.exponent = exponent

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the sum of f_p over the starts and its tangential gradient, at rows of any length
        laid out flat.
        """
        x = x.reshape(self.shape)
        norms = row_lengths(x)
        points = x / norms
        old, new = self._distances(points)
        closest = np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2))).clip(CLOSEST)[
            :, None, None
        ]
        parts = [
            np.divide(closest, np.maximum(part, CLOSEST, out=part), out=part) for part in (old, new)
        ]
        weights = [part.copy() for part in parts]
        for weight in weights:
            _raise_to(weight, self.exponent)
        total = 2 * weights[0].sum(axis=(1, 2)) + weights[1].sum(axis=(1, 2))
        for weight, ratio in zip(weights, parts, strict=True):
            weight *= ratio
        gradient = weights[0] @ self.fixed + weights[1] @ points
        gradient *= 2 / (total[:, None, None] * closest)
        value = np.log(total) / self.exponent - np.log(closest[:, 0, 0])
        return float(value.sum()), tangential(gradient, points, norms).reshape(-1)

    def largest_cosines(self, points: Array) -> Array:
        """Return, for each start, the largest cosine of a pair with a new point. Shapes (B, count,
        D) -> (B,).
        """
        old, new = self._distances(points)
        return 1 - np.minimum(old.min(axis=(1, 2)), new.min(axis=(1, 2)))

    def _distances(self, points: Array) -> tuple[Array, Array]:
        """Return 1 - cosine to the fixed points, (B, count, M), and among the new ones, (B, count,
        count).
        """
        starts, count, dim = points.shape
        old = np.subtract(1.0, points.reshape(-1, dim) @ self.fixed.T).reshape(
            starts, count, len(self.fixed)
        )
        new = np.subtract(1.0, points @ points.transpose(0, 2, 1))
        new.reshape(starts, -1)[:, :: count + 1] = math.inf
        return old, new


def _raise_to(ratio: Array, exponent: int) -> None:
    """Raise to a power of two in place, by squaring: a tenth of what ``exp`` and ``log`` cost."""
    for _ in range(exponent.bit_length() - 1):
        np.multiply(ratio, ratio, out=ratio)


def polish(points: Array, *, exponent: float) -> Array:
    """Return the points with their contacts made exact, or the points themselves where that does
    not help.

    The points are unit rows at or near a minimum of the smooth maximum with that exponent. Pairs
    that carry at least a weight of 1e-2, 1e-4, 1e-6 and 1e-8 in it, relative to the closest pair,
    are tried as the set of contacts.
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
    """Take one step of Gauss-Newton of least norm, in the points and t, toward c_ij = t for every
    pair.

    The derivative of c_ij along a tangent vector at p_i is that of p_j - c_ij p_i, and that of -t
    is -1. The step is J^T λ with J J^T λ = -residual. Also returns how different the cosines were
    before the step.
    """
    i, j = pairs
    count, dim = points.shape
    cosine = np.einsum("ed,ed->e", points[i], points[j])
    toward_j = points[j] - cosine[:, None] * points[i]
    toward_i = points[i] - cosine[:, None] * points[j]
    values = np.concatenate([toward_j, toward_i], axis=1).ravel()
    axes = np.arange(dim)
    columns = np.concatenate([i[:, None] * dim + axes, j[:, None] * dim + axes], axis=1).ravel()
    starts = np.arange(len(i) + 1) * (2 * dim)
    jacobian = csr_array((values, columns, starts), shape=(len(i), count * dim))
    normal = (jacobian @ jacobian.T).toarray() + 1.0  # the 1 is t's share
    normal.flat[:: len(i) + 1] += 1e-13  # contacts may depend on each other
    multipliers = cho_solve(
        cho_factor(normal, overwrite_a=True, check_finite=False), cosine.max() - cosine
    )
    moved = unit_rows(points + (jacobian.T @ multipliers).reshape(count, dim))
    return moved, float(np.ptp(cosine))
