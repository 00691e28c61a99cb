"""How unusual an input is, by what the loss learned to say of known ones."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot


def _entropy(logits: Tensor) -> Tensor:
    return -(logits.softmax(dim=1) * logits.log_softmax(dim=1)).sum(dim=1)


def _improbability(logits: Tensor) -> Tensor:
    """1 - the largest probability, as the sum of the others: so it does not round to 0 for whatever
    is certain.
    """
    best = one_hot(logits.argmax(dim=1), logits.shape[1]).bool()
    return logits.softmax(dim=1).masked_fill(best, 0).sum(dim=1)


def _energy(logits: Tensor) -> Tensor:
    return -torch.logsumexp(logits, dim=1)


OUTLIER_SCORES = {"entropy": _entropy, "probability": _improbability, "energy": _energy}
"""By name; each takes logits (n, num_classes) and returns (n,). "strength" is one more."""


def unusual(logits: Tensor, strengths: Tensor, kind: str, longest: float | None) -> Tensor:
    """Return :func:`hyperproto.evaluation.confidence.outlier_score` of checked logits, shape
    (n,).
    """
    if longest is not None:
        shrink = (longest / strengths.clamp(min=longest)).square()
        logits, strengths = logits * shrink.unsqueeze(1), strengths * shrink
    return -strengths if kind == "strength" else OUTLIER_SCORES[kind](logits)
