r"""Separation and order in one objective, by continuation.

.. math:: F_p = \frac1p \log \sum_{i \ne j} (1 - c_{ij})^{-p} + \lambda \, \mathcal{L}_{\text{PI}}

the smooth maximum of ``smooth_max.py`` plus λ times Equation 6. The exponent doubles from 1 to 32, each stage from
where the last ended, and stops there: a harder maximum presses all near classes against one wall, where their order
is lost, for little gain in the maximum cosine.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.threads import one_thread
from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.lbfgs import minimise
from hyperproto.codes.ranked.ranking import Ranking
from hyperproto.codes.smooth_max import SmoothMax
from hyperproto.codes.workers import ordered_map

__all__ = ["Joint", "auto_weight", "ranked_points"]

EXPONENTS = (1, 2, 4, 8, 16, 32)
SCALE, POWER = 0.95, 0.7  # of the rule for λ, fitted on CIFAR-100's classes at D = 3 ... 100
Progress = Callable[[int, int], None]
Objective = Callable[[Array], tuple[float, Array]]


def auto_weight(num_points: int, dim: int) -> float:
    r"""Return the weight λ of Equation 6 that "auto" stands for.

    .. math:: λ = 0.95 \Bigl( \frac{K}{\min(D, K - 1) - 2} \Bigr)^{0.7}

    In few dimensions separation is a matter of shape: every layout has near pairs, and order needs a large weight to
    count. From K - 1 dimensions on every layout is possible, and more dimensions change nothing.

    >>> [round(auto_weight(100, dim), 2) for dim in (3, 10, 100, 400)]
    [23.86, 5.57, 0.97, 0.97]
    """
    free = max(1, min(dim, num_points - 1) - 2)
    return float(SCALE * (num_points / free) ** POWER)


class Joint:
    """A separation term plus λ times Equation 6, on rows of any length, with its tangential gradient.

    Parameters
    ----------
    separation : callable
        Maps K rows laid out flat to a value and its gradient.
    ranking : Ranking
        Over the points ``members``, ids of shape (M,).
    weight : float
        λ.
    dim : int
        D.
    """

    def __init__(
        self, separation: Objective, ranking: Ranking, members: NDArray[np.intp], *, weight: float, dim: int
    ) -> None:
        """Put the two together."""
        self.separation, self.ranking, self.members = separation, ranking, members
        self.weight, self.dim = weight, dim

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and its gradient at ``x``, K rows laid out flat."""
        value, gradient = self.separation(x)
        rows = x.reshape(-1, self.dim)[self.members]
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        points = rows / norms
        loss, pull = self.ranking(points)
        pull -= np.einsum("ij,ij->i", pull, points)[:, None] * points
        pull *= self.weight / norms
        gradient.reshape(-1, self.dim)[self.members] += pull
        return value + self.weight * loss, gradient


def ranked_points(
    ranking: Ranking,
    members: NDArray[np.intp],
    *,
    weight: float,
    starts: list[Array],
    iterations: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Array, bool]:
    """Minimise F from several starts; return the best end and whether all was done, or an interrupt ended it.

    Parameters
    ----------
    ranking : Ranking
        Over the points ``members``, ids of shape (M,); the others are only kept apart.
    weight : float
        λ.
    starts : list of Array
        Layouts to start from, shape (K, D) each.
    iterations : int
        Steps at most for each exponent.
    workers : int
        Processes; the result is the same bit for bit.
    progress : callable, optional
        Called with (starts done, starts in all).

    Returns
    -------
    Array, shape (K, D), unit rows; and False where an interrupt came.
    """
    tasks = [(_descend, (ranking, members, weight, iterations, start)) for start in starts]
    best, lowest = starts[0], math.inf
    with ordered_map(min(workers, len(tasks))) as run:
        try:
            for done, (value, points, finished) in enumerate(run(tasks)):
                if value < lowest:
                    best, lowest = points, value
                if not finished:
                    return best, False
                if progress is not None:
                    progress(done + 1, len(tasks))
        except KeyboardInterrupt:
            if math.isinf(lowest):  # the workers have not ended one start
                raise
            return best, False
    return best, True


def _descend(
    ranking: Ranking, members: NDArray[np.intp], weight: float, iterations: int, start: Array
) -> tuple[float, Array, bool]:
    """Return the value, the points, and whether every exponent was gone through."""
    smooth = SmoothMax(*start.shape)
    joint = Joint(smooth, ranking, members, weight=weight, dim=start.shape[1])
    x = start.reshape(-1)
    finished = True
    with one_thread():
        try:
            for exponent in EXPONENTS:
                smooth.exponent = exponent
                x = minimise(joint, x, iterations=iterations, tolerance=1e-7)
        except KeyboardInterrupt:
            finished = False
        smooth.exponent = EXPONENTS[-1]
        value = joint(x)[0]
    return value, unit_rows(x.reshape(start.shape)), finished
