"""Which prototypes lie near which: a list made once, in blocks, never a cosine for every pair in memory.

Up to ``EXACT`` classes the list holds the nearest. Beyond that the work would grow with the square of their number,
so the prototypes are first halved by random planes until ``CELL`` or fewer lie together, and the nearest within a
cell are taken: near ones, in a time that grows little faster than the number of classes.
"""

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from hyperproto.sphere import working_dtype

__all__ = ["neighbour_list"]

EXACT = 2**15
CELL = 2**10
ROWS = 2**8

# by the tensor itself, and gone with it: a loss is a plain value and holds nothing
_MADE: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def neighbour_list(prototypes: Tensor, m: int) -> Tensor:
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
    held = _MADE.get(prototypes)  # type: ignore[no-untyped-call]
    if held is None or held[:2] != (m, prototypes._version):
        held = (m, prototypes._version, _make(prototypes.detach(), m))
        _MADE[prototypes] = held
    made: Tensor = held[2]
    return made


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
    for start in range(0, len(rows), ROWS):
        cosines = rows[start : start + ROWS] @ rows.mT
        cosines.diagonal(start).fill_(-torch.inf)  # not itself
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
