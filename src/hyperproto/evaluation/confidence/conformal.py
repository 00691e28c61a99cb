"""Sets and intervals that contain the truth as often as they say, whatever the model: split
conformal prediction.

The promise is about new data drawn like the data that was fitted on, on average over both. It does
not hold class by class, nor for data from elsewhere.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from hyperproto._core.arrays import Numbers, Values, labeled_rows, to_numbers
from hyperproto._core.errors import InputError, arg
from hyperproto.defaults import COVERAGE
from hyperproto.evaluation.confidence.task_calibration import (
    Confidence,
    ConfidenceReport,
    StoredValue,
    TaskCalibration,
)
from hyperproto.runtime.conformal import Interval, Sets, check_share


def conformal_quantile(scores: Numbers, coverage: float) -> float:
    r"""Return the score that a new one does not exceed with probability at least ``coverage``.

    .. math:: \hat q = s_{(\lceil (n + 1)\, c \rceil)}

    The new score and the n known ones, exchangeable, are equally likely to stand in each of n + 1
    places; hence n + 1. Where n is too small for the coverage, infinity: only that keeps the
    promise.
    """
    # a little less, so that 0.9 * 10 = 9.000000000000001 is still the ninth
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return math.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


@dataclass(frozen=True)
class ConformalSets(Sets, StoredValue, kind="conformal_sets"):
    """The classes whose probability is not too small: those with 1 - p at most a threshold.

    Of all sets with a given coverage these are the smallest on average [1]_. Where the model is
    right more often than the coverage asks for, some sets would have to be empty to miss often
    enough; the most probable class is always in, and the coverage is then above the stated one.

    Parameters
    ----------
    threshold : float
        Largest 1 - p of a class in the set; infinity, where too little data was fitted on, puts all
        classes in.
    coverage : float
        What was asked for.

    References
    ----------
    .. [1] Sadinle, Lei, Wasserman. "Least Ambiguous Set-Valued Classifiers With Bounded Error Levels." JASA 2019.
    """

    @classmethod
    def fit(cls, probabilities: Values, labels: Values, coverage: float = COVERAGE) -> Self:
        """Choose the threshold on data that was not trained on.

        Parameters
        ----------
        probabilities : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        coverage : float, default 0.9
            How often the set must contain the right class, between 0 and 1.
        """
        array, ids = labeled_rows(probabilities, labels, "probabilities")
        scores = 1 - array[np.arange(len(ids)), ids]
        return cls(conformal_quantile(scores, check_share(coverage, "coverage")), coverage)


@dataclass(frozen=True)
class ConformalInterval(Interval, TaskCalibration, kind="conformal_interval"):
    """A number plus or minus a radius, within the bounds of its range.

    Parameters
    ----------
    radius : float
        Infinity, where too little data was fitted on, gives the whole range.
    coverage : float
        What was asked for.
    low, high : float, optional
        Range at which intervals are cut off (default: none).
    """

    @classmethod
    def fit(
        cls,
        predictions: Values,
        truths: Values,
        coverage: float = COVERAGE,
        *,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> Self:
        """Choose the radius on data that was not trained on.

        Parameters
        ----------
        predictions, truths : array, shape (n,)
            Rows whose truth is NaN do not count. A truth beyond the bounds counts as missed
            whatever the radius.
        coverage : float, default 0.9
            How often the interval must contain the true number, between 0 and 1.
        low, high : float, optional
            Range of the range.
        """
        true = to_numbers(truths, "truths", ndim=1, finite=False)
        present = ~np.isnan(true)
        if not present.any():
            raise InputError(
                "truths", "hold at least one that is not missing", f"{len(true)} missing ones"
            )
        centers = to_numbers(predictions, "predictions", ndim=1)
        if centers.shape != true.shape:
            raise InputError(
                "predictions", f"be as many as {arg('truths')}", f"{len(centers)} and {len(true)}"
            )
        beyond = (true < low) | (true > high)
        misses = np.where(beyond, np.inf, np.abs(centers - true))[present]
        return cls(
            conformal_quantile(misses, check_share(coverage, "coverage")), coverage, low, high
        )

    def describe(
        self,
        predicted: Values,
        scores: Values | None = None,
        strengths: Values | None = None,
        top: Values | None = None,
    ) -> Confidence:
        """Return the intervals around numbers; see :class:`TaskCalibration`."""
        return Confidence(intervals=self.intervals(predicted))

    def report(
        self, confidence: Confidence, predicted: Values, targets: Values
    ) -> ConfidenceReport | None:
        """Measure coverage and width; None where no true number is there."""
        truth = to_numbers(targets, "targets", ndim=1, finite=False)
        present = ~np.isnan(truth)
        if confidence.intervals is None or not present.any():
            return None
        low, high = confidence.intervals[present].T
        inside = (low <= truth[present]) & (truth[present] <= high)
        return ConfidenceReport(
            stated_coverage=self.coverage,
            coverage=float(inside.mean()),
            width=float((high - low).mean()),
        )
