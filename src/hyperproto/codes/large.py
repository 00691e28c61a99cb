"""Placing many points without structure: K x K is never kept in memory.

For a falling threshold τ, an exact pass over all pairs in tiles keeps those with a cosine near or
above τ as edges; a few steps on the edges alone separate them; then the edges are found again. With
a prior, Equation 6 is summed over the triplets of some anchors. More anchors than dimensions are
landmarks enough: a point whose cosines to them are ranked has its place.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hyperproto._core.processes import one_thread
from hyperproto._core.progress import report_progress
from hyperproto.codes.certificate import random_max_cosine, separation_bound
from hyperproto.codes.joint import Joint
from hyperproto.codes.measure import (
    Array,
    max_cosine,
    random_points,
    row_blocks,
    row_lengths,
    tangential,
)
from hyperproto.codes.ranking import Ranking
from hyperproto.codes.smooth_max import minimize_points

Edges = tuple[NDArray[np.int32], NDArray[np.int32]]

CHUNK = 16_384  # edges whose points are gathered at once
FIRST = 0.85  # of the largest cosine at the start; 0.7 asks for the impossible in few dimensions
STEPS = 10  # on the edges of one pass
MARGIN = 0.02  # pairs this far below τ are edges too: they may come near within those steps
STAY = 1.02  # τ stays until the largest cosine is within this factor of it; 1.04 ends up worse
FALL = 0.97
EDGES_PER_POINT = 400  # τ falls no further once there are more: bounds memory
MEMORY_BYTES = 300_000_000  # for the pairs of L-BFGS
# of the separation next to Equation 6, per point; at 100 pairs stay a tenth above the threshold
STIFFNESS = 10_000.0
# of the threshold next to Equation 6, each pass, until it is where random points are
RANKED_FALL = 0.9


class EdgeHinge:
    r"""Half the sum of squares of what the cosines of the edges exceed τ by, and its tangential
    gradient.

    .. math:: f_\tau = \tfrac12 \sum_{(i, j)} (c_{ij} - \tau)_+^2, \qquad
              \frac{\partial f_\tau}{\partial p_i} = \sum_j (c_{ij} - \tau)_+ \, p_j
    """

    def __init__(self, edges: Edges, shape: tuple[int, int], threshold: float) -> None:
        """Take the edges i < j, sorted by i, of points of the given shape (K, D)."""
        self.edges, self.shape, self.threshold = edges, shape, threshold
        self._rows = np.searchsorted(edges[0], np.arange(shape[0] + 1)).astype(np.int32)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return f and its gradient at ``x``, K rows laid out flat."""
        x = x.reshape(self.shape)
        norms = row_lengths(x)
        points = (x / norms).astype(np.float32)
        excess = np.maximum(self._cosines(points) - np.float32(self.threshold), 0)
        weights = csr_array((excess, self.edges[1], self._rows), shape=(len(x), len(x)))
        gradient = (weights @ points + weights.T @ points).astype(np.float64)
        value = 0.5 * float(np.square(excess, dtype=np.float64).sum())
        return value, tangential(gradient, points, norms).reshape(-1)

    def max_cosine(self, points: Array) -> float:
        """Return the largest cosine of the edges, or τ where there are none."""
        return float(self._cosines(points.astype(np.float32)).max(initial=self.threshold))

    def _cosines(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        i, j = self.edges
        cosines = np.empty(len(i), dtype=np.float32)
        for part in row_blocks(len(i), 1, entries=CHUNK):
            np.einsum(
                "ed,ed->e",
                points.take(i[part], axis=0),
                points.take(j[part], axis=0),
                out=cosines[part],
            )
        return cosines


@one_thread()
def tiled_descent(num_points: int, dim: int, *, rounds: int, seed: int) -> Array:
    """Place many points, keeping only the edges near a falling threshold; returns the best seen in
    any pass.

    Each of ``rounds`` passes over all pairs takes a few steps on the edges it finds. The seed fixes
    every bit.
    """
    points = random_points(num_points, dim, seed)
    best, lowest, threshold = points, 1.0, math.inf
    bound = separation_bound(num_points, dim)
    memory = max(2, min(8, MEMORY_BYTES // (16 * points.size)))
    for turn in range(rounds):
        if math.isinf(threshold):
            threshold = FIRST * max_cosine(points)
        edges = near_pairs(points, threshold - MARGIN)
        hinge = EdgeHinge(edges, points.shape, threshold)
        largest = hinge.max_cosine(points)
        if largest < lowest:
            best, lowest = points, largest
        if largest < STAY * threshold and len(edges[0]) < EDGES_PER_POINT * num_points:
            threshold = hinge.threshold = FALL * min(threshold, largest)
        points = minimize_points([hinge], points, iterations=STEPS, memory=memory)
        report_progress(turn + 1, rounds, f"maximum cosine {lowest:.6f}, bound {bound:.6f}")
    return min(best, points, key=max_cosine)


def near_pairs(points: Array, threshold: float) -> Edges:
    """Return all pairs i < j with a cosine above the threshold, sorted by i then j. One pass in
    tiles.
    """
    single = points.astype(np.float32)
    blocks, pairs = list(row_blocks(len(points))), []
    for k, rows in enumerate(blocks):
        for columns in blocks[k:]:
            tile = single[rows] @ single[columns].T
            if columns is rows:
                tile[np.tril_indices(len(tile))] = -2
            i, j = np.divmod(np.flatnonzero(tile > np.float32(threshold)), tile.shape[1])
            pairs.append(np.stack([i + rows.start, j + columns.start]).astype(np.int32))
    i, j = np.concatenate(pairs, axis=1)
    order = np.lexsort((j, i))
    return i[order], j[order]


def many_ranked_points(
    ranking: Ranking, members: NDArray[np.intp], start: Array, *, weight: float, rounds: int
) -> Array:
    """Lower Equation 6 while keeping pairs below a threshold that falls with each of some passes
    over all pairs.

    As :func:`~hyperproto.codes.joint.ranked_points`, from one start of shape (K, D).
    """
    points, goal = start, random_max_cosine(*start.shape)
    threshold = max_cosine(points)
    share = len(points) / STIFFNESS  # separation is a sum over points, Equation 6 a mean
    for turn in range(rounds):
        threshold = max(goal, RANKED_FALL * threshold)
        hinge = EdgeHinge(near_pairs(points, threshold - MARGIN), points.shape, threshold)
        joint = Joint(hinge, ranking, members, weight=weight * share, dim=points.shape[1])
        points = minimize_points(
            [joint], points, iterations=STEPS, tolerance=1e-9 * share, memory=5
        )
        report_progress(turn + 1, rounds)
    return points
