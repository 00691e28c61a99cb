"""What the records of an experiment say: mean, spread and verdict, laid out as the paper's table."""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from hyperproto.reproduction.cell import TUNED, Cell, find_record
from hyperproto.reproduction.experiment import Entry, Experiment, Printed
from hyperproto.reproduction.rates import loss_of

# what does not count as a difference from the paper
SAME = ("scale", "seed", "options", "lr", "placement_seed", "draw")
MARGIN = 1.5  # points of accuracy that a verdict needs, trained from scratch
JUDGED = ("full", *TUNED)  # scales: two seeds of a few thousand images carry no verdict


@dataclass(frozen=True)
class Summary:
    """What the records say about one entry, in the units in which it is printed.

    Attributes
    ----------
    values : dict of float
        The measure by seed; shares times 100. Seeds that diverged are not among them.
    records : dict
        The record by seed.
    seeds : tuple of int
        Those asked for.
    against, gaps : str, dict of float
        How much better it is than row ``against`` in the same column, for each seed that both have.
    """

    entry: Entry
    values: dict[int, float]
    records: dict[int, dict[str, Any]]
    seeds: tuple[int, ...]
    against: str = ""
    gaps: dict[int, float] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """The mean over seeds; None where none is done."""
        return statistics.fmean(self.values.values()) if self.values else None

    @property
    def std(self) -> float | None:
        """The sample standard deviation; None with fewer than two seeds."""
        return statistics.stdev(self.values.values()) if len(self.values) > 1 else None

    @property
    def error(self) -> float | None:
        """What stands behind ±: the spread over seeds; of an accuracy whose rate was searched over images too."""
        if self.std is None or self.mean is None or self.entry.cell.scale not in TUNED or not self.entry.percent:
            return self.std
        return math.hypot(self.std, self._image_error)

    @property
    def _image_error(self) -> float:
        """The standard error of an accuracy that comes from the number of test images."""
        images = next(iter(self.records.values()))["protocol"]["test"]
        return math.sqrt(cast(float, self.mean) * (100 - cast(float, self.mean)) / images)

    @property
    def difference(self) -> float | None:
        """How much better it is than ``against`` on average."""
        return statistics.fmean(self.gaps.values()) if self.gaps else None

    @property
    def verdict(self) -> str:
        """Whether it is better or worse than ``against``: where every seed says so, by more than 1.5 points.

        Of heads on frozen features, by more than three standard errors, over seeds and test images.
        """
        whole = len(self.gaps) == len(self.seeds) > 1
        if not whole or not self.entry.percent or self.entry.cell.scale not in JUDGED:
            return ""
        gap = statistics.fmean(self.gaps.values())
        agree = len({value > 0 for value in self.gaps.values()}) == 1
        least = MARGIN
        if self.entry.cell.scale == "head":
            spread = statistics.stdev(self.gaps.values()) / math.sqrt(len(self.gaps))
            least = 3 * math.hypot(spread, self._image_error)
        return ("better" if gap > 0 else "worse") if agree and abs(gap) > least else "cannot be told"

    @property
    def diverged(self) -> int:
        """How many seeds ended in a loss that is not finite."""
        return sum(record["state"] == "diverged" for record in self.records.values())


def summarize(experiment: Experiment, scale: str, results: Path) -> list[Summary]:
    """Read the records of every entry and seed; what is not done is left out."""
    seeds = experiment.seeds(scale)
    found = [_read(entry, seeds, results, experiment.name) for entry in experiment.tuned_entries(scale, results)]
    return [_compared(summary, found, experiment.compare) for summary in found]


def _read(entry: Entry, seeds: Sequence[int], results: Path, name: str) -> Summary:
    cells = entry.cells(seeds)
    found = {seed: find_record(results, cell, name) for seed, cell in cells.items()}
    records = {seed: record for seed, record in found.items() if record is not None}
    factor = 100 if entry.percent else 1
    values = {
        seed: factor * float(record["measures"][entry.measure])
        for seed, record in records.items()
        if record["state"] == "done" and record["measures"].get(entry.measure) is not None
    }
    return Summary(entry, values, records, tuple(cells))


def _compared(summary: Summary, every: Sequence[Summary], compare: Sequence[str]) -> Summary:
    """Add how much better it is than the row that is compared with in this column."""
    entry = summary.entry
    for other in every:
        row = other.entry
        if row.row in compare and (row.column, row.measure) == (entry.column, entry.measure) and row != entry:
            sign = -1 if entry.smaller_is_better else 1
            both = sorted(summary.values.keys() & other.values.keys())
            gaps = {seed: sign * (summary.values[seed] - other.values[seed]) for seed in both}
            return replace(summary, against=row.row, gaps=gaps)
    return summary


def differences(experiment: Experiment, scale: str) -> list[str]:
    """Say for each data set what a scale changes of the paper's protocol."""
    full = {(entry.row, entry.column): entry.cell for entry in experiment.entries("full")}
    found: dict[str, dict[str, str]] = {}
    for entry in experiment.entries(scale):
        paper = full.get((entry.row, entry.column))
        if paper is not None and scale != "full":
            found.setdefault(entry.cell.run.data.reader, {}).update(_changes(entry.cell, paper))
    return [f"{data}: {', '.join(changes.values())}" for data, changes in found.items() if changes]


def _changes(cell: Cell, paper: Cell) -> dict[str, str]:
    made = {}
    for (name, ours), theirs in zip(cell.values.items(), paper.values.values(), strict=True):
        if ours != theirs and name not in SAME:
            printed = "" if theirs in (None, (), {}) else f" (paper: {theirs})"
            made[name] = f"{name.replace('_', ' ')} {_text(ours)}{printed}"
    return made


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

    def is_past(self, row: str) -> bool:
        """Whether a row goes past the paper."""
        return any(summary.entry.past for (name, _), summary in self.cells.items() if name == row)

    @property
    def caption(self) -> str:
        """What a number is: over how many seeds a mean is, unless nothing is trained."""
        images = " and test images" if self.scale in TUNED else ""
        over = f", mean ± standard deviation over {len(self.experiment.seeds(self.scale))} seeds{images}"
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


def make_grid(experiment: Experiment, scale: str, results: Path) -> Grid:
    """Read the records of an experiment and lay out what they say."""
    summaries = summarize(experiment, scale, results)
    cells = {(summary.entry.row, summary.entry.column): summary for summary in summaries}
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    # in the order of the fullest row: one that leaves some out would put its own first
    by_row = sorted(([column for name, column in cells if name == row] for row in rows), key=len, reverse=True)
    columns = tuple(dict.fromkeys(column for row in by_row for column in row))
    notes = (
        *_unfinished(summaries),
        *_changed(experiment, scale),
        *_rates(summaries),
        *_verdicts(summaries),
        *experiment.notes,
    )
    return Grid(experiment, scale, columns, rows, cells, notes)


def ours(summary: Summary, decimals: int) -> str:
    """Return our mean, spread, and the number of seeds where it is not all; or that all diverged or none was run."""
    if summary.mean is None:
        return f"diverged ({summary.diverged})" if summary.diverged else "not run"
    spread = "" if summary.error is None else f" ± {summary.error:.{decimals}f}"
    done, asked = len(summary.values), len(summary.seeds)
    return f"{summary.mean:.{decimals}f}{spread}" + ("" if done == asked else f" [{done} of {asked} seeds]")


def _papers(printed: Printed | None, decimals: int) -> str:
    """Return what the paper prints, with as many decimals as it has: never more than two."""
    if printed is None:
        return ""
    digits = min(decimals, 2)
    return f"{printed.mean:.{digits}f}" + ("" if printed.std is None else f" ± {printed.std:.{digits}f}")


def _verdicts(summaries: Sequence[Summary]) -> list[str]:
    """Say where a row is better or worse than the one it is compared with, or that it cannot be told."""
    lines: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        if summary.verdict:
            found = lines.setdefault((summary.entry.row, summary.against), [])
            found.append(f"{summary.entry.column}: {summary.verdict} ({summary.difference:+.1f})")
    return [f'"{row}" against "{against}": {"; ".join(found)}.' for (row, against), found in lines.items()]


def _changed(experiment: Experiment, scale: str) -> list[str]:
    """Say what is not as in the paper: data, network, epochs, and the number of seeds."""
    lines = [f"Scale {scale}, not the paper's protocol. {line}." for line in differences(experiment, scale)]
    if scale not in JUDGED and experiment.compare:
        lines.append("Nothing is concluded at this scale: differences between rows are descriptions.")
    asked, paper = len(experiment.seeds(scale)), len(experiment.seeds("full"))
    return lines + ([f"{asked} seeds (paper: {paper})."] if asked != paper else [])


def _rates(summaries: Sequence[Summary]) -> list[str]:
    """Say which learning rates were found by the search."""
    cells = [summary.entry.cell for summary in summaries if summary.entry.cell.scale in TUNED]
    tuned = [cell for cell in cells if cell.job == "train" and cell.run.data.valid_examples is None]
    found = {
        (loss_of(cell), cell.run.space.dim if cell.scale == "head" else None, cell.run.train.lr) for cell in tuned
    }
    texts = sorted(f"{loss} {lr:g}" + (f" (D = {dim})" if dim else "") for loss, dim, lr in found if lr is not None)
    return [f"Learning rates, the best on held-out images (past-rates): {', '.join(texts)}."] if texts else []


def _unfinished(summaries: Sequence[Summary]) -> list[str]:
    """Count runs, each once: several places may show one."""
    asked = {
        summary.entry.cell.with_seed(seed).address: seed in summary.records
        for summary in summaries
        for seed in summary.seeds
    }
    lacking = list(asked.values()).count(False)
    return [f"{lacking} of {len(asked)} runs behind these numbers are not done."] if lacking else []
