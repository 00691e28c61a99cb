"""The nearest classes by the prior and by the placement, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_integer, names_or_numbers, nearest_name
from hyperproto._core.errors import InputError
from hyperproto.codes.measure import row_blocks
from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

DIGITS = 9  # similarities that agree to here are listed in the order of the classes
TIED = 5e-4  # and to here, they read the same in a table
SHARED = "bold green"


class Neighbor(NamedTuple):
    """A class near another, and how near: the prior's similarity, or the cosine of the placement."""

    name: str
    value: float


@dataclass(frozen=True)
class NeighborRow:
    """One class with its nearest.

    Attributes
    ----------
    name : str
        The class.
    prior : tuple of Neighbor, or None
        Its nearest by the prior; None where the prior does not know it, or there is none.
    placement : tuple of Neighbor
        Its nearest by the cosine of the prototypes.
    tied : bool
        Whether other classes are placed as near as the last of ``placement``, to three digits.
    """

    name: str
    prior: tuple[Neighbor, ...] | None
    placement: tuple[Neighbor, ...]
    tied: bool = False

    @property
    def shared(self) -> frozenset[str]:
        """The names on both sides."""
        return frozenset(n.name for n in self.prior or ()) & frozenset(n.name for n in self.placement)


@dataclass(frozen=True)
class NeighborTable:
    """Nearest classes of some or all classes, out of ``num_classes``, ``k`` on each side."""

    rows: tuple[NeighborRow, ...]
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


def compare_neighbors(
    prototypes: Prototypes, prior: Prior | None = None, *, classes: Sequence[str] | None = None, k: int = 5
) -> NeighborTable:
    """Return the nearest classes by the prior and by the placement.

    Parameters
    ----------
    prototypes : Prototypes
        What was placed; classes without names are called by their numbers.
    prior : Prior, optional
        What is known about the same classes in the same order.
    classes : sequence of str, optional
        Names of the classes to list (default: all).
    k : int, default 5
        How many neighbors on each side.
    """
    names, vectors = names_or_numbers(prototypes.names, prototypes.num_classes), prototypes.vectors.numpy(force=True)
    count, k = len(names), check_integer(k, "k", at_least=1)
    if prior is not None and prior.num_classes != count:
        raise InputError("prior", f"be for the {count} classes that were placed", f"one for {prior.num_classes}")
    places = {name: i for i, name in enumerate(names)}
    for name in classes or ():
        if name not in places:
            advice = nearest_name(name, names)
            raise InputError("classes", f"be among the {count} class names", f'"{name}"', advice)
    ids = np.arange(count) if classes is None else np.array([places[name] for name in classes], dtype=np.int64)
    in_prior = 0 if prior is None else int(prior.known.sum()) - 1  # neighbors that a class can have there
    rows = []
    for block in row_blocks(len(ids), count):
        own = ids[block]
        placed, cosines, tied = nearest(vectors[own] @ vectors.T, own, min(k, count - 1))
        by_prior: list[tuple[Neighbor, ...] | None] = [None] * len(own)
        if prior is not None and in_prior > 0:
            near = nearest(np.where(prior.known, prior.similarity[own], -np.inf), own, min(k, in_prior))
            by_prior = [
                _named(names, *pair) if prior.known[i] else None for i, *pair in zip(own, *near[:2], strict=True)
            ]
        rows += [
            NeighborRow(names[i], by_prior[j], _named(names, placed[j], cosines[j]), bool(tied[j]))
            for j, i in enumerate(own)
        ]
    return NeighborTable(tuple(rows), min(k, count - 1), count)


def nearest(similarity: Array, own: Ids, k: int) -> tuple[Ids, Array, NDArray[np.bool_]]:
    """Return the ``k`` largest of each row (n, K) but its own class (n,): ids and values (n, k), the largest first.

    Equals are in the order of the classes. The last, of shape (n,), tells where a class that is not listed is as near
    as the last one that is, to three digits.
    """
    values = similarity.astype(np.float64).round(DIGITS)
    values[np.arange(len(own)), own] = -np.inf
    ids = np.argsort(-values, axis=1, kind="stable")[:, :k]
    listed = np.take_along_axis(values, ids, axis=1)
    return ids, listed, (values >= listed[:, -1:] - TIED).sum(axis=1) > k


def _named(names: tuple[str, ...], ids: Ids, values: Array) -> tuple[Neighbor, ...]:
    return tuple(Neighbor(names[i], float(value)) for i, value in zip(ids, values, strict=True))


def print_neighbors(table: NeighborTable, console: "Console | None" = None, *, limit: int = 10) -> None:
    """Print the nearest classes by prior and placement side by side; names on both sides stand out.

    Parameters
    ----------
    table : NeighborTable
        From :func:`compare_neighbors`.
    console : rich Console, optional
        Where to print (default: the terminal).
    limit : int, default 10
        Most rows. How many others there are is printed below the table.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console() if console is None else console
    has_prior = table.overlap is not None
    headings = ["class", "in the prior (similarity)", "in the placement (cosine)", "shared"]
    title = f"The {table.k} nearest classes"
    printed = Table(*(headings if has_prior else headings[::2]), title=title, show_lines=True)
    for row in table.rows[:limit]:
        cells = [Text(row.name), _listed(row.placement, row.shared).append(" *" if row.tied else "")]
        if has_prior and row.prior is None:
            cells = [cells[0], Text("not in the prior", style="dim"), cells[1], Text("–")]
        elif has_prior and row.prior is not None:
            share = Text(f"{len(row.shared)} of {len(row.prior)}")
            cells = [cells[0], _listed(row.prior, row.shared), cells[1], share]
        printed.add_row(*cells)
    console.print(printed)
    if has_prior:
        console.print(overlap_sentence(table), markup=False, highlight=False)
    if any(row.tied for row in table.rows[:limit]):
        console.print("* others are as near as the last one listed, to three digits", highlight=False)
    if len(table.rows) > limit:
        console.print(f"{len(table.rows) - limit} more classes; name the ones to see.", highlight=False)


def overlap_sentence(table: NeighborTable) -> str:
    """Return how much the two sides of the whole table agree, and how much chance would."""
    if table.overlap is None:
        return "There is no prior to compare with."
    counted, k = sum(row.prior is not None for row in table.rows), table.k
    return (
        f"Of the {k} nearest in the prior, {table.overlap:.0%} are among the {k} nearest in the placement "
        f"(mean of {counted} classes; by chance {table.chance:.0%})."
    )


def _listed(neighbors: tuple[Neighbor, ...], shared: frozenset[str]) -> "Text":
    """Return one neighbor per line; shared ones have a tick too, for terminals without color."""
    from rich.text import Text

    text = Text()
    width = max(len(n.name) for n in neighbors)
    for index, (name, value) in enumerate(neighbors):
        text.append("\n" if index else "")
        both = name in shared
        text.append(f"{name:<{width}} {value:6.3f}{' ✓' if both else ''}", style=SHARED if both else "")
    return text
