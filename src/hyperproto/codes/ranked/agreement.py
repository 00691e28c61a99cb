"""How far the order of the cosines agrees with the order a prior asks for."""

import numpy as np
from scipy.stats import kendalltau, spearmanr

from hyperproto.codes.code import Array, Meaning
from hyperproto.codes.ranked.ranking import Ranking

__all__ = ["MARGIN", "agreement", "count_ordered"]

MARGIN = 0.01  # a difference of cosines below this is no meaning
ROUNDING = 1e-9  # cosines nearer than this are equal
BLOCK_ENTRIES = 65_536  # cosines worked on at a time: a few such blocks fit the cache


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
    size = max(1, BLOCK_ENTRIES // len(points))
    for start in range(0, len(points), size):
        anchors = np.arange(start, min(start + size, len(points)))
        others = np.arange(len(points)) != anchors[:, None]
        asked, placed = (matrix[anchors][others].reshape(len(anchors), -1) for matrix in (similarity, cosines))
        counts += _count(asked, placed)
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
    """Return how many pairs (j, k) of a row, j asked to be nearer, there are, are right, are clear, and are both."""
    right_clear, wrong_clear = count_ordered(asked, cosines, MARGIN), count_ordered(asked, -cosines, MARGIN)
    total = count_ordered(asked, asked, 0.0)
    return np.array([total, count_ordered(asked, cosines, ROUNDING), right_clear + wrong_clear, right_clear])


def count_ordered(asked: Array, placed: Array, margin: float) -> int:
    """Return the number of (j, k) in one row with ``asked[j] > asked[k]`` and ``placed[j] > placed[k] + margin``.

    As inversions are counted by merging: rows are laid in the order asked for, and of any two neighbouring stretches,
    doubled until one is left, sorting says how many of the later are placed above how many of the earlier. For n
    columns that takes n log² n steps, where comparing all pairs takes n².

    Parameters
    ----------
    asked, placed : Array, shape (a, n)
        Similarities and cosines, a row for each anchor.
    """
    order = np.lexsort((-placed, asked))  # what is asked to be equal lies in falling order: it never counts
    rows, columns = asked.shape
    padded = 1 << max(columns - 1, 0).bit_length()
    laid = np.full((rows, padded), -np.inf)  # at the end, above nothing
    laid[:, :columns] = np.take_along_axis(placed, order, axis=1)
    count, half = 0, 1
    while half < padded:
        earlier, later = np.moveaxis(laid.reshape(rows, -1, 2, half), 2, 0)
        both = np.concatenate([later - margin, earlier], axis=-1)
        is_later = np.argsort(both, axis=-1, kind="stable") < half  # stable: what is equal is not above
        at = np.count_nonzero(is_later, axis=(0, 1)) @ np.arange(2 * half)
        count += int(at) - is_later.size // (2 * half) * (half * (half - 1) // 2)  # less the later ones below it
        half *= 2
    return count


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _correlation(measure: object, asked: Array, cosines: Array) -> float:
    """Return a rank correlation, 0 where one side is constant: it has no order."""
    spread = np.ptp(cosines) if len(cosines) else 0.0
    if not len(asked) or np.ptp(asked) == 0 or spread < 1e-12:
        return 0.0
    return float(measure(asked, cosines).statistic)  # type: ignore[operator]
