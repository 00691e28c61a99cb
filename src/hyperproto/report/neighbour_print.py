"""The table of neighbours in the terminal."""

from typing import TYPE_CHECKING

from hyperproto.report.neighbours import Neighbour, NeighbourRow, NeighbourTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["overlap_sentence", "print_neighbours"]

SHARED = "bold green"


def print_neighbours(table: NeighbourTable, console: "Console | None" = None, *, limit: int = 10) -> None:
    """Print the nearest classes by prior and placement side by side; names on both sides stand out.

    Parameters
    ----------
    table : NeighbourTable
        From :func:`~hyperproto.report.neighbours.compare_neighbours`.
    console : rich Console, optional
        Where to print; the terminal by default.
    limit : int, default 10
        Rows at most. Which others there are is said below the table.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console() if console is None else console
    has_prior = any(row.prior for row in table.rows)
    printed = Table(title=f"The {table.k} nearest classes", show_lines=True)
    printed.add_column("class")
    if has_prior:
        printed.add_column("in the prior (similarity)")
    printed.add_column("in the placement (cosine)")
    if has_prior:
        printed.add_column("shared", justify="right")
    for row in table.rows[:limit]:
        printed.add_row(*_cells(row, has_prior=has_prior))
    console.print(printed)
    if has_prior:
        console.print(overlap_sentence(table), markup=False, highlight=False)
    if any(row.tied for row in table.rows[:limit]):
        console.print("* others are as near as the last one listed, to three digits", highlight=False)
    if len(table.rows) > limit:
        console.print(f"{len(table.rows) - limit} more classes; name the ones to see.", highlight=False)


def overlap_sentence(table: NeighbourTable) -> str:
    """Say how much the two sides of the whole table agree, and how much chance would."""
    if table.overlap is None:
        return "There is no prior to compare with."
    counted, k = sum(row.prior is not None for row in table.rows), table.k
    return (
        f"Of the {k} nearest in the prior, {table.overlap:.0%} are among the {k} nearest in the placement "
        f"(mean of {counted} classes; by chance {table.chance:.0%})."
    )


def _cells(row: NeighbourRow, *, has_prior: bool) -> "list[Text | str]":
    from rich.text import Text

    placed = _listed(row.placement, row.shared)
    if row.tied:
        placed.append(" *")
    name = Text(row.name)
    if not has_prior:
        return [name, placed]
    if row.prior is None:
        return [name, Text("not in the prior", style="dim"), placed, "–"]
    return [name, _listed(row.prior, row.shared), placed, f"{len(row.shared)} of {len(row.prior)}"]


def _listed(neighbours: tuple[Neighbour, ...], shared: frozenset[str]) -> "Text":
    """Return one neighbour a line; shared ones carry a tick too, for terminals without colour."""
    from rich.text import Text

    text = Text()
    width = max(len(n.name) for n in neighbours)
    for index, (name, value) in enumerate(neighbours):
        text.append("\n" if index else "")
        both = name in shared
        text.append(f"{name:<{width}} {value:6.3f}{' ✓' if both else ''}", style=SHARED if both else "")
    return text
