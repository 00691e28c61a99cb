"""Promises that are kept whatever the model: sets, intervals, and which inputs are taken for known.

Split conformal prediction: a threshold fitted on data that was not trained on. The promise is about
new data drawn like those, on average over both. It does not hold class by class, nor for data from
elsewhere. A threshold that a file has as null is infinity: too little data was fitted on, and only
that keeps the promise.
"""

import math
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from .._core.arrays import Numbers, Values, labeled_rows, to_numbers
from .._core.checks import check_finite_number
from .._core.errors import InputError, arg


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


def recall_threshold(scores: Numbers, masks: NDArray[Any], coverage: float) -> float:
    r"""Return the threshold at which a set is expected to hold so large a share of the labels of a
    new example, by conformal risk control [1]_; where an example has none, nothing is missed.

    .. math:: \hat t = \inf \Bigl\{ t : \frac{1}{n + 1} \Bigl(1 + \sum_i
        \frac{|\{k \in S_i : s_{ik} > t\}|}{|S_i|}\Bigr) \le 1 - c \Bigr\}

    References
    ----------
    .. [1] Angelopoulos, Bates, Fisch, Lei, Schuster. "Conformal Risk Control." ICLR 2024.
    """
    there = ~np.isnan(masks).any(axis=1)
    inside = masks[there] > 0
    rows, labels = np.nonzero(inside)
    found, shares = scores[there][rows, labels], 1 / inside.sum(axis=1)[rows]
    order = np.argsort(found)
    missed = shares.sum() - np.cumsum(shares[order])
    allowed = (len(inside) + 1) * (1 - check_share(coverage, "coverage")) - 1
    enough = np.flatnonzero(missed <= allowed + 1e-9)
    return float(found[order][enough[0]]) if len(enough) else math.inf


def check_share(value: Any, name: str) -> float:
    """Return a share strictly between 0 and 1."""
    share = check_finite_number(value, name, above=0)
    if share >= 1:
        raise InputError(
            name, "be less than 1", repr(value), "Give a share such as 0.95, not a percentage."
        )
    return share


def _set_thresholds(value: Any, **infinities: float) -> None:
    """Make thresholds of a dataclass numbers; None stands for their infinity."""
    for name, infinity in infinities.items():
        given = getattr(value, name)
        unlimited = given is None or given == infinity
        object.__setattr__(value, name, infinity if unlimited else check_finite_number(given, name))


@dataclass(frozen=True)
class ConformalSets:
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
    .. [1] Sadinle, Lei, Wasserman. "Least Ambiguous Set-Valued Classifiers With Bounded Error
       Levels." JASA 2019.
    """

    threshold: float | None
    coverage: float

    def __post_init__(self) -> None:
        _set_thresholds(self, threshold=math.inf)
        check_share(self.coverage, "coverage")

    @classmethod
    def fit(cls, probabilities: Values, labels: Values, coverage: float = 0.9) -> Self:
        """Choose the threshold on data that was not trained on.

        Parameters
        ----------
        probabilities : array, shape (n, num_classes)
        labels : array of integers, shape (n,); or masks, shape (n, num_classes)
            -1 where missing, or a row of NaN; those rows do not count.
        coverage : float, default 0.9
            How often the set must contain the right class, between 0 and 1; of masks, the share of
            an example's labels that it must contain in expectation.
        """
        if np.ndim(labels) == 2:
            array = to_numbers(probabilities, "probabilities", ndim=2)
            threshold = recall_threshold(1 - array, np.asarray(labels), coverage)
            return cls(threshold, coverage)
        array, ids = labeled_rows(probabilities, labels, "probabilities")
        scores = 1 - array[np.arange(len(ids)), ids]
        return cls(conformal_quantile(scores, check_share(coverage, "coverage")), coverage)

    def sets(self, probabilities: Values) -> NDArray[np.bool_]:
        """Return which classes are in each set, shape (n, num_classes)."""
        array = to_numbers(probabilities, "probabilities", ndim=2)
        inside: NDArray[np.bool_] = 1 - array <= cast(float, self.threshold)
        inside[np.arange(len(array)), array.argmax(axis=1)] = True
        return inside

    def members(self, probabilities: Values) -> list[NDArray[np.int64]]:
        """Return the classes in each set, the most probable first."""
        order = np.argsort(-np.asarray(probabilities), axis=1, kind="stable")
        inside = np.take_along_axis(self.sets(probabilities), order, axis=1)
        return [ranked[chosen] for ranked, chosen in zip(order, inside, strict=True)]


@dataclass(frozen=True)
class ConformalInterval:
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

    radius: float | None
    coverage: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _set_thresholds(self, radius=math.inf, low=-math.inf, high=math.inf)
        check_share(self.coverage, "coverage")
        if not cast(float, self.low) < cast(float, self.high):
            raise InputError(
                "low", f"be less than {arg('high')}", f"{self.low!r} and {self.high!r}"
            )

    @classmethod
    def fit(
        cls,
        predictions: Values,
        truths: Values,
        coverage: float = 0.9,
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
        radius = conformal_quantile(misses, check_share(coverage, "coverage"))
        return cls(radius, coverage, low, high)

    def intervals(self, predictions: Values) -> Numbers:
        """Return the ends of each interval, shape (n, 2)."""
        centers = to_numbers(predictions, "predictions", ndim=1)
        radius = cast(float, self.radius)
        ends = np.stack([centers - radius, centers + radius], axis=1)
        # single precision may round a number at a bound beyond it
        low = np.minimum(centers, cast(float, self.low))
        high = np.maximum(centers, cast(float, self.high))
        return np.asarray(np.clip(ends, low[:, None], high[:, None]))


@dataclass(frozen=True)
class Rejection:
    """Reject what is more unusual than nearly all of the known data.

    Parameters
    ----------
    threshold : float
        Largest outlier score that is accepted; infinity, where too little data was fitted on,
        accepts everything.
    rate : float
        Share of known inputs that may be rejected.
    """

    threshold: float | None
    rate: float

    def __post_init__(self) -> None:
        _set_thresholds(self, threshold=math.inf)
        check_share(self.rate, "rate")

    @classmethod
    def fit(cls, scores: Values, rate: float = 0.05) -> Self:
        """Choose the threshold on data of the known classes that was not trained on.

        A new known input is rejected with a probability of at most ``rate``, and where scores do
        not tie of at least ``rate - 1 / (n + 1)``.

        Parameters
        ----------
        scores : array, shape (n,)
            Outlier scores, larger for more unusual inputs.
        rate : float, default 0.05
        """
        known = to_numbers(scores, "scores", ndim=1)
        return cls(conformal_quantile(known, 1 - check_share(rate, "rate")), rate)

    def accept(self, scores: Values, *, rounding: float = 0.0) -> NDArray[np.bool_]:
        """Return which inputs are taken for known, shape (n,); scores may be off by
        ``rounding``.
        """
        return to_numbers(scores, "scores", ndim=1) <= cast(float, self.threshold) + rounding
