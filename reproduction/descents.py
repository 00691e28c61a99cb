r"""How two later papers place their prototypes, by the descents of their code.

==========  ===========================================================================================
gaussian    :math:`\log` of the mean over pairs of :math:`e^{-2 |p_i - p_j|^2}`, descended at rate 0.1 in
            1,000 steps: DL2PA [1]_, after the uniformity of Wang and Isola.
equiangular :math:`\sum_{i \ne j} \max(0, |p_i \cdot p_j| - \alpha)`, descended at rate 0.001 until no
            cosine, of either sign, is larger than :math:`\alpha`: Equiangular Basis Vectors [2]_. They
            choose :math:`\alpha` by hand; here it is the least of 0.002, 0.02, 0.04, ... that their
            descent reaches in 10,000 steps.
==========  ===========================================================================================

.. [1] ``Prototype_Estimation.py`` of github.com/msed-Ebrahimi/DL2PA_CVPR24.
.. [2] Shen, Sun, Wei. "Equiangular Basis Vectors." CVPR 2023. ``Generate_EBV.py`` of
   github.com/aassxun/Equiangular-Basis-Vectors.
"""

import math
from itertools import count

import numpy as np

from hyperproto.codes.measure import Array, random_points, unit_rows

GAUSSIAN_RATE, GAUSSIAN_STEPS = 0.1, 1_000
EQUIANGULAR_RATE, EQUIANGULAR_STEPS = 0.001, 10_000
SLACK = 1e-4  # how much larger than α a cosine may be


def gaussian_descent(num_points: int, dim: int, seed: int) -> Array:
    """Place points by the pairs' Gaussian potential. Shape (num_points, dim), unit rows."""
    rows = random_points(num_points, dim, seed)
    for _ in range(GAUSSIAN_STEPS):
        points = unit_rows(rows)
        potential = np.exp(4 * (points @ points.T - 1))  # |p - q|² = 2 - 2 cos
        np.fill_diagonal(potential, 0)
        pull = 8 * (potential @ points) / potential.sum()
        along = (pull * points).sum(axis=1, keepdims=True)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows - GAUSSIAN_RATE * (pull - along * points) / lengths
    return unit_rows(rows)


def equiangular_descent(num_points: int, dim: int, seed: int) -> Array:
    """Place points whose cosines are small, of either sign. Shape (num_points, dim), unit rows."""
    lowest = math.sqrt(max(0, num_points - dim) / (dim * max(1, num_points - 1)))  # Welch's bound
    for step in count():
        bound = max(0.002, 0.02 * step)
        if bound >= lowest and (found := _within(num_points, dim, bound, seed)) is not None:
            return found
    raise AssertionError


def _within(num_points: int, dim: int, bound: float, seed: int) -> Array | None:
    """Return points whose cosines are at most the bound; None where the descent finds none."""
    points = random_points(num_points, dim, seed)
    own = np.eye(num_points)
    for _ in range(EQUIANGULAR_STEPS):
        cosines = points @ points.T - own
        if np.abs(cosines).max() <= bound + SLACK:
            return points
        pushes = 2 * np.sign(cosines) * (np.abs(cosines) > bound)
        points = unit_rows(points - EQUIANGULAR_RATE * pushes @ points)
    return None


DESCENTS = {"gaussian": gaussian_descent, "equiangular": equiangular_descent}
