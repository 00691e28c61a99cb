"""Who is near whom: the nearest classes by the prior and by the placement, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from hyperproto._core.errors import InputError
from hyperproto.report.named_vectors import named_vectors
from hyperproto.report.nearest import Ids, Nearest, nearest, nearest_placed

__all__ = ["Neighbour", "NeighbourRow", "NeighbourTable", "compare_neighbours"]


class Neighbour(NamedTuple):
    """A class near another, and how near: the prior's similarity, or the cosine of the placement."""

    name: str
    value: float


@dataclass(frozen=True)
class NeighbourRow:
    """One class with its nearest.

    Attributes
    ----------
    name : str
        The class.
    prior : tuple of Neighbour, or None
        Its nearest by the prior; None where the prior does not know it, or there is none.
    placement : tuple of Neighbour
        Its nearest by the cosine of the prototypes.
    tied : bool
        Whether other classes are placed as near as the last of ``placement``, to three digits.
    """

    name: str
    prior: tuple[Neighbour, ...] | None
    placement: tuple[Neighbour, ...]
    tied: bool = False

    @property
    def shared(self) -> frozenset[str]:
        """The names on both sides."""
        return frozenset(n.name for n in self.prior or ()) & frozenset(n.name for n in self.placement)


@dataclass(frozen=True)
class NeighbourTable:
    """Nearest classes of some or all classes, out of ``num_classes``, ``k`` on each side."""

    rows: tuple[NeighbourRow, ...]
    k: int
    num_classes: int

    @property
    def overlap(self) -> float | None:
        """Mean share of the prior's nearest that are among the placement's; None without a prior."""
        shares = [len(row.shared) / len(row.prior) for row in self.rows if row.prior]
        return float(np.mean(shares)) if shares else None

    @property
    def chance(self) -> float:
        """The overlap that a placement which ignores the prior has on average."""
        return self.k / (self.num_classes - 1)


def compare_neighbours(
    prototypes: Any,
    similarity: Any = None,
    *,
    names: Sequence[str] | None = None,
    known: Any = None,
    classes: Sequence[str] | None = None,
    k: int = 5,
) -> NeighbourTable:
    """Return the nearest classes by the prior and by the placement.

    Parameters
    ----------
    prototypes : Prototypes, or array of shape (K, D)
        What was placed: unit rows.
    similarity : array, shape (K, K), optional
        The prior, larger being nearer; its diagonal is not looked at.
    names : sequence of str, optional
        One name a class; the prototypes' own by default, or their numbers.
    known : array of bool, shape (K,), optional
        Classes the prior knows; all by default.
    classes : sequence of str, optional
        Names to answer for; all by default.
    k : int, default 5
        How many neighbours on each side.
    """
    vectors, names = named_vectors(prototypes, names)
    known = np.ones(len(names), dtype=bool) if known is None else np.asarray(known, dtype=bool)
    if similarity is not None and np.shape(similarity) != (len(names),) * 2:
        raise InputError(f"`similarity` must have shape ({len(names)}, {len(names)}); got {np.shape(similarity)}.")
    if known.shape != (len(names),):
        raise InputError(f"`known` must have shape ({len(names)},), one claim a class; got {known.shape}.")
    ids = np.arange(len(names)) if classes is None else _ids_of(classes, names)
    placed = nearest_placed(vectors, k, classes=ids)
    prior: dict[int, tuple[Neighbour, ...]] = {}
    if similarity is not None and known.sum() > 1:
        asked = ids[known[ids]]
        found = nearest(similarity, k, classes=asked, known=known)
        prior = {int(i): _named(found, row, names) for row, i in enumerate(asked)}
    rows = [
        NeighbourRow(names[i], prior.get(int(i)), _named(placed, row, names), bool(placed.tied[row]))
        for row, i in enumerate(ids)
    ]
    return NeighbourTable(tuple(rows), placed.ids.shape[1], len(names))


def _ids_of(classes: Sequence[str], names: tuple[str, ...]) -> Ids:
    place = {name: i for i, name in enumerate(names)}
    for name in classes:
        if name not in place:
            near = get_close_matches(str(name), names, n=1, cutoff=0.5)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise InputError(f'`classes` must be among the {len(names)} class names; got "{name}".{hint}')
    return np.array([place[name] for name in classes], dtype=np.int64)


def _named(found: Nearest, row: int, names: tuple[str, ...]) -> tuple[Neighbour, ...]:
    return tuple(Neighbour(names[i], float(v)) for i, v in zip(found.ids[row], found.values[row], strict=True))
