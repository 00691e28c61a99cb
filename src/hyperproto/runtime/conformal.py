"""What a fitted threshold says about new inputs: sets, intervals, and which inputs are taken for
known.

``hyperproto.evaluation.confidence`` fits these, stored models carry them. A threshold that a file
has as null is infinity: too little data was fitted on, and only that keeps the promise.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._core.arrays import Numbers, Values, to_numbers
from .._core.checks import check_finite_number
from .._core.errors import InputError, arg


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
class Sets:
    """Conformal sets: the most probable class, and those whose 1 - p is at most a threshold."""

    threshold: float | None
    coverage: float

    def __post_init__(self) -> None:
        _set_thresholds(self, threshold=math.inf)
        check_share(self.coverage, "coverage")

    def sets(self, probabilities: Values) -> NDArray[np.bool_]:
        """Return which classes are in each set, shape (n, num_classes)."""
        array = to_numbers(probabilities, "probabilities", ndim=2)
        inside: NDArray[np.bool_] = 1 - array <= cast(float, self.threshold)
        inside[np.arange(len(array)), array.argmax(axis=1)] = True
        return inside


@dataclass(frozen=True)
class Interval:
    """Conformal intervals: a number plus or minus a radius, cut off at low and high."""

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

    def intervals(self, predictions: Values) -> Numbers:
        """Return the ends of each interval, shape (n, 2)."""
        centers = to_numbers(predictions, "predictions", ndim=1)
        radius = cast(float, self.radius)
        within: Numbers = np.clip(
            np.stack([centers - radius, centers + radius], axis=1), self.low, self.high
        )
        return within


@dataclass(frozen=True)
class Rejection:
    """The largest outlier score that is accepted, and the share of known inputs that may be
    rejected.
    """

    threshold: float | None
    rate: float

    def __post_init__(self) -> None:
        _set_thresholds(self, threshold=math.inf)
        check_share(self.rate, "rate")

    def accept(self, scores: Values, *, rounding: float = 0.0) -> NDArray[np.bool_]:
        """Return which inputs are taken for known, shape (n,); scores may be
        off by ``rounding``.
        """
        return to_numbers(scores, "scores", ndim=1) <= cast(float, self.threshold) + rounding
