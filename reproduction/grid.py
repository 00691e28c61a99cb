"""What the records of an experiment say: mean, spread and verdict, laid out as
the paper's table.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.cell import TUNED, Cell
from reproduction.experiment import Experiment, Printed
from reproduction.rates import loss_of, trials
from reproduction.summaries import ERRORS, JUDGED, LEVEL, MARGIN, Comparison, Summary, summarize

# what does not count as a difference from the paper
RULE = (
    f"Verdicts: better or worse where the interval in brackets, {LEVEL:.0%} over seeds and test images in pairs, leaves "
    f"out 0. Without what became of each image there is no interval, and all seeds must agree by more than {MARGIN} "
    f"points of accuracy, of heads and of errors by more than {ERRORS} standard errors."
)
SAME = ("scale", "seed", "options", "lr", "placement_seed", "draw", "head")


def differences(experiment: Experiment, scale: str) -> list[str]:
    """Say for each data set what a scale changes of the paper's protocol."""
    full = {(entry.row, entry.column): entry.cell for entry in experiment.entries("full")}
    by_data: dict[str, dict[str, str]] = {}
    for entry in experiment.entries(scale):
        paper = full.get((entry.row, entry.column))
        if paper is not None and scale != "full":
            by_data.setdefault(entry.cell.run.data.reader, {}).update(_changes(entry.cell, paper))
    return [
        f"{data}: {', '.join(changes.values())}" for data, changes in by_data.items() if changes
    ]


def _changes(cell: Cell, paper: Cell) -> dict[str, str]:
    changes = {}
    for (name, ours), theirs in zip(cell.values.items(), paper.values.values(), strict=True):
        if ours != theirs and name not in SAME:
            printed = "" if theirs in (None, (), {}) else f" (paper: {theirs})"
            most = "at most " if name.endswith("_examples") and ours is not None else ""
            changes[name] = f"{name.replace('_', ' ')} {most}{_text(ours)}{printed}"
    return changes


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={option}" for name, option in value.items()) or "none"
    return "all" if value is None else str(value)


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

    def is_beyond(self, row: str) -> bool:
        """Whether a row goes beyond the paper."""
        return any(summary.entry.beyond for (name, _), summary in self.cells.items() if name == row)

    @property
    def caption(self) -> str:
        """What a number is: over how many seeds a mean is, where there are several."""
        images = " and of its test images" if self.scale in TUNED else ""
        seeds = len(self.experiment.seeds(self.scale))
        spread = f", mean of {seeds} seeds ± the standard deviation of one run, of seeds{images}"
        return "Ours" + (spread if seeds > 1 else "")

    def lines(self) -> Iterator[tuple[str, list[Shown]]]:
        """Yield each row with what it shows in every column."""
        best = {column: self._best_rows(column) for column in self.columns}
        decimals = self.experiment.decimals
        for row in self.rows:
            line = dict.fromkeys(self.columns, Shown())
            for column in self.columns:
                if (summary := self.cells.get((row, column))) is not None:
                    paper = _papers(summary.entry.paper, decimals)
                    line[column] = Shown(ours(summary, decimals), paper, row in best[column])
            yield row, list(line.values())

    def _best_rows(self, column: str) -> set[str]:
        """Return the rows with the best mean of a column, for each measure; all of them where means
        are equal.
        """
        goodness: dict[str, dict[str, float]] = {}  # by measure and row
        for row in self.rows:
            summary = self.cells.get((row, column))
            if summary is not None and summary.mean is not None:
                goodness.setdefault(summary.entry.measure, {})[row] = (
                    summary.entry.sign * summary.mean
                )
        return {
            row
            for rows in goodness.values()
            for row, good in rows.items()
            if good == max(rows.values())
        }


def make_grid(experiment: Experiment, scale: str, results: Path) -> Grid:
    """Read the records of an experiment and lay out what they say."""
    summaries = summarize(experiment, scale, results)
    cells = {(summary.entry.row, summary.entry.column): summary for summary in summaries}
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    # in the order of the fullest row: one that leaves some out would put its own first
    by_row = sorted(
        ([column for name, column in cells if name == row] for row in rows), key=len, reverse=True
    )
    columns = tuple(dict.fromkeys(column for row in by_row for column in row))
    notes = (
        *_unfinished(summaries),
        *_changed(experiment, scale),
        *_sizes(summaries),
        *_rates(summaries),
        *_agreements(summaries),
        *_verdicts(summaries),
        *experiment.notes,
    )
    return Grid(experiment, scale, columns, rows, cells, notes)


def ours(summary: Summary, decimals: int) -> str:
    """Return our mean, spread, and the number of seeds where it is not all; or that all diverged or
    none was run.
    """
    if summary.mean is None:
        return f"diverged ({summary.diverged})" if summary.diverged else "not run"
    spread = "" if summary.error is None else f" ± {summary.error:.{decimals}f}"
    done, asked = len(summary.values), len(summary.seeds)
    return f"{summary.mean:.{decimals}f}{spread}" + (
        "" if done == asked else f" [{done} of {asked} seeds]"
    )


def _papers(printed: Printed | None, decimals: int) -> str:
    """Return what the paper prints, with as many decimals as it has: never more than two."""
    if printed is None:
        return ""
    digits = min(decimals, 2)
    return f"{printed.mean:.{digits}f}" + (
        "" if printed.std is None else f" ± {printed.std:.{digits}f}"
    )


def _verdicts(summaries: Sequence[Summary]) -> list[str]:
    """Say where a row is better or worse than the one it is compared with, or that neither is
    shown.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        for comparison in summary.comparisons:
            if comparison.verdict:
                texts = lines.setdefault((summary.entry.row, comparison.against.entry.row), [])
                texts.append(f"{summary.entry.column}: {told(comparison)}")
    rows = [
        f'"{row}" against "{against}": {"; ".join(texts)}.'
        for (row, against), texts in lines.items()
    ]
    return rows + ([RULE] if rows else [])


def told(comparison: Comparison) -> str:
    """Return a verdict with the difference, and its interval where there is one."""
    gap, interval = comparison.difference, comparison.interval
    between = "" if interval is None else f"; {interval[0]:+.1f} to {interval[1]:+.1f}"
    return f"{comparison.verdict} ({gap:+.1f}{between})"


def _changed(experiment: Experiment, scale: str) -> list[str]:
    """Say what is not as in the paper: data, network, epochs, and the number of seeds."""
    lines = [
        f"Scale {scale}, not the paper's protocol. {line}."
        for line in differences(experiment, scale)
    ]
    if scale not in JUDGED and experiment.compare:
        lines.append(
            "Nothing is concluded at this scale: differences between rows are descriptions."
        )
    asked, paper = len(experiment.seeds(scale)), len(experiment.seeds("full"))
    return lines + ([f"{asked} seeds (paper: {paper})."] if asked != paper else [])


def _sizes(summaries: Sequence[Summary]) -> list[str]:
    """Say how many images the records are of."""
    sizes = {
        (
            record["cell"]["run"]["data"]["reader"],
            record["protocol"]["train"],
            record["protocol"]["test"],
        )
        for summary in summaries
        for record in summary.records.values()
        if {"train", "test"} <= record.get("protocol", {}).keys()
    }
    texts = [f"{reader} {train:,} and {test:,}" for reader, train, test in sorted(sizes)]
    return (
        [f"Images that networks were trained and measured on: {'; '.join(texts)}."] if texts else []
    )


def _rates(summaries: Sequence[Summary]) -> list[str]:
    """Say which learning rates were found by the search."""
    cells = [summary.entry.cell for summary in summaries if summary.entry.cell.scale in TUNED]
    tuned = [cell for cell in cells if cell.job == "train" and cell.run.data.valid_examples is None]
    texts = sorted({_rate(cell) for cell in tuned if cell.run.train.lr is not None})
    about = "Learning rates, the best on held-out images (beyond-rates); with a star, the largest or smallest tried"
    return [f"{about}: {', '.join(texts)}."] if texts else []


def _rate(cell: Cell) -> str:
    """Return loss, rate and dimensions; of a head these decide."""
    lr, tried = cell.run.train.lr, [trial.run.train.lr or 0.0 for trial in trials(cell)]
    star = "*" if lr in (min(tried), max(tried)) else ""
    dim = f" (D = {cell.run.space.dim})" if cell.scale == "head" and cell.run.space.dim else ""
    return f"{loss_of(cell)} {lr:g}{star}{dim}"


def _agreements(summaries: Sequence[Summary]) -> list[str]:
    """Say how much prototypes agree with their prior, where records know."""
    texts = []
    for summary in summaries:
        made = [record["protocol"].get("prototypes") for record in summary.records.values()]
        found = [one["spearman"] for one in made if one and "spearman" in one]
        if found:
            place = f"{summary.entry.row}, {summary.entry.column}"
            texts.append(f"{place} {statistics.fmean(found):.2f}")
    about = "Agreement of prototypes with their prior (Spearman, mean of the seeds)"
    return [f"{about}: {'; '.join(texts)}."] if texts else []


def _unfinished(summaries: Sequence[Summary]) -> list[str]:
    """Count runs, each once: several places may show one."""
    asked = {
        summary.entry.cell.with_seed(seed).address: seed in summary.records
        for summary in summaries
        for seed in summary.seeds
    }
    lacking = list(asked.values()).count(False)
    return [f"{lacking} of {len(asked)} runs behind these numbers are not done."] if lacking else []
