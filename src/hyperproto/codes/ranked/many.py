"""Separation and order for many points: K x K is never held.

As in ``tiled.py`` the pairs near a threshold are found in tiles and pushed apart on their own; Equation 6 is summed
over the triplets of some anchors. More anchors than dimensions are landmarks enough: a point whose cosines to them
are ranked has its place.
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.threads import one_thread
from hyperproto.codes.bounds import random_max_cosine
from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.lbfgs import minimise
from hyperproto.codes.measure import max_cosine
from hyperproto.codes.ranked.joint import Joint
from hyperproto.codes.ranked.ranking import Ranking
from hyperproto.codes.tiled import MARGIN, EdgeHinge, near_pairs

__all__ = ["many_ranked_points"]

STEPS = 10  # on the edges of one pass
STIFFNESS = 10_000.0  # of the push, per point; 100 lets Equation 6 press pairs a tenth above the threshold
FALL = 0.9  # of the threshold, each pass, until it is where random points are


def many_ranked_points(
    ranking: Ranking,
    members: NDArray[np.intp],
    start: Array,
    *,
    weight: float,
    rounds: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Array, bool]:
    """Lower Equation 6 while keeping pairs below a falling threshold. Shape (K, D), unit rows.

    The second value is False where an interrupt ended it early.

    Parameters
    ----------
    ranking, members, weight
        As for :func:`~hyperproto.codes.ranked.joint.ranked_points`.
    start : Array, shape (K, D)
        Where to start.
    rounds : int
        Passes over all pairs.
    """
    points, goal = start, random_max_cosine(*start.shape)
    threshold = max_cosine(points)
    share = len(points) / STIFFNESS  # the push is a sum over points, Equation 6 a mean
    with one_thread(), suppress(KeyboardInterrupt):
        for turn in range(rounds):
            threshold = max(goal, FALL * threshold)
            hinge = EdgeHinge(near_pairs(points, threshold - MARGIN), points.shape, threshold)
            joint = Joint(hinge, ranking, members, weight=weight * share, dim=points.shape[1])
            x = minimise(joint, points.reshape(-1), iterations=STEPS, tolerance=1e-9 * share, memory=5)
            points = unit_rows(x.reshape(points.shape))
            if progress is not None:
                progress(turn + 1, rounds)
        return points, True
    return points, False
