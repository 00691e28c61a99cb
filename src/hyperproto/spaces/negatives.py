"""Cosine softmax over few of many classes: a step costs the same at a hundred classes and at a million."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.spaces.neighbours import neighbour_list
from hyperproto.sphere import normalize, working_dtype

__all__ = ["SampledCosineSoftmax"]


@dataclass(frozen=True)
class SampledCosineSoftmax:
    r"""Cross-entropy over scaled cosines to the classes of the batch and some others, for all that there are.

    .. math:: \ell_i = -\log \frac{e^{s \cos\theta_{i,y_i}}}{\sum_{k \in B \cup N} w_{ik} e^{s \cos\theta_{i,k}}}

    with B the distinct classes of the batch and N the others. All rows share both, so that the cost is one small
    matrix product whatever the number of classes. The weights w let the few stand for all, so that the sum estimates
    the full one of :class:`~hyperproto.spaces.losses.CosineSoftmax`; a row's own class has weight 1.

    Parameters
    ----------
    scale : float, default 16.0
        s.
    negatives : int, default 0
        How many others: for "random" in all, for "hardest" to each class of the batch; 0 for "batch".
    kind : {"batch", "random", "hardest"}, default "batch"
        "batch" has no others; the batch's classes share the weight of all classes. "random" draws others anew every
        step from torch's generator; they share the weight of the classes that are not in the batch. "hardest" takes
        the nearest prototypes of each class of the batch, weight 1 each, from a list made once for as long as the
        tensor of prototypes lives; the batch's classes share the weight of the rest. Beyond 2^15 classes the list
        holds near ones, not always the nearest (:mod:`hyperproto.spaces.neighbours`).

    Examples
    --------
    >>> z, prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> SampledCosineSoftmax(scale=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1 + 2/e)
    tensor([0.5514, 0.5514])
    """

    scale: float = 16.0
    negatives: int = 0
    kind: Literal["batch", "random", "hardest"] = "batch"

    name = "sampled_cosine_softmax"

    def __post_init__(self) -> None:
        check_finite_number(self.scale, "scale", above=0)
        choose(self.kind, {"batch": 0, "random": 0, "hardest": 0}, what="kind of negatives")
        check_integer(self.negatives, "negatives", at_least=0 if self.kind == "batch" else 1)
        if self.kind == "batch" and self.negatives:
            raise InputError(
                f'`negatives` must be 0 with kind "batch", which has none besides the classes of the batch; '
                f'got {self.negatives}. Give kind="random" or kind="hardest".'
            )

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        batch, place = torch.unique(labels, return_inverse=True)
        others = self._others(batch, prototypes)
        rows = prototypes.index_select(0, torch.cat([batch, others])).to(wide.dtype)  # (|B| + |N|, dim)
        weights = self._log_weights(len(batch), len(others), len(prototypes), rows)
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.scale * normalize(wide)) @ rows.mT
            logits = logits + weights.repeat(len(z), 1).scatter_(1, place.unsqueeze(1), 0)
            return torch.nn.functional.cross_entropy(logits, place, reduction="none")

    def _log_weights(self, in_batch: int, others: int, num_classes: int, like: Tensor) -> Tensor:
        """Return the logarithm of w for a row of another class, shape (in_batch + others,)."""
        weights = like.new_zeros(in_batch + others)
        if self.kind == "random":
            weights[in_batch:] = math.log((num_classes - in_batch) / others) if others else 0.0
        elif in_batch > 1:
            weights[:in_batch] = math.log((num_classes - 1 - others) / (in_batch - 1))
        return weights

    def _others(self, batch: Tensor, prototypes: Tensor) -> Tensor:
        """Return the distinct classes to add to those of the batch, by their ids."""
        if self.kind == "batch":
            return batch[:0]
        if self.kind == "hardest":
            drawn = neighbour_list(prototypes, self.negatives)[batch].flatten().long()
        elif self.negatives >= len(prototypes):
            drawn = torch.arange(len(prototypes), device=batch.device)
        else:  # on the CPU: the same classes on every device, and a stored run holds the state of that generator
            drawn = torch.randint(len(prototypes), (self.negatives,)).to(batch.device)
        distinct: Tensor = torch.unique(drawn)
        there = torch.searchsorted(batch, distinct).clamp_max(len(batch) - 1)  # both are sorted; isin takes longer
        return distinct[batch[there] != distinct]
