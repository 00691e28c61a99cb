"""A finished cell as a small JSON file, and from the records of all seeds to mean, spread and a paired test."""

import math
import platform
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import scipy
import torch

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json, write_json
from hyperproto._version import __version__
from hyperproto.reproduction.cell import Cell
from hyperproto.reproduction.experiment import Entry, Experiment

__all__ = ["FORMAT", "Summary", "differences", "find_record", "summarize", "versions", "write_record"]

FORMAT = "hyperproto.cell/2"
SAME = ("scale", "seed", "options")  # what does not count as a difference from the paper


def versions() -> dict[str, str]:
    """Return what computed a record."""
    return {
        "hyperproto": __version__,
        "torch": torch.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def write_record(results: Path, name: str, record: dict[str, Any]) -> None:
    """Write ``results/cells/NAME/ADDRESS.json``."""
    path = results / "cells" / name / f"{record['address']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, record)


def find_record(results: Path, cell: Cell, name: str = "*") -> dict[str, Any] | None:
    """Return the record of a cell, of its own table or of another one that has the same cell; None if not done."""
    found = sorted((results / "cells").glob(f"*/{cell.address}.json"), key=lambda path: path.parent.name != name)
    if not found:
        return None
    record = read_json(found[0])
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(
            f'"{found[0]}"', f"be a record of format {FORMAT}", advice="results/convert_cells.py converts."
        )
    if Cell.from_dict(record["cell"]).address != cell.address:
        raise InputError(f'"{found[0]}"', "be the record of the cell that its name says", advice="Remove it.")
    return record


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
    against, p_value : str, float or None
        Of a two-sided t-test against the same column of row ``against``, in pairs of equal seeds.
    """

    entry: Entry
    values: dict[int, float]
    records: dict[int, dict[str, Any]]
    seeds: tuple[int, ...]
    against: str = ""
    p_value: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean over seeds; None where none is done."""
        return statistics.fmean(self.values.values()) if self.values else None

    @property
    def std(self) -> float | None:
        """The sample standard deviation; None with fewer than two seeds."""
        return statistics.stdev(self.values.values()) if len(self.values) > 1 else None

    @property
    def diverged(self) -> int:
        """How many seeds ended in a loss that is not finite."""
        return sum(record["state"] == "diverged" for record in self.records.values())


def summarize(experiment: Experiment, scale: str, results: Path) -> list[Summary]:
    """Read the records of every entry and seed; what is not done is left out."""
    seeds = experiment.seeds(scale)
    found = [_read(entry, seeds, results, experiment.name) for entry in experiment.entries(scale)]
    return [_tested(summary, found, experiment.compare) for summary in found]


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


def _tested(summary: Summary, every: Sequence[Summary], compare: Sequence[str]) -> Summary:
    """Add the test against the row that is compared with in this column."""
    entry = summary.entry
    for other in every:
        row = other.entry
        if row.row in compare and (row.column, row.measure) == (entry.column, entry.measure) and row != entry:
            return replace(summary, against=row.row, p_value=_paired(summary.values, other.values))
    return summary


def _paired(ours: dict[int, float], theirs: dict[int, float]) -> float | None:
    """Return the p-value over the seeds that both have; None where there are fewer than two, or nothing varies."""
    from scipy.stats import ttest_rel

    seeds = sorted(ours.keys() & theirs.keys())
    gaps = [ours[seed] - theirs[seed] for seed in seeds]
    if len(seeds) < 2 or max(gaps) - min(gaps) <= 1e-12 * max(map(abs, gaps), default=0):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nearly equal gaps lose digits of a p-value near 0
        p_value = float(ttest_rel([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds]).pvalue)
    return p_value if math.isfinite(p_value) else None


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
