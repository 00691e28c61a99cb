"""An experiment's numbers laid out as the paper's table: rows, columns, ours beside the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperproto.reproduction.experiment import Experiment, Printed
from hyperproto.reproduction.summary import Summary, differences

__all__ = ["Grid", "best_rows", "make_grid", "ours", "paired_lines", "papers", "what_ours_is"]


@dataclass(frozen=True)
class Grid:
    """What every form of a report prints.

    Attributes
    ----------
    columns, rows : tuple of str
        In the order of the entries.
    cells : dict
        The summary of a row and column; a place may be empty.
    remarks : tuple of str
        What differs from the paper, what is not done, tests, and notes.
    """

    experiment: Experiment
    scale: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: dict[tuple[str, str], Summary]
    remarks: tuple[str, ...]

    def is_past(self, row: str) -> bool:
        """Whether a row goes past the paper."""
        return any(held.entry.past for (name, _), held in self.cells.items() if name == row)


def make_grid(experiment: Experiment, scale: str, summaries: Sequence[Summary]) -> Grid:
    """Lay out the summaries of an experiment."""
    cells = {(held.entry.row, held.entry.column): held for held in summaries}
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    columns = _column_order(rows, cells)
    remarks = (
        *_unfinished(summaries),
        *_changed(experiment, scale),
        *paired_lines(experiment, summaries),
        *experiment.notes,
    )
    return Grid(experiment, scale, columns, rows, cells, remarks)


def _column_order(rows: Sequence[str], cells: dict[tuple[str, str], Summary]) -> tuple[str, ...]:
    """Return the columns in the order of the fullest row: one that leaves some out would put its own first."""
    held = [[column for name, column in cells if name == row] for row in rows]
    return tuple(dict.fromkeys(column for columns in sorted(held, key=len, reverse=True) for column in columns))


def ours(summary: Summary, decimals: int) -> str:
    """Return our mean, spread and number of seeds in text.

    The number of seeds is told where it is not all, and so is what diverged.
    """
    if summary.mean is None:
        return f"diverged ({summary.diverged})" if summary.diverged else "not run"
    spread = "" if summary.std is None else f" ± {summary.std:.{decimals}f}"
    short = (
        "" if len(summary.values) == len(summary.seeds) else f" [{len(summary.values)} of {len(summary.seeds)} seeds]"
    )
    return f"{summary.mean:.{decimals}f}{spread}{short}"


def papers(printed: Printed | None, decimals: int) -> str:
    """Return what the paper prints, with as many decimals as it has: never more than two."""
    if printed is None:
        return ""
    digits = min(decimals, 2)
    spread = "" if printed.std is None else f" ± {printed.std:.{digits}f}"
    return f"{printed.mean:.{digits}f}{spread}"


def best_rows(grid: Grid, column: str) -> set[str]:
    """Return the rows with the best mean of a column, one for each measure."""
    best: dict[str, tuple[float, str]] = {}
    for row in grid.rows:
        held = grid.cells.get((row, column))
        if held is None or held.mean is None:
            continue
        value = -held.mean if held.entry.smaller_is_better else held.mean
        if held.entry.measure not in best or value > best[held.entry.measure][0]:
            best[held.entry.measure] = (value, row)
    return {row for _, row in best.values()}


def what_ours_is(grid: Grid) -> str:
    """Say what stands in a place: over how many seeds a mean is, unless nothing is trained; fewer are told there."""
    over = f", mean ± standard deviation over {len(grid.experiment.seeds(grid.scale))} seeds"
    return f"Ours{over if grid.experiment.trained else ''}"


def paired_lines(experiment: Experiment, summaries: Sequence[Summary]) -> list[str]:
    """Say what the paired tests found, a line for each row."""
    lines: dict[tuple[str, str], list[str]] = {}
    for held in summaries:
        if held.p_value is not None:
            lines.setdefault((held.entry.row, held.against), []).append(
                f"{held.entry.column}: p = {held.p_value:.2g}"
            )
    return [
        f'Paired t-test over seeds, "{row}" against "{against}": {"; ".join(found)}.'
        for (row, against), found in lines.items()
    ]


def _changed(experiment: Experiment, scale: str) -> list[str]:
    """Say what is not as in the paper: data, network, epochs, and the number of seeds."""
    lines = [f"Scale {scale}, not the paper's protocol. {line}." for line in differences(experiment, scale)]
    asked, paper = len(experiment.seeds(scale)), len(experiment.seeds("full"))
    return lines + ([f"{asked} seeds (paper: {paper})."] if asked != paper else [])


def _unfinished(summaries: Sequence[Summary]) -> list[str]:
    """Count runs, each once: several places may show one."""
    asked = {
        held.entry.spec.with_seed(seed).address: seed in held.records for held in summaries for seed in held.seeds
    }
    lacking = list(asked.values()).count(False)
    return [f"{lacking} of {len(asked)} runs behind these numbers are not done."] if lacking else []
