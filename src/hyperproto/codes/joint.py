r"""Separation and order together: both in one objective by continuation, or a layout of the prior
made separate.

.. math:: F_p = \frac1p \log \sum_{i \ne j} (1 - c_{ij})^{-p} + \lambda \, \mathcal{L}_{\text{PI}}

is the smooth maximum of ``smooth_max.py`` plus λ times Equation 6. The exponent doubles from 1 to
32, each stage from where the last ended, and stops there: a harder maximum presses all near classes
against one wall, where their order is lost, for little gain in the maximum cosine.

.. math:: \min_p \; \frac1K \sum_i |p_i - q_i|^2 + \frac{\mu}{K} \sum_{i \ne j} \max(0,\, p_i \cdot p_j - c)^2

changes q, the prior laid out in D dimensions, as little as keeps the cosines below c. Ranking keeps
the order of the cosines and gives up the axes along which the classes differ; this keeps the axes.
A network whose features vary along them reaches such points by a linear layer.
"""

import math
from contextlib import closing
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.processes import run_tasks
from hyperproto._core.progress import report_progress
from hyperproto.codes.certificate import separation_bound
from hyperproto.codes.measure import Array, random_points, row_lengths, tangential, unit_rows
from hyperproto.codes.ranking import Ranking
from hyperproto.codes.smooth_max import (
    Objective,
    Smooth,
    SmoothMax,
    SmoothMaxWithFixedPoints,
    minimize,
    minimize_points,
)

EXPONENTS = (1, 2, 4, 8, 16, 32)
SCALE, POWER = 0.95, 0.7  # of the rule for λ, fitted on CIFAR-100's classes at D = 3 ... 100
SHARE = 0.7  # of the smallest angle that mathematics allows
FIRMNESS = (10.0, 100.0, 1000.0)  # μ, in turn: the last of them misses the target by little
NEGATIVE = 1e-9  # of the largest eigenvalue: so far below 0 is rounding
NOISE = 1e-3  # separates classes that the prior cannot distinguish


def positive_part(similarity: Array) -> Array:
    """Return the nearest similarities that are products of vectors, for all classes; a sample of
    rows stays as it is.

    A layout keeps no axis along which similar classes would be distant. Cosines come back as they
    are.
    """
    if similarity.shape[0] != similarity.shape[1]:
        return similarity
    values, axes = np.linalg.eigh(_centered(similarity))
    if values[0] > -NEGATIVE * values[-1]:
        return similarity
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


def spectral_layout(
    similarity: Array, members: NDArray[np.intp], num_points: int, dim: int, *, seed: int
) -> Array:
    """Return the directions in which the centered prior varies most. Shape (num_points, dim).

    ``similarity`` of shape (A, M) has rows for some anchors, or all M classes; ``members`` are the
    classes its columns stand for. The others start at random.
    """
    _, sizes, directions = np.linalg.svd(_centered(similarity), full_matrices=False)
    rank = min(dim, len(sizes))
    layout = NOISE * random_points(len(members), dim, seed)
    layout[:, :rank] += directions[:rank].T * np.sqrt(sizes[:rank])
    points = random_points(num_points, dim, seed)
    points[members] = unit_rows(layout)
    return points


def _centered(similarity: Array) -> Array:
    rows, columns = similarity.mean(axis=1, keepdims=True), similarity.mean(axis=0)
    return similarity - columns - rows + similarity.mean()


def target_cosine(num_points: int, dim: int) -> float:
    """Return the largest cosine to aim for: at seven tenths of the smallest angle that mathematics
    allows.

    >>> [round(target_cosine(100, dim), 2) for dim in (5, 10, 25)]
    [0.82, 0.62, 0.5]
    """
    return math.cos(SHARE * math.acos(separation_bound(num_points, dim)))


def separate_points(layout: Array, max_cosine: float, *, iterations: int = 200) -> Array:
    """Return the unit rows nearest to those of ``layout`` among which no cosine is much above
    ``max_cosine``.

    >>> near = np.array([[1.0, 0.0], [0.99, 0.141], [-1.0, 0.0]])
    >>> separated = separate_points(near, 0.5)
    >>> bool(separated[0] @ separated[1] < 0.51), bool(separated[2] @ near[2] > 0.999)
    (True, True)
    """
    stages = (
        partial(_near_layout, layout=layout, max_cosine=max_cosine, firmness=firmness)
        for firmness in FIRMNESS
    )
    return minimize_points(stages, layout, iterations=iterations, tolerance=1e-8)


def _near_layout(
    x: Array, layout: Array, max_cosine: float, firmness: float
) -> tuple[float, Array]:
    """Return the second objective above on rows of any length, and its gradient."""
    rows = x.reshape(layout.shape)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    points = rows / norms
    moved = points - layout
    excess = points @ points.T - max_cosine
    np.fill_diagonal(excess, 0.0)
    np.maximum(excess, 0.0, out=excess)
    value = (moved**2).sum() + firmness * (excess**2).sum()
    pull = 2 * moved + 4 * firmness * (excess @ points)
    pull = tangential(pull, points, norms) / len(rows)
    return float(value / len(rows)), pull.reshape(-1)


def auto_weight(num_points: int, dim: int) -> float:
    r"""Return the weight λ of Equation 6 that "auto" stands for.

    .. math:: λ = 0.95 \Bigl( \frac{K}{\min(D, K - 1) - 2} \Bigr)^{0.7}

    In few dimensions separation is a matter of shape: every layout has near pairs, and order needs
    a large weight to count. From K - 1 dimensions on every layout is possible, and more dimensions
    change nothing.

    >>> [round(auto_weight(100, dim), 2) for dim in (3, 10, 100, 400)]
    [23.86, 5.57, 0.97, 0.97]
    """
    free = max(1, min(dim, num_points - 1) - 2)
    return float(SCALE * (num_points / free) ** POWER)


class Joint:
    """A separation term plus λ, the weight, times Equation 6 over the points ``members``.

    As a function of rows of any length laid out flat, with its tangential gradient. Points that
    stay, ``fixed``, come before those that move; members count both.
    """

    def __init__(
        self,
        separation: Objective,
        ranking: Ranking,
        members: NDArray[np.intp],
        *,
        weight: float,
        dim: int,
        fixed: Array | None = None,
    ) -> None:
        self.separation, self.ranking = separation, ranking
        self.members, self.weight = members, weight
        self.fixed: Array = np.empty((0, dim)) if fixed is None else fixed

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and its gradient at ``x``, K rows laid out flat."""
        value, gradient = self.separation(x)
        rows = np.concatenate([self.fixed, x.reshape(-1, self.fixed.shape[1])])[self.members]
        norms = row_lengths(rows)
        moving = self.members >= len(self.fixed)
        points = np.where(moving[:, None], rows / norms, rows)
        loss, pull = self.ranking(points)
        pull -= np.einsum("ij,ij->i", pull, points)[:, None] * points
        pull *= self.weight / norms
        gradient.reshape(-1, rows.shape[1])[self.members[moving] - len(self.fixed)] += pull[moving]
        return value + self.weight * loss, gradient


def ranked_points(
    ranking: Ranking,
    members: NDArray[np.intp],
    *,
    weight: float,
    starts: list[Array],
    iterations: int,
    fixed: Array | None = None,
    workers: int = 1,
) -> Array:
    """Minimize F from several layouts of shape (K, D), with so many steps at most for each
    exponent.

    The ranking is over the points ``members``, counting those that stay, ``fixed``, first; the
    others are only separated. Returns the best end, unit rows.
    """
    tasks = [(_descend, (ranking, members, weight, iterations, start, fixed)) for start in starts]
    best, lowest = starts[0], math.inf
    with closing(run_tasks(tasks, min(workers, len(tasks)))) as results:
        for done, (value, points) in enumerate(results, start=1):
            if value < lowest:
                best, lowest = points, value
            report_progress(done, len(tasks))
    return best


def _descend(
    ranking: Ranking,
    members: NDArray[np.intp],
    weight: float,
    iterations: int,
    start: Array,
    fixed: Array | None,
) -> tuple[float, Array]:
    """Return the value and the points after every exponent."""
    smooth: Smooth = SmoothMax(*start.shape)
    if fixed is not None:
        smooth = SmoothMaxWithFixedPoints(fixed, 1, len(start))
    joint = Joint(smooth, ranking, members, weight=weight, dim=start.shape[1], fixed=fixed)
    x = start.reshape(-1)
    for _ in smooth.stages(EXPONENTS):
        x = minimize(joint, x, iterations=iterations, tolerance=1e-7)
    return joint(x)[0], unit_rows(x.reshape(start.shape))
