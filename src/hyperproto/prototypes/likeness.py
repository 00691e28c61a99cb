"""Where a trained network would send a class it has never seen, judged by which old classes it is like.

Its outputs lie within the span of the old prototypes: training asked for nothing else. So a point for a new class
that is to be predicted without any training has to lie there too, however much room there is elsewhere.
"""

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto.priors import as_prior
from hyperproto.prototypes.prototypes import Prototypes
from hyperproto.sphere import normalize

__all__ = ["points_by_likeness"]

# a standard deviation of likeness makes an old class e times as heavy. Sharper weights reach more examples of a new
# class and take more from the old ones, milder weights less of both; chosen on held-out training digits
SHARPNESS = 1.0


def points_by_likeness(old: Prototypes, names: tuple[str, ...] | None, count: int, prior: object) -> Tensor:
    r"""Return a point for each new class: the mean of the old prototypes, weighed by likeness.

    .. math:: p_{\text{new}} \propto \sum_k \text{softmax}_k(s_k) \, p_k

    with the similarities s to the old classes, less their mean and over their standard deviation.

    Parameters
    ----------
    old : Prototypes
    names : tuple of str, or None
        Of the old classes and then the new.
    count : int
        How many are new.
    prior : object
        Over old and new classes, as :func:`hyperproto.place` takes it.

    Returns
    -------
    Tensor, shape (count, dim)
        Unit rows, float64.
    """
    held = as_prior(prior, names, old.num_classes + count)
    likeness = torch.from_numpy(held.similarity[old.num_classes :, : old.num_classes])
    spread = likeness.std(dim=1, correction=0, keepdim=True)
    flat = (spread.flatten() <= 1e-12).nonzero().flatten()
    if len(flat):
        raise InputError(
            "The prior must say which old classes a new one is like; to it, all are equally like new class "
            f"{int(flat[0])} ({len(flat)} of {count})."
        )
    weights = torch.softmax(SHARPNESS * (likeness - likeness.mean(dim=1, keepdim=True)) / spread, dim=1)
    return normalize(weights @ old.vectors.cpu().double())
