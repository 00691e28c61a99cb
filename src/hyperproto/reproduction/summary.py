"""From records to numbers: mean, spread, number of seeds, and a paired test between methods."""

import math
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hyperproto.reproduction.experiment import Entry, Experiment
from hyperproto.reproduction.records import find_record
from hyperproto.reproduction.spec import Spec

__all__ = ["Summary", "differences", "summarise"]

UNTOLD = ("seed", "scale", "options")  # what does not count as a difference from the paper


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
    p_value : float or None
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


def summarise(experiment: Experiment, scale: str, results: Path) -> list[Summary]:
    """Read the records of every entry and seed; what is not done is left out."""
    seeds = experiment.seeds(scale)
    found = [_read(entry, seeds, results, experiment.name) for entry in experiment.entries(scale)]
    return [_tested(summary, found, experiment.compare) for summary in found]


def differences(experiment: Experiment, scale: str) -> list[str]:
    """Say for each data set what a scale changes of the paper's protocol."""
    full = {(entry.row, entry.column): entry.spec for entry in experiment.entries("full")}
    found: dict[str, dict[str, str]] = {}
    for entry in experiment.entries(scale):
        paper = full.get((entry.row, entry.column))
        if paper is not None and scale != "full":
            found.setdefault(entry.spec.data, {}).update(_changes(entry.spec, paper))
    shown = {data: ", ".join(held.values()) for data, held in found.items() if held}
    return [f"{data}: {text}" for data, text in shown.items()]


def _changes(spec: Spec, paper: Spec) -> dict[str, str]:
    made = {}
    for field in fields(Spec):
        ours, theirs = getattr(spec, field.name), getattr(paper, field.name)
        if ours != theirs and field.name not in UNTOLD:
            told = "" if theirs is None or theirs == () else f" (paper: {theirs})"
            made[field.name] = f"{field.name.replace('_', ' ')} {_text(ours)}{told}"
    return made


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{name}={held}" for name, held in value) or "none"
    return "all" if value is None else str(value)


def _read(entry: Entry, seeds: Sequence[int], results: Path, name: str) -> Summary:
    cells = entry.cells(seeds)
    records = {seed: find_record(results, spec, name) for seed, spec in cells.items()}
    held = {seed: record for seed, record in records.items() if record is not None}
    factor = 100 if entry.percent else 1
    values = {
        seed: factor * float(record["measures"][entry.measure])
        for seed, record in held.items()
        if record["state"] == "done" and record["measures"].get(entry.measure) is not None
    }
    return Summary(entry, values, held, tuple(cells))


def _tested(summary: Summary, every: Sequence[Summary], compare: Sequence[str]) -> Summary:
    """Add the test against the row that stands for comparison in this column."""
    entry = summary.entry
    for other in every:
        held = other.entry
        if held.row in compare and (held.column, held.measure) == (entry.column, entry.measure) and held != entry:
            return Summary(
                entry, summary.values, summary.records, summary.seeds, held.row, _paired(summary.values, other.values)
            )
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
