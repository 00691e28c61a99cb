"""The k nearest of many prototypes, exactly, block by block: never a score for every pair in
memory.

Of every ``WIDTH`` scores in a row only the largest is compared with the k-th best so far. Only
where it is better are single scores compared, and they are sorted in among the best only when as
many prototypes were seen again as before, so that the matrix product is nearly all there is to do.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

ROWS = 256  # outputs at a time
SCORES = 2**19  # scores at a time: 2 MB in float32
LARGEST_BLOCK = (
    2**15
)  # prototypes at a time, for few outputs; of more numbers torch wakes other threads
ONE_ROW = (
    2**20
    # for one output, whose product is NumPy's: between two of them torch's threads would be in its
    # way
)
WIDTH = 64


class TopK(NamedTuple):
    """The k best classes of each output, best first; equals by their ids.

    Attributes
    ----------
    values : Tensor, shape (n, k)
        Cosines.
    ids : Tensor of int64, shape (n, k)
    """

    values: Tensor
    ids: Tensor


def nearest_prototypes(z_unit: Tensor, prototypes: Tensor, k: int) -> TopK:
    """Return the k nearest prototypes of each output, and their cosines.

    Parameters
    ----------
    z_unit : Tensor, shape (n, dim)
        Unit rows.
    prototypes : Tensor, shape (num_classes, dim)
        Unit rows; cast to the precision of ``z_unit`` a block at a time.
    k : int
        At least 1, at most num_classes.

    Examples
    --------
    >>> prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> nearest_prototypes(torch.tensor([[0.6, 0.8]]), prototypes, 2)
    TopK(values=tensor([[0.8000, 0.8000]]), ids=tensor([[1, 2]]))
    """
    with torch.no_grad(), torch.autocast(z_unit.device.type, enabled=False):
        found = [_search(rows, prototypes, k) for rows in torch.split(z_unit, ROWS)]
    return TopK(torch.cat([part.values for part in found]), torch.cat([part.ids for part in found]))


def _search(z: Tensor, prototypes: Tensor, k: int) -> TopK:
    """Return the k nearest of at most ``ROWS`` outputs."""
    size = min(LARGEST_BLOCK, SCORES // max(1, len(z)) or 1)
    if len(z) == 1 and prototypes.dtype == z.dtype:  # nothing is copied
        size = ONE_ROW
    ids = torch.zeros(len(z), k, dtype=torch.int64, device=z.device)
    best = TopK(torch.full_like(ids, -torch.inf, dtype=z.dtype), ids)
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    seen = merged = waiting = 0
    for block in torch.split(prototypes, size):
        found.append(_better(best, _cosines(z, block), seen, sharpen=len(block) >= seen))
        seen, waiting = seen + len(block), waiting + len(found[-1][0])
        if seen >= 2 * merged or waiting > SCORES:
            best, found, merged, waiting = _merge(best, found), [], seen, 0
    best = _merge(best, found)
    return TopK(best.values.clamp_min_(-1), best.ids)


def _cosines(z: Tensor, block: Tensor) -> Tensor:
    """Return the cosines of all pairs, which rounding may leave a little beyond 1. Shape
    (len(block), n).

    The long side comes first: on two threads torch's products then take two thirds of the time.
    """
    block, threads = block.to(z.dtype), torch.get_num_threads()
    if z.device.type != "cpu" or (threads > 1 and len(z) > 1):
        return block @ z.mT
    if threads == len(z) == 1:  # NumPy's products take less time than torch's, for one output half
        return torch.from_numpy(np.einsum("kd,nd->kn", block.numpy(), z.numpy()))
    return torch.from_numpy(block.numpy() @ z.numpy().T)


def _better(
    best: TopK, scores: Tensor, start: int, *, sharpen: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return row, value and id of the scores, shape (len(block), n), that may be among the best, by
    row, then by id.

    They are above the k-th best of their row so far, whose equals come too late; to ``sharpen``
    that bar, at no less than the k-th largest of the largest scores of groups, too, as k scores
    are.
    """
    k, bar = best.values.shape[1], best.values[:, -1:]
    if len(scores) % WIDTH:
        scores = torch.nn.functional.pad(scores, (0, 0, 0, -len(scores) % WIDTH), value=-torch.inf)
    groups = scores.view(len(scores) // WIDTH, WIDTH, scores.shape[1])
    largest = groups.amax(dim=1).clamp_max(1).mT
    if sharpen and largest.shape[1] >= k:
        kth = largest.topk(k, dim=1).values[:, -1:]
        bar = bar.maximum(kth.nextafter(torch.full_like(kth, -torch.inf)))
    row, group = (largest > bar).nonzero(as_tuple=True)
    values = groups[group, :, row].clamp_max(1)
    which, column = (values > bar[row]).nonzero(as_tuple=True)
    return row[which], values[which, column], start + group[which] * WIDTH + column


def _merge(best: TopK, found: list[tuple[Tensor, Tensor, Tensor]]) -> TopK:
    """Return the k best of each row among those so far and those found since, whose ids are all
    higher.
    """
    n, k = best.values.shape
    row = torch.arange(n, device=best.ids.device).repeat_interleave(k)
    so_far = row, best.values.flatten(), best.ids.flatten()
    row, values, ids = (torch.cat(parts) for parts in zip(so_far, *found, strict=True))
    order = values.sort(
        descending=True, stable=True
    ).indices  # stable: the lowest id first among equals
    order = order[row[order].sort(stable=True).indices]
    counts = row.bincount(minlength=n)
    chosen = order[(counts.cumsum(0) - counts)[:, None] + torch.arange(k, device=row.device)]
    return TopK(values[chosen], ids[chosen])
