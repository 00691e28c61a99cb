r"""New points beside old ones that stay, where a prior wants them.

.. math:: F_p = f_p + \lambda \, \mathcal{L}_{\text{PI}}

with the smooth maximum of ``codes/beside.py`` over the pairs that hold a new point, and Equation 6 over the triplets
whose anchor i is new: which of two other points the new one should be nearer to. All else is settled by now.
"""

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.seeding import derive_seed
from hyperproto._core.threads import one_thread
from hyperproto.codes.beside import SmoothMaxBeside
from hyperproto.codes.code import Array
from hyperproto.codes.descent import random_points, unit_rows
from hyperproto.codes.lbfgs import minimise
from hyperproto.codes.ranked.joint import EXPONENTS
from hyperproto.codes.ranked.ranking import Ranking

__all__ = ["ranked_beside"]

STARTS = {"fast": 4, "balanced": 16, "thorough": 64}
ITERATIONS = 100
NOISE = 0.3  # of a start, beside the direction the prior itself points in


def ranked_beside(
    fixed: Array,
    similarity: Array,
    members: NDArray[np.intp],
    *,
    weight: float,
    effort: str = "balanced",
    seed: int = 0,
) -> Array:
    """Return the new points, one for each class after the old ones. Shape (count, D), unit rows.

    Parameters
    ----------
    fixed : Array, shape (K, D)
        The old points, unit rows.
    similarity : Array, shape (K + count, K + count)
        The prior over old and new classes; only rows and columns of ``members`` are read.
    members : Array of int, shape (M,)
        The classes the prior speaks of, in order; the others are only kept apart.
    weight : float
        λ.
    effort : {"fast", "balanced", "thorough"}
        How many starts.
    seed : int
        Fixes every bit of the result.
    """
    count, dim = len(similarity) - len(fixed), fixed.shape[1]
    joint = _JointBeside(fixed, similarity, members, weight)
    best: Array = np.empty((count, dim))
    lowest = np.inf
    with one_thread():
        wished = _wished(fixed, similarity, members)
        for start in range(STARTS[effort]):
            x = wished + NOISE * start * random_points(count, dim, derive_seed(seed, "beside", start))
            x = x.reshape(-1)
            for exponent in EXPONENTS:
                joint.smooth.exponent = exponent
                x = minimise(joint, x, iterations=ITERATIONS, tolerance=1e-7)
            if (value := joint(x)[0]) < lowest:
                best, lowest = unit_rows(x.reshape(count, dim)), value
    return best


class _JointBeside:
    """F and its tangential gradient, as a function of the new points alone."""

    def __init__(self, fixed: Array, similarity: Array, members: NDArray[np.intp], weight: float) -> None:
        self.fixed, self.members, self.weight = fixed, members, weight
        self.smooth = SmoothMaxBeside(fixed, 1, len(similarity) - len(fixed))
        self.anchors = np.flatnonzero(members >= len(fixed))
        self.ranking = Ranking(similarity[np.ix_(members[self.anchors], members)], self.anchors)

    def __call__(self, x: Array) -> tuple[float, Array]:
        value, gradient = self.smooth(x)
        rows = x.reshape(-1, self.fixed.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        points = rows / norms
        loss, whole = self.ranking(np.concatenate([self.fixed, points])[self.members])
        pull = np.zeros_like(points)
        pull[self.members[self.anchors] - len(self.fixed)] = whole[self.anchors]
        pull -= np.einsum("ij,ij->i", pull, points)[:, None] * points
        return value + self.weight * loss, gradient + (self.weight / norms * pull).reshape(-1)


def _wished(fixed: Array, similarity: Array, members: NDArray[np.intp]) -> Array:
    """Return, for each new class, the old points weighed by how much more similar they are than the mean."""
    old = members[members < len(fixed)]
    rows = similarity[len(fixed) :, old]
    towards = (rows - rows.mean(axis=1, keepdims=True)) @ fixed[old]
    towards += 1e-3 * random_points(len(towards), fixed.shape[1], 0)  # without prior, a class begins anywhere
    return unit_rows(towards)
