"""Probabilities from cosines by one number, the scale of a softmax."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from hyperproto._core.arrays import Numbers, Values, labelled, to_numbers
from hyperproto._core.checks import check_finite_number
from hyperproto.evaluation.confidence.fields import get_field

__all__ = ["Temperature", "fit_scale"]

LEAST, MOST = 1e-3, 1e5  # scales that are tried


@dataclass(frozen=True)
class Temperature:
    r"""A softmax over scaled cosines, its scale fitted on held-out data.

    .. math:: p(k \mid z) = \frac{\exp(s \cos\theta_{z, p_k})}{\sum_j \exp(s \cos\theta_{z, p_j})}

    The class with the largest cosine stays the most probable one. Logits of other spaces work too.

    Parameters
    ----------
    scale : float
        s, the inverse of a temperature.

    Examples
    --------
    >>> Temperature(2.0).probabilities([[1.0, -1.0]]).round(3)
    array([[0.982, 0.018]])
    """

    scale: float

    def __post_init__(self) -> None:
        check_finite_number(self.scale, "scale", above=0)

    @classmethod
    def fit(cls, cosines: Values, labels: Values) -> Self:
        """Choose the scale that makes the labels of held-out data most likely.

        Parameters
        ----------
        cosines : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        """
        return cls(fit_scale(*labelled(cosines, labels, "cosines")))

    def probabilities(self, cosines: Values) -> Numbers:
        """Return one probability per class, rows summing to 1. Shape (n, num_classes)."""
        held: Numbers = softmax(self.scale * to_numbers(cosines, "cosines", ndim=2), axis=1)
        return held

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"kind": "temperature", "scale": self.scale}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        return cls(get_field(held, "scale", "temperature"))


def fit_scale(scores: Numbers, labels: npt.NDArray[np.int64]) -> float:
    """Return the scale with the least negative log-likelihood, which is convex in it.

    The labels count n times and a uniform distribution once: where every held-out example is right the likelihood
    alone would ask for an infinite scale, and so for certainty that n examples cannot give.
    """
    n, num_classes = scores.shape
    wish = np.full(scores.shape, 1 / (num_classes * (n + 1)))
    wish[np.arange(n), labels] += n / (n + 1)

    def loss(log_scale: float) -> float:
        rows: Numbers = log_softmax(np.exp(log_scale) * scores, axis=1)
        return float(-np.sum(wish * rows) / n)

    found = minimize_scalar(loss, bounds=(np.log(LEAST), np.log(MOST)), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))
