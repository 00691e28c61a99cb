"""Sets and intervals that hold the truth as often as they say, whatever the model: split conformal prediction.

The promise is about new data drawn like the held-out data that was fitted on, on average over both. It does not hold
class by class, nor for data from elsewhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hyperproto._core.arrays import Numbers, Values, labelled, to_numbers
from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto.evaluation.confidence.fields import (
    check_share,
    check_threshold,
    conformal_quantile,
    finite_or_none,
    get_field,
)

__all__ = ["ConformalInterval", "ConformalSets"]


@dataclass(frozen=True)
class ConformalSets:
    """The classes whose probability is not too small: those with 1 - p at most a threshold.

    Of all sets with a given coverage these are the smallest on average [1]_. Where the model is right more often than
    the coverage asks for, some sets would have to be empty to miss often enough; unless ``empty`` allows that, the
    most probable class is always in, and the coverage is above the stated one.

    Parameters
    ----------
    threshold : float
        Largest 1 - p of a class in the set; infinity, where too little data was fitted on, puts all classes in.
    coverage : float
        What was asked for.
    empty : bool, default False
        Whether a set may be empty.

    References
    ----------
    .. [1] Sadinle, Lei, Wasserman. "Least Ambiguous Set-Valued Classifiers With Bounded Error Levels." JASA 2019.
    """

    threshold: float
    coverage: float
    empty: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_threshold(self.threshold, "threshold"))
        check_share(self.coverage, "coverage")

    @classmethod
    def fit(cls, probabilities: Values, labels: Values, coverage: float = 0.9, *, empty: bool = False) -> Self:
        """Choose the threshold on held-out data.

        Parameters
        ----------
        probabilities : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        coverage : float, default 0.9
            How often the set must hold the right class, between 0 and 1.
        empty : bool, default False
        """
        array, ids = labelled(probabilities, labels, "probabilities")
        scores = 1 - array[np.arange(len(ids)), ids]
        return cls(conformal_quantile(scores, check_share(coverage, "coverage")), coverage, empty)

    def sets(self, probabilities: Values) -> npt.NDArray[np.bool_]:
        """Return which classes are in each set, shape (n, num_classes)."""
        array = to_numbers(probabilities, "probabilities", ndim=2)
        inside: npt.NDArray[np.bool_] = 1 - array <= self.threshold
        if not self.empty:
            inside[np.arange(len(array)), array.argmax(axis=1)] = True
        return inside

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "kind": "conformal_sets",
            "threshold": finite_or_none(self.threshold),
            "coverage": self.coverage,
            "empty": self.empty,
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        return cls(*(get_field(held, key, "conformal set") for key in ("threshold", "coverage", "empty")))


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
        Bounds; without them an interval ends nowhere else than at its radius.
    """

    radius: float
    coverage: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        for name, bare in (("radius", math.inf), ("low", -math.inf), ("high", math.inf)):
            value = getattr(self, name)
            if value is None or value == bare:
                object.__setattr__(self, name, bare)
            else:
                check_finite_number(value, name)
        check_share(self.coverage, "coverage")
        if not self.low < self.high:
            raise InputError(f"`low` must be less than `high`; got {self.low!r} and {self.high!r}.")

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
        """Choose the radius on held-out data.

        Parameters
        ----------
        predictions, truths : array, shape (n,)
            Rows whose truth is NaN do not count. A truth beyond the bounds counts as missed whatever the radius.
        coverage : float, default 0.9
            How often the interval must hold the true number, between 0 and 1.
        low, high : float, optional
            Bounds of the range.
        """
        true = to_numbers(truths, "truths", ndim=1, finite=False)
        present = ~np.isnan(true)
        if not present.any():
            raise InputError(f"`truths` must hold at least one that is not missing; all {len(true)} are.")
        found = to_numbers(predictions, "predictions", ndim=1)
        if found.shape != true.shape:
            raise InputError(f"`predictions` must be as many as `truths`; got {len(found)} and {len(true)}.")
        beyond = (true < low) | (true > high)
        misses = np.where(beyond, np.inf, np.abs(found - true))[present]
        return cls(conformal_quantile(misses, check_share(coverage, "coverage")), coverage, low, high)

    def intervals(self, predictions: Values) -> Numbers:
        """Return the ends of each interval, shape (n, 2)."""
        found = to_numbers(predictions, "predictions", ndim=1)
        ends = np.stack([found - self.radius, found + self.radius], axis=1)
        return np.clip(ends, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "kind": "conformal_interval",
            "radius": finite_or_none(self.radius),
            "coverage": self.coverage,
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        return cls(*(get_field(held, key, "interval") for key in ("radius", "coverage", "low", "high")))
