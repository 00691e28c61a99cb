"""How far the order of the cosines agrees with the order a prior asks for."""

import numpy as np
from scipy.stats import kendalltau, spearmanr

from hyperproto.codes.code import Array, Meaning
from hyperproto.codes.ranked.ranking import Ranking

__all__ = ["MARGIN", "agreement"]

MARGIN = 0.01  # a difference of cosines below this is no meaning
ROUNDING = 1e-9  # cosines nearer than this are equal
ROWS_AT_ONCE = 4_000_000  # comparisons held at a time


def agreement(
    points: Array, similarity: Array, *, weight: float, prior: str, measured: str = "all triplets"
) -> Meaning:
    """Measure the meaning of points over all their triplets.

    Parameters
    ----------
    points : Array, shape (K, D)
        Unit rows.
    similarity : Array, shape (K, K)
        The prior.
    weight, prior, measured
        As in :class:`Meaning`, for the record.
    """
    cosines = points @ points.T
    counts = np.zeros(4)
    for anchor in range(len(points)):
        others = np.arange(len(points)) != anchor
        counts += _count(similarity[anchor, others], cosines[anchor, others])
    total, right, clear, right_clear = counts
    pairs = np.triu_indices(len(points), 1)
    return Meaning(
        prior=prior,
        weight=weight,
        loss=Ranking(similarity)(points)[0],
        ranked=_share(right, total),
        ranked_by_margin=_share(right_clear, total),
        clear=_share(clear, total),
        spearman=_correlation(spearmanr, similarity[pairs], cosines[pairs]),
        kendall=_correlation(kendalltau, similarity[pairs], cosines[pairs]),
        measured=measured,
    )


def _count(asked: Array, cosines: Array) -> Array:
    """Return how many ordered pairs (j, k), j asked to be nearer, there are, are right, are clear, and are both."""
    order = np.argsort(asked, kind="stable")
    asked, cosines = asked[order], cosines[order]
    counts = np.zeros(4)
    size = max(1, ROWS_AT_ONCE // len(asked))
    for start in range(0, len(asked), size):
        rows = slice(start, start + size)
        nearer = asked[rows, None] > asked[None]  # j in the rows
        difference = cosines[rows, None] - cosines[None]
        right, clear = difference > ROUNDING, np.abs(difference) > MARGIN
        clear &= nearer
        counts += [
            np.count_nonzero(nearer),
            np.count_nonzero(nearer & right),
            np.count_nonzero(clear),
            np.count_nonzero(clear & right),
        ]
    return counts


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _correlation(measure: object, asked: Array, cosines: Array) -> float:
    """Return a rank correlation, 0 where one side is constant: it has no order."""
    spread = np.ptp(cosines) if len(cosines) else 0.0
    if not len(asked) or np.ptp(asked) == 0 or spread < 1e-12:
        return 0.0
    return float(measure(asked, cosines).statistic)  # type: ignore[operator]
