"""How well known inputs are told from unknown ones. Scores are larger for stranger inputs; unknown is positive."""

from dataclasses import dataclass

import numpy as np

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError

__all__ = [
    "OpenSetMeasures",
    "area_under_precision_recall",
    "area_under_roc",
    "false_positive_rate_at",
    "measure_open_set",
    "open_set_classification_rate",
]


@dataclass(frozen=True)
class OpenSetMeasures:
    """The four measures that papers on unknown classes print.

    Attributes
    ----------
    auroc : float
        The chance that an unknown input looks stranger than a known one.
    fpr_at_95 : float
        Share of unknown inputs that are let in by the threshold which keeps 95 % of the known ones.
    aupr : float
        Mean precision over recall, unknown inputs the ones to find; depends on how many of them there are.
    oscr : float
        The share of known inputs that are let in *and* classified rightly, averaged over the share of unknown ones
        let in.
    """

    auroc: float
    fpr_at_95: float
    aupr: float
    oscr: float


def measure_open_set(known: Values, unknown: Values, right: Values) -> OpenSetMeasures:
    """Return all four measures.

    Parameters
    ----------
    known, unknown : array, shape (n,) and (m,)
        Outlier scores.
    right : array of bool, shape (n,)
        Whether the class of each known input was predicted rightly.
    """
    return OpenSetMeasures(
        area_under_roc(known, unknown),
        false_positive_rate_at(known, unknown),
        area_under_precision_recall(known, unknown),
        open_set_classification_rate(known, unknown, right),
    )


def area_under_roc(known: Values, unknown: Values) -> float:
    """Return the chance that an unknown input has a larger score than a known one; equals count half.

    >>> area_under_roc([0.1, 0.4], [0.3, 0.9])
    0.75
    """
    inside, outside = _scores(known, unknown)
    inside.sort()
    below, upto = (np.searchsorted(inside, outside, side=side) for side in ("left", "right"))
    return float((below + upto).mean() / (2 * len(inside)))


def false_positive_rate_at(known: Values, unknown: Values, *, rate: float = 0.95) -> float:
    """Return the share of unknown inputs let in by the smallest threshold that lets in ``rate`` of the known ones.

    Known inputs are the positive ones here, as in the literature; that is "FPR at 95 % TPR".

    >>> false_positive_rate_at([0.1, 0.2, 0.3, 0.4], [0.25, 0.9], rate=0.75)
    0.5
    """
    inside, outside = _scores(known, unknown)
    check_finite_number(rate, "rate", above=0, at_most=1)
    rank = int(np.ceil(rate * len(inside) - 1e-9))
    return float((outside <= np.sort(inside)[max(rank, 1) - 1]).mean())


def area_under_precision_recall(known: Values, unknown: Values) -> float:
    """Return the average precision of finding unknown inputs: each step of recall times the precision there.

    >>> round(area_under_precision_recall([0.1, 0.4], [0.3, 0.9]), 4)
    0.8333
    """
    inside, outside = (np.sort(held) for held in _scores(known, unknown))
    thresholds = np.unique(outside)[::-1]
    found = len(outside) - np.searchsorted(outside, thresholds, side="left")
    taken = found + len(inside) - np.searchsorted(inside, thresholds, side="left")
    return float(np.sum(np.diff(found, prepend=0) * found / taken) / len(outside))


def open_set_classification_rate(known: Values, unknown: Values, right: Values) -> float:
    """Return the area under the share of known inputs let in and right, over the share of unknown ones let in.

    The area under the OSCR curve of Dhamija et al., "Reducing Network Agnostophobia", NeurIPS 2018; at most the
    accuracy, which it reaches where every unknown input looks stranger than every known one. Equals count half.

    >>> open_set_classification_rate([0.1, 0.4], [0.3, 0.9], [True, True])
    0.75
    """
    inside, outside = _scores(known, unknown)
    hits = to_numbers(right, "right", ndim=1).astype(bool)
    if hits.shape != inside.shape:
        raise InputError(f"`right` must be as many as `known`; got {len(hits)} and {len(inside)}.")
    return area_under_roc(inside[hits], outside) * float(hits.mean()) if hits.any() else 0.0


def _scores(known: Values, unknown: Values) -> tuple[Numbers, Numbers]:
    return to_numbers(known, "known", ndim=1), to_numbers(unknown, "unknown", ndim=1)
