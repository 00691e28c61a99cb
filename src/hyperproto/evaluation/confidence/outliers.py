"""How unusual an input is, by what the loss learned to say of known ones."""

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, arg


def _improbability(logits: Numbers) -> Numbers:
    """1 - the largest probability, as the sum of the others: so it does not round to 0 for whatever
    is certain.
    """
    others = np.asarray(softmax(logits, axis=1))
    np.put_along_axis(others, logits.argmax(axis=1)[:, None], 0, axis=1)
    return np.asarray(others.sum(axis=1))


def _entropy(logits: Numbers) -> Numbers:
    logarithms = log_softmax(logits, axis=1)
    return -np.asarray((np.exp(logarithms) * logarithms).sum(axis=1))


def _energy(logits: Numbers) -> Numbers:
    return -np.asarray(logsumexp(logits, axis=1))


OUTLIER_SCORES = {
    "entropy": _entropy,
    "probability": _improbability,
    "energy": _energy,
}
"""By name; each takes logits (n, num_classes) and returns (n,). "strength" is one more."""


def outlier_score(
    logits: Values,
    strengths: Values | None = None,
    *,
    kind: str = "entropy",
    longest: float | None = None,
) -> Numbers:
    """Return how unusual each input is, larger for more unusual ones. Shape (n,).

    Parameters
    ----------
    logits : array, shape (n, num_classes)
        Of the loss, at their scale.
    strengths : array, shape (n,), optional
        How strongly each output points at its class: its largest logit (default), or for a loss of
        angles alone its largest cosine by a root of its length
        (:meth:`hyperproto.tasks.Head.strength`).
    kind : {"entropy", "probability", "energy", "strength"}
        The entropy of the probabilities; 1 - the largest of them; the energy; minus the strength,
        for losses of angles alone.
    longest : float, optional
        The largest strength of known inputs. Beyond it all logits shrink, so that the largest falls
        off as its inverse: a linear path makes outputs huge for inputs far outside of the training
        data, of which a network knows nothing, either.

    Examples
    --------
    >>> outlier_score([[4.0, 0.0, 0.0], [0.5, 0.5, 0.5]]).round(2)
    array([0.18, 1.1 ])
    >>> outlier_score([[3.2, 0.0], [32.0, 0.0]], kind="strength", longest=3.2).round(2)
    array([-3.2 , -0.32])
    """
    score = choose(kind, OUTLIER_SCORES | {"strength": _entropy}, what="outlier score")
    found = to_numbers(logits, "logits", ndim=2)
    best = found.max(axis=1) if strengths is None else to_numbers(strengths, "strengths", ndim=1)
    if len(best) != len(found):
        rule = f"be {len(found)} numbers, one per row of {arg('logits')}"
        raise InputError("strengths", rule, len(best))
    shrink = np.ones(len(best))
    if longest is not None:
        check_finite_number(longest, "longest", above=0)
        shrink = (longest / np.maximum(best, longest)) ** 2
    return -best * shrink if kind == "strength" else score(found * shrink[:, None])
