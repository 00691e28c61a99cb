"""An experiment's numbers laid out as the paper's table, ours next to the paper's; in the terminal, too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hyperproto.reproduction.experiment import Experiment, Printed
from hyperproto.reproduction.records import Summary, differences

__all__ = ["Grid", "make_grid", "ours", "print_grid"]


class Shown(NamedTuple):
    """One place of the table as text; empty where it has no entry."""

    ours: str = ""
    paper: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class Grid:
    """What every form of a report prints.

    Attributes
    ----------
    columns, rows : tuple of str
        In the order of the entries.
    cells : dict
        The summary of a row and column; a place may be empty.
    notes : tuple of str
        What differs from the paper, what is not done, tests, and the experiment's own.
    """

    experiment: Experiment
    scale: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: dict[tuple[str, str], Summary]
    notes: tuple[str, ...]

    def is_past(self, row: str) -> bool:
        """Whether a row goes past the paper."""
        return any(summary.entry.past for (name, _), summary in self.cells.items() if name == row)

    @property
    def caption(self) -> str:
        """What a number is: over how many seeds a mean is, unless nothing is trained."""
        over = f", mean ± standard deviation over {len(self.experiment.seeds(self.scale))} seeds"
        return f"Ours{over if self.experiment.trained else ''}"

    def lines(self) -> Iterator[tuple[str, list[Shown]]]:
        """Yield each row with what it shows in every column."""
        best = {column: self._best_rows(column) for column in self.columns}
        decimals = self.experiment.decimals
        for row in self.rows:
            line = []
            for column in self.columns:
                summary = self.cells.get((row, column))
                if summary is None:
                    line.append(Shown())
                else:
                    paper = _papers(summary.entry.paper, decimals)
                    line.append(Shown(ours(summary, decimals), paper, row in best[column]))
            yield row, line

    def _best_rows(self, column: str) -> set[str]:
        """Return the rows with the best mean of a column, one for each measure."""
        best: dict[str, tuple[float, str]] = {}
        for row in self.rows:
            summary = self.cells.get((row, column))
            if summary is None or summary.mean is None:
                continue
            value = -summary.mean if summary.entry.smaller_is_better else summary.mean
            if summary.entry.measure not in best or value > best[summary.entry.measure][0]:
                best[summary.entry.measure] = (value, row)
        return {row for _, row in best.values()}


def make_grid(experiment: Experiment, scale: str, summaries: Sequence[Summary]) -> Grid:
    """Lay out the summaries of an experiment."""
    cells = {(summary.entry.row, summary.entry.column): summary for summary in summaries}
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    # in the order of the fullest row: one that leaves some out would put its own first
    by_row = sorted(([column for name, column in cells if name == row] for row in rows), key=len, reverse=True)
    columns = tuple(dict.fromkeys(column for row in by_row for column in row))
    notes = (*_unfinished(summaries), *_changed(experiment, scale), *_tests(summaries), *experiment.notes)
    return Grid(experiment, scale, columns, rows, cells, notes)


def ours(summary: Summary, decimals: int) -> str:
    """Return our mean, spread, and the number of seeds where it is not all; or that all diverged or none was run."""
    if summary.mean is None:
        return f"diverged ({summary.diverged})" if summary.diverged else "not run"
    spread = "" if summary.std is None else f" ± {summary.std:.{decimals}f}"
    done, asked = len(summary.values), len(summary.seeds)
    return f"{summary.mean:.{decimals}f}{spread}" + ("" if done == asked else f" [{done} of {asked} seeds]")


def _papers(printed: Printed | None, decimals: int) -> str:
    """Return what the paper prints, with as many decimals as it has: never more than two."""
    if printed is None:
        return ""
    digits = min(decimals, 2)
    return f"{printed.mean:.{digits}f}" + ("" if printed.std is None else f" ± {printed.std:.{digits}f}")


def _tests(summaries: Sequence[Summary]) -> list[str]:
    """Say what the paired tests found, a line for each row."""
    lines: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        if summary.p_value is not None:
            found = lines.setdefault((summary.entry.row, summary.against), [])
            found.append(f"{summary.entry.column}: p = {summary.p_value:.2g}")
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
        summary.entry.cell.but(seed=seed).address: seed in summary.records
        for summary in summaries
        for seed in summary.seeds
    }
    lacking = list(asked.values()).count(False)
    return [f"{lacking} of {len(asked)} runs behind these numbers are not done."] if lacking else []


def print_grid(grid: Grid, console: Any) -> None:
    """Print ours, and below it what the paper has; the best of ours in a column is bold."""
    from rich.markup import escape
    from rich.table import Table

    caption = f"\n{grid.caption}" if grid.experiment.trained else ""
    table = Table(title=escape(grid.experiment.title + caption), show_lines=True)
    table.add_column("ours; the paper's below")
    for column in grid.columns:
        table.add_column(escape(column), justify="right")
    for row, line in grid.lines():
        cells = []
        for shown in line:
            text = f"[bold]{escape(shown.ours)}[/bold]" if shown.is_best else escape(shown.ours)
            cells.append(f"{text}\n[dim]{shown.paper}[/dim]" if shown.paper else text)
        table.add_row(escape(row) + ("\n[dim]past the paper[/dim]" if grid.is_past(row) else ""), *cells)
    console.print(table)
    for note in grid.notes:
        console.print(escape(note), soft_wrap=True, highlight=False)
