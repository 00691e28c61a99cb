"""The paper's own placement with privileged information: Equation 5 plus Equation 6, by gradient descent."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.threads import one_thread
from hyperproto.codes.code import Array
from hyperproto.codes.descent import random_points, separation_gradient, unit_rows
from hyperproto.codes.ranked.ranking import Ranking

__all__ = ["paper_descent"]

STEPS, RATE = 10_000, 0.1  # of the authors' script


def paper_descent(
    ranking: Ranking,
    members: NDArray[np.intp],
    num_points: int,
    dim: int,
    *,
    seed: int,
    weight: float = 1.0,
    steps: int = STEPS,
    lr: float = RATE,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Array, bool]:
    """Descend Equation 5 plus ``weight`` times Equation 6; the paper sums them, weight 1.

    Parameters
    ----------
    ranking : Ranking
        Over the points ``members``, ids of shape (M,), that a prior speaks of.
    num_points, dim, seed, steps, lr
        As for :func:`~hyperproto.codes.descent.separation_descent`.
    progress : callable, optional
        Called with (steps done, steps in all) now and then.

    Returns
    -------
    Array, shape (num_points, dim), unit rows; and False where an interrupt ended it early.
    """
    points = random_points(num_points, dim, seed)
    with one_thread(), suppress(KeyboardInterrupt):
        for step in range(steps):
            gradient = separation_gradient(points)[1]
            gradient[members] += weight * ranking(points[members])[1]
            points = unit_rows(points - lr * gradient)
            if progress is not None and step % 50 == 0:
                progress(step, steps)
        return points, True
    return points, False
