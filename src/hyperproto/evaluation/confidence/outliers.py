"""How unusual an input is, from its cosines to all prototypes and the length of its output; and
when to reject it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp, softmax

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, arg
from hyperproto.defaults import LENGTH_POWER, REJECTED
from hyperproto.evaluation.confidence.conformal import conformal_quantile
from hyperproto.evaluation.confidence.task_calibration import StoredValue
from hyperproto.runtime import conformal
from hyperproto.runtime.conformal import check_share


def _length(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """Minus the largest cosine times a root of |z|: the loss leaves |z| free, and it is small for
    the unfamiliar.
    """
    if norms is None:
        raise InputError(
            "norms", 'be the lengths |z| of the outputs for the outlier score "length"', "none"
        )
    return np.asarray(-np.max(scores, axis=1) * norms**LENGTH_POWER)


def _improbability(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """1 - the largest probability, as the sum of the others: so it does not round to 0 for whatever
    is certain.
    """
    others = np.asarray(softmax(scale * scores, axis=1))
    np.put_along_axis(others, scores.argmax(axis=1)[:, None], 0, axis=1)
    return np.asarray(others.sum(axis=1))


OUTLIER_SCORES: dict[str, Callable[[Numbers, Numbers | None, float], Numbers]] = {
    "length": _length,
    "cosine": lambda scores, norms, scale: 1 - np.max(scores, axis=1),
    "probability": _improbability,
    "energy": lambda scores, norms, scale: -np.asarray(logsumexp(scale * scores, axis=1)) / scale,
}
"""By name; each takes scores (n, num_classes), norms (n,) or None, and a scale,
and returns (n,).
"""


def outlier_score(
    cosines: Values,
    norms: Values | None = None,
    *,
    kind: str | None = None,
    scale: float = 1.0,
    longest: float | None = None,
) -> Numbers:
    """Return how unusual each input is, larger for more unusual ones. Shape (n,).

    Parameters
    ----------
    cosines : array, shape (n, num_classes)
        Cosines to all prototypes; logits of other spaces work too.
    norms : array, shape (n,), optional
        Lengths |z| of the outputs on the axes of the class task.
    kind : {"length", "cosine", "probability", "energy"}, optional
        Minus the largest cosine times the fifth root of the length; 1 - the largest cosine; 1 - the
        largest probability; the energy (default: "length" with norms, "cosine" without).
    scale : float, default 1
        Of the softmax behind "probability" and "energy", as :class:`Temperature` has it.
    longest : float, optional
        The largest |z| of known inputs. Beyond it, "length" falls off as 1 / |z|: a linear path
        makes |z| huge for inputs far outside of the training data, of which a network knows
        nothing, either.

    Examples
    --------
    >>> outlier_score([[1.0, -0.5, -0.5], [0.5, 0.5, -1.0]])
    array([0. , 0.5])
    >>> outlier_score([[0.5, -0.5], [0.5, -0.5]], norms=[32.0, 1.0])
    array([-1. , -0.5])
    >>> outlier_score([[1.0, -1.0], [1.0, -1.0]], norms=[32.0, 320.0], longest=32.0).round(2)
    array([-2. , -0.2])
    """
    if kind is None:
        kind = "cosine" if norms is None else "length"
    chosen = choose(kind, OUTLIER_SCORES, what="outlier score")
    check_finite_number(scale, "scale", above=0)
    scores = to_numbers(cosines, "cosines", ndim=2)
    lengths = None if norms is None else to_numbers(norms, "norms", ndim=1)
    if lengths is not None and (len(lengths) != len(scores) or lengths.min() < 0):
        got = f"{len(lengths)}, the smallest {lengths.min()}"
        raise InputError("norms", f"be {len(scores)} lengths, one per row of {arg('cosines')}", got)
    if lengths is not None and longest is not None:
        ratio = longest / np.maximum(lengths, check_finite_number(longest, "longest", above=0))
        lengths = np.minimum(lengths, longest) * ratio ** (1 / LENGTH_POWER)
    return chosen(scores, lengths, scale)


@dataclass(frozen=True)
class Rejection(conformal.Rejection, StoredValue, kind="rejection"):
    """Reject what is more unusual than nearly all of the known data.

    Parameters
    ----------
    threshold : float
        Largest outlier score that is accepted; infinity, where too little data was fitted on,
        accepts everything.
    rate : float
        Share of known inputs that may be rejected.
    """

    @classmethod
    def fit(cls, scores: Values, rate: float = REJECTED) -> Self:
        """Choose the threshold on data of the known classes that was not trained on.

        A new known input is rejected with a probability of at most ``rate``, and where scores do
        not tie of at least ``rate - 1 / (n + 1)``.

        Parameters
        ----------
        scores : array, shape (n,)
            Outlier scores, larger for more unusual inputs.
        rate : float, default 0.05
        """
        return cls(
            conformal_quantile(to_numbers(scores, "scores", ndim=1), 1 - check_share(rate, "rate")),
            rate,
        )
