"""How strange an input looks, from its cosines to all prototypes and the length of the output; larger is stranger."""

from collections.abc import Callable

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose

__all__ = ["OUTLIER_SCORES", "outlier_score"]

POWER = 0.2  # of the length; from digits of which three were held out, where 0.1 to 0.3 do nearly as well


def _far(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """1 - the largest cosine: far from every prototype."""
    held: Numbers = 1 - np.max(scores, axis=1)
    return held


def _far_or_faint(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """Minus the largest cosine times a root of |z|: the loss leaves |z| free, and it is small for the unfamiliar."""
    if norms is None:
        raise InputError('The outlier score "length" needs `norms`, the lengths |z| of the outputs. Pass them too.')
    held: Numbers = -np.max(scores, axis=1) * norms**POWER
    return held


def _unsure(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """1 - the largest probability."""
    held: Numbers = 1 - np.max(softmax(scale * scores, axis=1), axis=1)
    return held


def _energy(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """Minus the logarithm of the sum of exponentials, on the scale of the scores."""
    return -np.asarray(logsumexp(scale * scores, axis=1)) / scale


def _entropy(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """The entropy of the probabilities, in nats."""
    return np.asarray(entr(softmax(scale * scores, axis=1)).sum(axis=1))


def _close_call(scores: Numbers, norms: Numbers | None, scale: float) -> Numbers:
    """Minus the gap between the largest and the second largest score."""
    if scores.shape[1] == 1:
        return np.zeros(len(scores))
    best = np.partition(scores, -2, axis=1)[:, -2:]
    return best[:, 0] - best[:, 1]


OUTLIER_SCORES: dict[str, Callable[[Numbers, Numbers | None, float], Numbers]] = {
    "length": _far_or_faint,
    "cosine": _far,
    "probability": _unsure,
    "energy": _energy,
    "entropy": _entropy,
    "margin": _close_call,
}
"""By name; each takes scores (n, num_classes), norms (n,) or None, and a scale, and returns (n,)."""


def outlier_score(
    cosines: Values, norms: Values | None = None, *, kind: str | None = None, scale: float = 1.0
) -> Numbers:
    """Return how strange each input looks, larger for stranger. Shape (n,).

    Parameters
    ----------
    cosines : array, shape (n, num_classes)
        Cosines to all prototypes; logits of other spaces work too.
    norms : array, shape (n,), optional
        Lengths |z| of the outputs on the axes of the class task.
    kind : {"length", "cosine", "probability", "energy", "entropy", "margin"}, optional
        Minus the largest cosine times the fifth root of the length; 1 - the largest cosine; 1 - the largest
        probability; the energy; the entropy; the gap to the second class. "length" where norms are given, else
        "cosine".
    scale : float, default 1
        Of the softmax behind "probability", "energy" and "entropy", as :class:`Temperature` has it.

    Examples
    --------
    >>> outlier_score([[1.0, -0.5, -0.5], [0.5, 0.5, -1.0]])
    array([0. , 0.5])
    >>> outlier_score([[0.5, -0.5], [0.5, -0.5]], norms=[32.0, 1.0])
    array([-1. , -0.5])
    """
    if kind is None:
        kind = "cosine" if norms is None else "length"
    chosen = choose(kind, OUTLIER_SCORES, what="outlier score")
    check_finite_number(scale, "scale", above=0)
    scores = to_numbers(cosines, "cosines", ndim=2)
    lengths = None if norms is None else to_numbers(norms, "norms", ndim=1)
    if lengths is not None and (len(lengths) != len(scores) or lengths.min() < 0):
        raise InputError(
            f"`norms` must be {len(scores)} lengths, one per row; got {len(lengths)}, the least {lengths.min()}."
        )
    return chosen(scores, lengths, scale)
