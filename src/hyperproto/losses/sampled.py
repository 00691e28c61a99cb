"""Cosine softmax over few of many classes: a step costs the same at a hundred classes and at a million."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from hyperproto._core.checks import check_finite_number, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto.codes import row_blocks
from hyperproto.losses.cosine import ClassLoss
from hyperproto.losses.softmax import simplex_scale
from hyperproto.sphere import normalize, working_dtype

# Up to EXACT classes the list of neighbors has the nearest. Beyond, the work would grow with the square of their
# number, so the prototypes are halved by random planes until CELL or fewer lie together, and the nearest within a
# cell are taken: near ones, in a time that grows little faster than the number of classes.
EXACT = 2**15
CELL = 2**10
ROWS = 2**8

# by the tensor itself, and gone with it: a loss is a plain value without state
_MADE: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


@dataclass(frozen=True)
class SampledCosineSoftmax(ClassLoss):
    r"""Cross-entropy over scaled cosines to the classes of the batch and some others, for all that there are.

    .. math:: \ell_i = -\log \frac{e^{s \cos\theta_{i,y_i}}}{\sum_{k \in B \cup N} w_{ik} e^{s \cos\theta_{i,k}}}

    with B the distinct classes of the batch and N the others. All rows share both, so that the cost is one small
    matrix product whatever the number of classes. The weights w let the few stand for all, so that the sum estimates
    the full one of :class:`CosineSoftmax`; a row's own class has weight 1.

    Parameters
    ----------
    scale : float, optional
        s (default: that of :class:`CosineSoftmax` for the number of classes).
    negatives : int, default 0
        How many others: for "random" in all, for "hardest" to each class of the batch; 0 for "batch".
    kind : {"batch", "random", "hardest"}, default "batch"
        "batch" has no others; the batch's classes share the weight of all classes. "random" draws others anew every
        step from torch's generator; they share the weight of the classes that are not in the batch. "hardest" takes
        the nearest prototypes of each class of the batch, weight 1 each, from a list made once for as long as the
        tensor of prototypes lives; the batch's classes share the weight of the rest. Beyond 2^15 classes the list
        holds near ones, not always the nearest.

    Examples
    --------
    >>> z, prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> SampledCosineSoftmax(scale=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1 + 2/e)
    tensor([0.5514, 0.5514])
    """

    scale: float | None = None
    negatives: int = 0
    kind: Literal["batch", "random", "hardest"] = "batch"

    name = "sampled_cosine_softmax"

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_finite_number(self.scale, "scale", above=0)
        choose(self.kind, {"batch": 0, "random": 0, "hardest": 0}, what="kind of negatives")
        check_integer(self.negatives, "negatives", at_least=0 if self.kind == "batch" else 1)
        if self.kind == "batch" and self.negatives:
            raise InputError(
                "negatives", 'be 0 with kind="batch"', self.negatives, 'Choose kind="random" or kind="hardest".'
            )

    def cosine_scale(self, num_classes: int) -> float:
        """Return the scale, or the one that fits the number of classes."""
        return simplex_scale(num_classes) if self.scale is None else float(self.scale)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        batch, place = torch.unique(labels, return_inverse=True)
        others = self._others(batch, prototypes)
        rows = prototypes.index_select(0, torch.cat([batch, others])).to(wide.dtype)  # (|B| + |N|, dim)
        weights = self._log_weights(len(batch), len(others), len(prototypes), rows)
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.cosine_scale(len(prototypes)) * normalize(wide)) @ rows.mT
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
            drawn = neighbor_list(prototypes, self.negatives)[batch].flatten().long()
        elif self.negatives >= len(prototypes):
            drawn = torch.arange(len(prototypes), device=batch.device)
        else:  # on the CPU: the same classes on every device, and a stored run holds the state of that generator
            drawn = torch.randint(len(prototypes), (self.negatives,)).to(batch.device)
        distinct: Tensor = torch.unique(drawn)
        there = torch.searchsorted(batch, distinct).clamp_max(len(batch) - 1)  # both are sorted; isin takes longer
        return distinct[batch[there] != distinct]


def neighbor_list(prototypes: Tensor, m: int) -> Tensor:
    """Return the ids of the m nearest other prototypes of each, made once for as long as the tensor lives.

    Parameters
    ----------
    prototypes : Tensor, shape (num_classes, dim)
        Unit rows.
    m : int
        At least 1.

    Returns
    -------
    Tensor of int32, shape (num_classes, min(m, num_classes - 1))
        Nearest first. Of more than ``EXACT`` classes m is at most the number of others in a cell.
    """
    cached = _MADE.get(prototypes)  # type: ignore[no-untyped-call]
    if cached is None or cached[:2] != (m, prototypes._version):
        cached = (m, prototypes._version, _make(prototypes.detach(), m))
        _MADE[prototypes] = cached
    neighbors: Tensor = cached[2]
    return neighbors


def _make(prototypes: Tensor, m: int) -> Tensor:
    everyone = torch.arange(len(prototypes), device=prototypes.device)
    cells = [everyone] if len(prototypes) <= EXACT else _halve(prototypes, everyone)
    m = min(m, *(len(cell) - 1 for cell in cells))
    found = torch.empty(len(prototypes), m, dtype=torch.int32, device=prototypes.device)
    for cell in cells:
        found[cell] = cell[_nearest(prototypes if len(cells) == 1 else prototypes[cell], m)].int()
    return found


def _nearest(rows: Tensor, m: int) -> Tensor:
    """Return the m nearest others of each row, shape (n, m), some rows at a time. Equals come in any order."""
    rows, found = rows.to(working_dtype(rows.dtype)), []
    for block in row_blocks(len(rows), 1, entries=ROWS):
        cosines = rows[block] @ rows.mT
        cosines.diagonal(block.start).fill_(-torch.inf)  # not itself
        found.append(cosines.topk(m, dim=1).indices)
    return torch.cat(found)


def _halve(prototypes: Tensor, everyone: Tensor) -> list[Tensor]:
    """Return cells of at most ``CELL`` ids, equal in size but for one, cut by planes halfway along random lines."""
    generator = torch.Generator().manual_seed(0)  # its own: the list depends on the prototypes alone
    cells = [everyone]
    while len(cells[0]) > CELL:
        halves = []
        for cell in cells:
            line = torch.randn(prototypes.shape[1], generator=generator).to(prototypes)
            order = cell[(prototypes[cell] @ line).argsort(stable=True)]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        cells = halves
    return cells
