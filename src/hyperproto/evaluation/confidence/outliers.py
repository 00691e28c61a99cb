"""How unusual an input is, by what the loss learned to say of known ones."""

import torch

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, arg
from hyperproto.tasks.outliers import OUTLIER_SCORES, unusual


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
    choose(kind, {**OUTLIER_SCORES, "strength": 0}, what="outlier score")
    found = to_numbers(logits, "logits", ndim=2)
    best = found.max(axis=1) if strengths is None else to_numbers(strengths, "strengths", ndim=1)
    if len(best) != len(found):
        rule = f"be {len(found)} numbers, one per row of {arg('logits')}"
        raise InputError("strengths", rule, len(best))
    if longest is not None:
        check_finite_number(longest, "longest", above=0)
    return unusual(torch.from_numpy(found), torch.from_numpy(best), kind, longest).numpy()
