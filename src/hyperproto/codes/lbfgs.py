"""L-BFGS in its compact form: a step is two products with the stored pairs, not forty dot products.

Kept by hand: for the small problems here (K = 100, D = 10) the time goes into calls, not into arithmetic, and this
form takes a fourteenth of the time of ``scipy.optimize.minimize(method="L-BFGS-B")``.

References
----------
.. [1] Byrd, Nocedal, Schnabel. "Representations of quasi-Newton matrices [...]." 1994, Theorem 2.2.
"""

from collections.abc import Callable

import numpy as np

from hyperproto.codes.measure import Array

Objective = Callable[[Array], tuple[float, Array]]

REACH = 0.1  # length of the very first step, when nothing is known about the curvature


class Memory:
    r"""The last pairs s = Δx, y = Δg, and the inverse Hessian they imply.

    .. math:: H = γI + [S\; γY]
              \begin{pmatrix} R^{-T}(D + γY^TY)R^{-1} & -R^{-T} \\ -R^{-1} & 0 \end{pmatrix} [S\; γY]^T,
              \qquad R_{ij} = s_i \cdot y_j \; (i \le j)

    Slots are filled in turn. An empty slot is a zero row everywhere, and R is kept as its inverse: leaving
    out the oldest pair or adding a new one changes a single row and column of that, in any order of slots.
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
    objective: Objective,
    x: Array,
    *,
    iterations: int,
    tolerance: float = 1e-9,
    memory: int = 20,
) -> Array:
    """Return a point with a smaller objective, by L-BFGS with a backtracking line search from ``x``.

    The objective maps x to the value and its gradient, a new array each time. Stops after that many iterations, once
    the largest entry of the gradient is below ``tolerance``, or when steps no longer help. Keeps ``memory`` pairs.
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


def _backtrack(
    objective: Objective, x: Array, value: float, step: Array, slope: float
) -> tuple[Array, float, Array] | None:
    """Shorten the step until the objective falls by enough (Armijo); None where twelve times do not help."""
    size = 1.0
    for _ in range(12):
        new_x = x - size * step
        new_value, new_gradient = objective(new_x)
        if new_value <= value - 1e-4 * size * slope:
            return new_x, new_value, new_gradient
        # to the minimum of the parabola through both values and the slope
        size *= min(0.5, max(0.1, 0.5 * size * slope / (new_value - value + size * slope)))
    return None
