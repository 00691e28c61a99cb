r"""More points next to given ones, which stay where they are, as well separated as can be found.

With a prior the new points go where it wants them, by minimizing

.. math:: F_p = f_p + \lambda \, \mathcal{L}_{\text{PI}}

with the smooth maximum f over the pairs with a new point, and Equation 6 over the triplets whose
anchor i is new: which of two other points the new one should be nearer to.
"""

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import choose
from hyperproto._core.processes import derive_seed
from hyperproto.codes.joint import ranked_points
from hyperproto.codes.measure import Array, random_points, row_blocks, unit_rows
from hyperproto.codes.ranking import Ranking
from hyperproto.codes.search import WORK, insert_points
from hyperproto.codes.smooth_max import SmoothMaxWithFixedPoints, minimize_points

FIRST = (4, 16, 64, 256)  # all starts together
LAST = (2**9, 2**11, 2**13, 2**16, 2**20)  # the best of them, one by one
ITERATIONS = 60
FINALISTS = 4
MOST_STARTS = 64
MANY = 4000  # fixed points from which holes are searched among random directions only
CANDIDATES = 256
RANKED_STARTS = {"fast": 4, "balanced": 16, "thorough": 64}
RANKED_ITERATIONS = 100
NOISE = 0.3  # of a start, next to the direction the prior itself points in


def extend_code(fixed: Array, count: int, *, effort: str = "balanced", seed: int = 0) -> Array:
    """Return ``count`` points that maximize the smallest angle to the given ones and among
    themselves.

    Unit rows, next to ``fixed`` ones of shape (M, D), which stay as they are. The effort says how
    many starts are affordable, and the seed fixes every bit.

    >>> square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    >>> (extend_code(square, 1) @ square.T).max().round(6).item()
    0.707107
    """
    starts, iterations = _budget(len(fixed), fixed.shape[1], count, effort)
    fixed = np.ascontiguousarray(fixed, dtype=np.float64)
    begin = np.stack([_start(fixed, count, derive_seed(seed, "extend", k)) for k in range(starts)])
    ends = _descend(fixed, begin, FIRST, iterations)
    largest = SmoothMaxWithFixedPoints(fixed, 1, count).largest_cosines
    order = np.argsort(largest(ends), kind="stable")[:FINALISTS]
    ends = np.concatenate([_descend(fixed, ends[[k]], LAST, iterations) for k in order])
    best: Array = ends[largest(ends).argmin()]
    return best


def _descend(fixed: Array, points: Array, exponents: tuple[int, ...], iterations: int) -> Array:
    """Follow the minimum of all starts over rising exponents. Shape (B, count, D), unit rows."""
    smooth = SmoothMaxWithFixedPoints(fixed, *points.shape[:2])
    return minimize_points(smooth.stages(exponents), points, iterations=iterations)


def _start(fixed: Array, count: int, seed: int) -> Array:
    """Return new points in deep holes between the old ones, other ones for every seed."""
    rng = np.random.default_rng(seed)
    if len(fixed) <= MANY:
        return insert_points(fixed, count, rng)[len(fixed) :]
    candidates = unit_rows(rng.standard_normal((CANDIDATES + count, fixed.shape[1])))
    blocks = row_blocks(len(fixed), len(candidates))
    nearest = np.max([(candidates @ fixed[block].T).max(axis=1) for block in blocks], axis=0)
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(int(nearest.argmin()))
        np.maximum(nearest, candidates @ candidates[chosen[-1]], out=nearest)
    return candidates[chosen]


def _budget(num_fixed: int, dim: int, count: int, effort: str) -> tuple[int, int]:
    """Return starts and iterations an exponent, in counts, from the effort in seconds and what one
    takes.
    """
    pairs = count * (num_fixed + count)
    evaluation = 1e-6 + pairs * (3e-8 + 2e-10 * dim)
    holes = 0 if num_fixed > MANY else count * (num_fixed + count) * (3e-5 + 5e-7 * dim)
    work = choose(effort, WORK, what="effort") / 2
    starts = int(np.clip(work / (holes + len(FIRST) * ITERATIONS * evaluation), 1, MOST_STARTS))
    return starts, int(np.clip(work / (len(LAST) * evaluation), 10, ITERATIONS))


def extend_ranked(
    fixed: Array,
    similarity: Array,
    members: NDArray[np.intp],
    *,
    weight: float,
    effort: str = "balanced",
    seed: int = 0,
) -> Array:
    """Return the new points, one for each class after the old ones. Shape (count, D), unit rows.

    As :func:`extend_code`, with a prior of weight λ.

    Parameters
    ----------
    similarity : Array, shape (K + count, K + count)
        The prior over old and new classes; only rows and columns of ``members`` are read.
    members : Array of int, shape (M,)
        The classes the prior covers, in order; the others are only separated.
    """
    shape = len(similarity) - len(fixed), fixed.shape[1]
    anchors = np.flatnonzero(members >= len(fixed))
    ranking = Ranking(similarity[np.ix_(members[anchors], members)], anchors)
    toward = _toward_prior(fixed, similarity, members)
    turned = (
        (k, random_points(*shape, derive_seed(seed, "beside", k)))
        for k in range(RANKED_STARTS[effort])
    )
    starts = [toward + NOISE * k * points for k, points in turned]
    return ranked_points(
        ranking, members, weight=weight, starts=starts, iterations=RANKED_ITERATIONS, fixed=fixed
    )


def _toward_prior(fixed: Array, similarity: Array, members: NDArray[np.intp]) -> Array:
    """Return, for each new class, the old points weighed by how much more similar they are than the
    mean.
    """
    old = members[members < len(fixed)]
    rows = similarity[len(fixed) :, old]
    toward = (rows - rows.mean(axis=1, keepdims=True)) @ fixed[old]
    # without prior, a class starts anywhere
    toward += 1e-3 * random_points(len(toward), fixed.shape[1], 0)
    return unit_rows(toward)
