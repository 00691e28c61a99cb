r"""The ranking loss, Equation 6, over every triplet without ever listing one, and how far an order
is reached.

.. math:: \mathcal{L} = \frac{1}{|T|} \sum_{(i,j,k)} \log(1 + e^{d}) - t\,d, \qquad
          d = c_{ij} - c_{ik}, \quad t = [\![ s_{ij} \ge s_{ik} ]\!]

which is the cross-entropy of the paper written out. Over both orders of (j, k):

- log(1 + e^d) = log(2 cosh(d/2)) + d/2, and the d/2 cancel.
- Σ t d is linear in the cosines: Σ_j w_ij c_ij, where w_ij counts the k that are less similar to i
  than j is, minus
  those that are more. Ties count on both sides, and cancel. w depends on the prior alone: rank
  once.
- log(2 cosh(d/2)) is even and |d| <= 2, so a polynomial of degree 16 in d stands in for it to
  1e-10, and
  Σ_jk (c_ij - c_ik)^m needs only the power sums of row i.

So a step takes O(K²) memory and O(K² m) time, m = 16. Per row the sum of log(2 cosh(d/2)) does not
depend on which class gets which point of a code: with the points fixed, Equation 6 is a quadratic
assignment (:func:`assign`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.processes import derive_seed
from hyperproto._core.progress import report_progress
from hyperproto.codes.certificate import PriorAgreement
from hyperproto.codes.measure import Array, row_blocks

# even; 12 is right to 2e-8 in value, but 1e-6 in slope where points coincide and oppose
DEGREE = 16
BLOCK_ENTRIES = 65_536  # cosines worked on at a time: a few such blocks fit the cache
# points up to which an assignment ends in swaps: of more, trying every pair takes too long
SWAPPED = 400
MARGIN = 0.01  # a smaller difference of cosines tells nobody anything


class Ranking:
    """Equation 6 for given similarities, as a function of the points.

    Parameters
    ----------
    similarity : Array, shape (A, K)
        Rows of the prior: how similar each anchor is to each of the K classes. Larger is closer.
    anchors : Array of int, shape (A,), optional
        The classes those rows belong to, i in (i, j, k); (default: all K classes). The sum is then
        over the triplets of these anchors.
    """

    def __init__(self, similarity: Array, anchors: NDArray[np.intp] | None = None) -> None:
        """Rank each row of the prior, once."""
        count, self.num_points = similarity.shape
        self.anchors = np.arange(count) if anchors is None else np.asarray(anchors)
        self.weights = order_weights(similarity, self.anchors)
        self.triplets = count * (self.num_points - 1) * (self.num_points - 2)

    def __call__(self, points: Array) -> tuple[float, Array]:
        """Return the loss and its gradient in the points, unit rows of shape (K, D); not
        tangential.
        """
        gradient = np.zeros_like(points)
        total = 0.0
        # the sums over all points cost too much for a few rows
        columns = min(self.num_points, BLOCK_ENTRIES // 32)
        for block in row_blocks(len(self.anchors), columns, entries=BLOCK_ENTRIES):
            anchors = self.anchors[block]
            cosines = points[anchors] @ points.T
            value, pull = _rows(cosines, anchors, self.weights[block])
            total += value
            gradient[anchors] += pull @ points
            gradient += pull.T @ points[anchors]
        scale = 1 / max(self.triplets, 1)
        return float(total * scale), gradient * scale


def order_weights(similarity: Array, anchors: NDArray[np.intp]) -> Array:
    """Return w of shape (A, K): how many others are less similar to the anchor, minus how many are
    more.

    >>> order_weights(np.array([[1.0, 0.2, 0.7, 0.2]]), np.array([0]))
    array([[ 0., -1.,  2., -1.]])
    """
    from scipy.stats import rankdata

    others = np.array(similarity, dtype=np.float64)
    itself = np.arange(len(anchors)), anchors
    others[itself] = -np.inf  # below all others, which leaves them the ranks 2 to K
    weights: Array = 2 * rankdata(others, axis=1) - (others.shape[1] + 2)
    weights[itself] = 0
    return weights


def assign(points: Array, weights: Array, *, starts: int, seed: int) -> NDArray[np.intp]:
    r"""Return π of shape (K,), so that ``points[π]`` are the prototypes of the classes in their
    order.

    .. math:: \max_\pi \; \sum_{ij} w_{ij} \, c_{\pi(i)\pi(j)}

    with w of shape (K, K) from :func:`order_weights`: the best of several relaxed problems (SciPy's
    "faq"), the first from the middle of all assignments, the others from random ones; then, of up
    to 400 points, swaps of two while they help ("2opt").
    """
    from scipy.optimize import quadratic_assignment

    weights, cosines = (weights + weights.T) / 2, points @ points.T
    np.fill_diagonal(cosines, 0)
    rng = np.random.default_rng(derive_seed(seed, "assignment"))
    best, highest = np.arange(len(points)), -math.inf
    for start in range(starts):
        options = {"maximize": True, "rng": rng, "P0": "randomized" if start else "barycenter"}
        found = quadratic_assignment(weights, cosines, method="faq", options=options)
        if found.fun > highest:
            best, highest = found.col_ind, found.fun
        report_progress(start + 1, starts)
    if len(points) <= SWAPPED:
        options = {
            "maximize": True,
            "rng": rng,
            "partial_guess": np.stack([np.arange(len(best)), best], axis=1),
        }
        best = quadratic_assignment(weights, cosines, method="2opt", options=options).col_ind
    return best


def _rows(cosines: Array, anchors: NDArray[np.intp], weights: Array) -> tuple[float, Array]:
    """Return the sum over the triplets of some anchors, and its derivative in their cosines, shape
    (a, K).
    """
    count = cosines.shape[1] - 1
    itself = np.arange(len(anchors)), anchors
    cosines[itself] = 0
    # d does not change, and the powers stay small
    cosines -= cosines.sum(axis=1, keepdims=True) / count
    cosines[itself] = 0  # adds nothing to any power sum
    sums = np.empty((DEGREE + 1, len(anchors)))
    sums[0] = count
    power = cosines.copy()
    for exponent in range(1, DEGREE + 1):
        np.sum(power, axis=1, out=sums[exponent])
        if exponent < DEGREE:
            power *= cosines
    coefficients = BINOMIALS @ sums  # of Σ_k h(x - c_k) in x, one polynomial per row
    # without j = k
    value = float((coefficients * sums).sum()) - EVEN_PART[0] * count * len(anchors)
    value -= float(np.vdot(weights, cosines))
    slope = power
    slope[:] = 2 * DEGREE * coefficients[DEGREE][:, None]
    for exponent in range(DEGREE - 1, 0, -1):  # Horner, a polynomial for each row
        slope *= cosines
        slope += (2 * exponent) * coefficients[exponent][:, None]
    slope -= weights
    slope[itself] = 0
    return value, slope


def _even_part() -> Array:
    """Return the coefficients of the polynomial that stands in for log(2 cosh(d/2)) on [-2, 2]."""
    fitted = np.polynomial.Chebyshev.interpolate(
        lambda d: np.log(2 * np.cosh(d / 2)), DEGREE, domain=[-2, 2]
    )
    coefficients = fitted.convert(
        domain=[-1, 1], window=[-1, 1], kind=np.polynomial.Polynomial
    ).coef.astype(float)
    coefficients[1::2] = 0
    return coefficients


def _binomials() -> Array:
    """Return B with B[r, s] = a_m (m choose r) (-1)^s for m = r + s <= DEGREE, where a_m is that of
    d^m.
    """
    table = np.zeros((DEGREE + 1, DEGREE + 1))
    for m in range(0, DEGREE + 1, 2):
        for r in range(m + 1):
            table[r, m - r] = EVEN_PART[m] * math.comb(m, r) * (-1) ** (m - r)
    return table


EVEN_PART = _even_part()
BINOMIALS = _binomials()


def agreement(
    points: Array, similarity: Array, *, weight: float, prior: str, measured: str = "all triplets"
) -> PriorAgreement:
    """Measure how far the order of the cosines of K unit rows agrees with a prior of shape (K, K).

    The rest is for the record, as in :class:`PriorAgreement`.
    """
    cosines = points @ points.T
    triplets = right = 0
    for block in row_blocks(len(points), len(points), entries=BLOCK_ENTRIES):
        anchors = np.arange(block.start, block.stop)
        others = np.arange(len(points)) != anchors[:, None]
        asked, placed = (
            matrix[anchors][others].reshape(len(anchors), -1) for matrix in (similarity, cosines)
        )
        triplets += count_ordered(asked, asked, 0.0)
        right += count_ordered(asked, placed, MARGIN)
    pairs = np.triu_indices(len(points), 1)
    return PriorAgreement(
        prior=prior,
        weight=weight,
        loss=Ranking(similarity)(points)[0],
        ranked_by_margin=right / max(triplets, 1),
        spearman=_correlation(similarity[pairs], cosines[pairs]),
        measured=measured,
    )


def count_ordered(asked: Array, placed: Array, margin: float) -> int:
    """Return the number of (j, k) in one row with ``asked[j] > asked[k]`` and ``placed[j] >
    placed[k] + margin``.

    As inversions are counted by merging: rows are laid in the order asked for, and of any two
    neighboring stretches, doubled until one is left, sorting says how many of the later are placed
    above how many of the earlier. For n columns, one row for each anchor, that takes n log² n
    steps, where comparing all pairs takes n².
    """
    # what is asked to be equal lies in falling order: it never counts
    order = np.lexsort((-placed, asked))
    rows, columns = asked.shape
    padded = 1 << max(columns - 1, 0).bit_length()
    laid = np.full((rows, padded), -np.inf)  # at the end, above nothing
    laid[:, :columns] = np.take_along_axis(placed, order, axis=1)
    count, half = 0, 1
    while half < padded:
        earlier, later = np.moveaxis(laid.reshape(rows, -1, 2, half), 2, 0)
        both = np.concatenate([later - margin, earlier], axis=-1)
        # stable: what is equal is not above
        is_later = np.argsort(both, axis=-1, kind="stable") < half
        at = np.count_nonzero(is_later, axis=(0, 1)) @ np.arange(2 * half)
        # less the later ones below it
        count += int(at) - is_later.size // (2 * half) * (half * (half - 1) // 2)
        half *= 2
    return count


def _correlation(asked: Array, cosines: Array) -> float:
    """Return Spearman's rank correlation, 0 where one side is constant: it has no order."""
    spread = np.ptp(cosines) if len(cosines) else 0.0
    if not len(asked) or np.ptp(asked) == 0 or spread < 1e-12:
        return 0.0
    from scipy.stats import spearmanr

    return float(spearmanr(asked, cosines).statistic)
