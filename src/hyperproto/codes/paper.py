"""The paper's placement: Equation 5 pushes every point away from its nearest neighbor; a prior adds
Equation 6.
"""

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.progress import report_progress
from hyperproto.codes.measure import Array, nearest_neighbors, random_points, unit_rows
from hyperproto.codes.ranking import Ranking

RATE = 0.1


def authors_steps(num_points: int, dim: int) -> int:
    """Return the steps that the authors' files agree with: 1,000 from D = 100 and D = K on, else
    10,000.

    The paper says 1,000 and the authors' script 10,000. The smallest 1 - cos in their files, and in
    ours by seed 0:

    ==========  =======  ===========  ============
    K, D        authors  1,000 steps  10,000 steps
    ==========  =======  ===========  ============
    100, 50     0.956    0.898        0.956
    100, 100    0.954    0.953        1.006
    100, 200    0.985    0.985        1.009
    200, 100    0.956    0.893        0.956
    ==========  =======  ===========  ============

    Their 200 points in 200 dimensions (0.743) agree with neither.
    """
    return 1_000 if dim >= max(100, num_points) else 10_000


def separation_gradient(points: Array) -> tuple[float, Array]:
    r"""Return Equation 5 and its gradient with respect to the points, both for unit rows.

    .. math:: \mathcal{L}(P) = \frac1K \sum_i \max_{j \ne i} p_i \cdot p_j

    Row i of the gradient is the neighbor of i, plus every point whose neighbor is i, over K.
    """
    nearest, cosine = nearest_neighbors(points)
    # gathers the points that share a neighbor; np.add.at is slower
    order = nearest.argsort(kind="stable")
    shared = nearest[order]
    first = np.concatenate(([0], (shared[1:] != shared[:-1]).nonzero()[0] + 1))
    gradient = points[nearest]
    gradient[shared[first]] += np.add.reduceat(points[order], first, axis=0)
    gradient /= len(points)
    return float(cosine.mean()), gradient


def paper_descent(
    num_points: int,
    dim: int,
    *,
    seed: int,
    ranking: Ranking | None = None,
    members: NDArray[np.intp] | None = None,
    weight: float = 1.0,
    steps: int,
) -> Array:
    """Place points as the paper does: projected gradient descent from a random start.

    On Equation 5, or with a ranking on the sum of Equations 5 and 6. The rate is that of the
    authors' script, which asks for momentum but builds a new optimizer at every step, so that it
    never acts.

    Parameters
    ----------
    num_points, dim : int
        K and D.
    seed : int
        Seed of the random start.
    ranking : Ranking, optional
        Equation 6 over the points ``members``, ids of shape (M,), that a prior covers.
    weight : float, default 1
        Of Equation 6; the paper adds it as it is.
    steps : int
        How many; :func:`authors_steps` are the authors'.

    Returns
    -------
    Array, shape (num_points, dim), unit rows.
    """
    points = random_points(num_points, dim, seed)
    for step in range(steps):
        gradient = separation_gradient(points)[1]
        if ranking is not None:
            gradient[members] += weight * ranking(points[members])[1]
        points = unit_rows(points - RATE * gradient)
        report_progress(step, steps)
    return points
