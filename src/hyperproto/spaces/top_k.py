"""The k nearest of many prototypes, exactly, block by block: never a score for every pair in memory.

Of every ``WIDTH`` scores in a row only the largest is compared with the k-th best so far. Only where it is better are
single scores compared, which after the first few blocks is almost nowhere, so that the matrix product is nearly all
there is to do: for 100 of 300,000 classes it takes two thirds of the time of comparing every score. Scores have a row
for each prototype, as the largest of 64 rows takes less time than that of 64 numbers in a row, and a block of them
is read again before it leaves the cache.
"""

from typing import NamedTuple

import torch
from torch import Tensor

ROWS = 256  # outputs at a time
SCORES = 2**18  # scores at a time: 1 MB in float32
LARGEST_BLOCK = 2**15  # prototypes at a time, for few outputs; of more numbers torch wakes other threads
ONE_ROW = 2**20  # for one output, whose product is NumPy's: between two of them torch's threads would be in its way
FIRST_BLOCK = 2**8  # sorted whole, for a first k-th best
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
    >>> nearest_prototypes(torch.tensor([[0.6, 0.8]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), 2)
    TopK(values=tensor([[0.8000, 0.8000]]), ids=tensor([[1, 2]]))
    """
    with torch.no_grad(), torch.autocast(z_unit.device.type, enabled=False):
        found = [_search(rows, prototypes, k) for rows in torch.split(z_unit, ROWS)]
    return TopK(torch.cat([part.values for part in found]), torch.cat([part.ids for part in found]))


def _search(z: Tensor, prototypes: Tensor, k: int) -> TopK:
    """Return the k nearest of at most ``ROWS`` outputs."""
    start, size = max(FIRST_BLOCK, k), min(LARGEST_BLOCK, SCORES // max(1, len(z)) or 1)
    if len(z) == 1 and prototypes.dtype == z.dtype:  # nothing is copied
        size = ONE_ROW
    values, order = _cosines(z, prototypes[:start]).mT.clamp_max(1).sort(dim=1, descending=True, stable=True)
    best = TopK(values[:, :k].contiguous(), order[:, :k].contiguous())
    for block in torch.split(prototypes[start:], size):
        _improve(best, _cosines(z, block), start)
        start += len(block)
    return TopK(best.values.clamp_min_(-1), best.ids)


def _cosines(z: Tensor, block: Tensor) -> Tensor:
    """Return the cosines of all pairs, which rounding may leave a little beyond 1. Shape (len(block), n)."""
    block = block.to(z.dtype)
    if len(z) == 1 and z.device.type == "cpu":  # NumPy's matrix times vector takes half the time of torch's
        return torch.from_numpy(block.numpy() @ z[0].numpy()).unsqueeze(1)
    return block @ z.mT


def _improve(best: TopK, scores: Tensor, start: int) -> None:
    """Take in, in place, the scores of the prototypes from ``start`` on. An equal of the k-th best comes too late."""
    bar = best.values[:, -1:]
    if len(scores) % WIDTH:
        scores = torch.nn.functional.pad(scores, (0, 0, 0, -len(scores) % WIDTH), value=-torch.inf)
    groups = scores.view(len(scores) // WIDTH, WIDTH, scores.shape[1])
    row, group = (groups.amax(dim=1).mT.clamp_max(1) > bar).nonzero(as_tuple=True)
    if not len(row):
        return
    values = groups[group, :, row].clamp_max(1)
    which, column = (values > bar[row]).nonzero(as_tuple=True)  # by row, then by id
    _merge(best, row[which], values[which, column], start + group[which] * WIDTH + column)


def _merge(best: TopK, row: Tensor, values: Tensor, ids: Tensor) -> None:
    """Sort candidates, given by row and then by id, in among the best of their rows."""
    k = best.values.shape[1]
    rows, place, counts = torch.unique_consecutive(row, return_inverse=True, return_counts=True)
    rank = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[place] + k
    wide = (len(rows), k + int(counts.max()))
    all_values, all_ids = values.new_full(wide, -torch.inf), ids.new_zeros(wide)
    all_values[:, :k], all_ids[:, :k] = best.values[rows], best.ids[rows]
    all_values[place, rank], all_ids[place, rank] = values, ids
    order = all_values.sort(dim=1, descending=True, stable=True)  # stable: the lowest id first among equals
    best.values[rows] = order.values[:, :k]
    best.ids[rows] = all_ids.gather(1, order.indices[:, :k])
