"""When to say "unknown": a threshold on how strange an input looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hyperproto._core.arrays import Values, to_numbers
from hyperproto.evaluation.confidence.fields import (
    check_share,
    check_threshold,
    conformal_quantile,
    finite_or_none,
    get_field,
)

__all__ = ["Rejection"]


@dataclass(frozen=True)
class Rejection:
    """Reject what is stranger than nearly all of the known data.

    Parameters
    ----------
    threshold : float
        Largest outlier score that is accepted; infinity, where too little data was fitted on, accepts everything.
    rate : float
        Share of known inputs that may be rejected.
    """

    threshold: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_threshold(self.threshold, "threshold"))
        check_share(self.rate, "rate")

    @classmethod
    def fit(cls, scores: Values, rate: float = 0.05) -> Self:
        """Choose the threshold on held-out data of the known classes.

        A new known input is rejected with a probability of at most ``rate``, and where scores do not tie of at least
        ``rate - 1 / (n + 1)``.

        Parameters
        ----------
        scores : array, shape (n,)
            Outlier scores, larger for stranger inputs.
        rate : float, default 0.05
        """
        held = to_numbers(scores, "scores", ndim=1)
        return cls(conformal_quantile(held, 1 - check_share(rate, "rate")), rate)

    def accept(self, scores: Values) -> npt.NDArray[np.bool_]:
        """Return which inputs look known, shape (n,)."""
        return to_numbers(scores, "scores", ndim=1) <= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"kind": "rejection", "threshold": finite_or_none(self.threshold), "rate": self.rate}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        return cls(*(get_field(held, key, "rejection") for key in ("threshold", "rate")))
