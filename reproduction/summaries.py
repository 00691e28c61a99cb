"""What the records say about each entry of a table: mean, spread, and whether it is better than
another, in pairs of equal seeds and equal test images.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reproduction.cell import TUNED
from reproduction.experiment import Entry, Experiment
from reproduction.records import find_outcomes, find_record

LEVEL = 0.95  # of intervals
MARGIN = 1.5  # points of accuracy that a verdict without an interval needs, trained from scratch
ERRORS = 3  # standard errors that it needs of heads, and of errors
JUDGED = ("full", *TUNED)  # scales: two seeds of a few thousand images carry no verdict
INCONCLUSIVE = "inconclusive"
Outcomes = NDArray[np.bool_] | NDArray[np.floating[Any]]


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
    scale : str
        Of the table; a cell may have been made for another.
    constant : float, optional
        What the constant answer has in the same column.
    comparisons : tuple of Comparison
        With each row that its table compares with.
    outcomes : dict of array
        Of each test image by seed: whether it was right, or its error; empty where not stored.
    """

    entry: Entry
    values: dict[int, float]
    records: dict[int, dict[str, Any]]
    seeds: tuple[int, ...]
    scale: str
    constant: float | None = None
    comparisons: tuple["Comparison", ...] = ()
    outcomes: dict[int, Outcomes] = field(default_factory=dict)

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
        """What stands behind ±: the spread over seeds, and where the rate was searched over test
        images too.
        """
        if self.std is None or self.entry.cell.scale not in TUNED:
            return self.std
        return math.hypot(self.std, self.image_error or 0.0)

    @property
    def image_error(self) -> float | None:
        """The standard error that comes from the number of test images; None where records do not
        tell.
        """
        if self.mean is None:
            return None
        record = self.records[min(self.values)]
        spread = record["measures"].get(f"{self.entry.measure}_std")
        if self.entry.percent:
            spread = math.sqrt(self.mean * (100 - self.mean))
        images = record["protocol"].get(
            self.entry.measure.partition("/")[0], record["protocol"].get("test")
        )
        return None if spread is None or images is None else float(spread) / math.sqrt(images)

    @property
    def beats_constant(self) -> bool:
        """Whether every seed is better than the constant answer, where the table has one."""
        sign, constant = self.entry.sign, self.constant
        return constant is None or all(
            sign * (value - constant) > 0 for value in self.values.values()
        )

    @property
    def diverged(self) -> int:
        """How many seeds ended in a loss that is not finite."""
        return sum(record["state"] == "diverged" for record in self.records.values())


@dataclass(frozen=True)
class Comparison:
    """An entry next to another one of its column and measure.

    Attributes
    ----------
    against : Summary
        The other one.
    gaps : dict of float
        How much better the entry is, for each seed that both have.
    interval : tuple of float, optional
        Of the mean of the gaps, by :func:`paired_interval`; None where what became of each test
        image was not stored.
    verdict : str
        "better" or "worse" where the interval leaves out 0. Without one: where all seeds say so, by
        more than 1.5 points of accuracy; of heads on frozen features, and of errors, by more than
        three standard errors, over seeds and test images. Else "inconclusive"; or that neither
        beats the constant answer. Empty where seeds are lacking, where records do not know how
        errors vary, and at scales that carry no verdict.
    """

    against: Summary
    gaps: dict[int, float]
    interval: tuple[float, float] | None
    verdict: str

    @property
    def difference(self) -> float | None:
        """How much better it is on average."""
        return statistics.fmean(self.gaps.values()) if self.gaps else None


def compare(summary: Summary, other: Summary) -> Comparison:
    """Compare two entries, seed by seed and image by image."""
    both = sorted(summary.values.keys() & other.values.keys())
    gaps = {seed: summary.entry.sign * (summary.values[seed] - other.values[seed]) for seed in both}
    interval = _interval(summary, other, both)
    return Comparison(other, gaps, interval, _verdict(summary, other, gaps, interval))


def _interval(summary: Summary, other: Summary, seeds: Sequence[int]) -> tuple[float, float] | None:
    """Return the interval of the difference; None with one seed or where outcomes are lacking."""
    pairs = [(summary.outcomes.get(seed), other.outcomes.get(seed)) for seed in seeds]
    there = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    if len(there) < max(2, len(pairs)) or len({len(one) for pair in there for one in pair}) > 1:
        return None
    unit = 100 if summary.entry.percent else 1
    rows = [
        summary.entry.sign * unit * (ours.astype(np.float64) - theirs) for ours, theirs in there
    ]
    return paired_interval(np.stack(rows))


def paired_interval(gaps: NDArray[np.float64]) -> tuple[float, float]:
    r"""Return the 95 % interval of the mean of paired differences, shape (seeds, images).

    Seeds and test images are both drawn by chance, so that the variance of the mean is

    .. math:: \frac{\sigma_s^2}{S} + \frac{\sigma_i^2}{N} + \frac{\sigma_e^2}{S N}

    by the variances over seeds, over images, and of what is left. The interval is Student's, with
    the degrees of freedom of Satterthwaite: a bootstrap over five seeds would be too narrow.

    >>> low, high = paired_interval(np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]))
    >>> round(low, 2), round(high, 2)
    (-0.29, 1.29)
    """
    seeds, images = gaps.shape
    mean = float(gaps.mean())
    by_seed, by_image = gaps.mean(axis=1), gaps.mean(axis=0)
    rest = gaps - by_seed[:, None] - by_image + mean
    shared = float(np.square(rest).sum()) / ((seeds - 1) * (images - 1) * seeds * images)
    parts = float(by_seed.var(ddof=1)) / seeds, float(by_image.var(ddof=1)) / images
    variance = max(*parts, sum(parts) - shared)  # each part has the rest in it
    if variance == 0:
        return mean, mean
    freedom = variance**2 / (parts[0] ** 2 / (seeds - 1) + parts[1] ** 2 / (images - 1))
    width = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(variance)
    return mean - width, mean + width


def _verdict(
    summary: Summary,
    other: Summary,
    gaps: Mapping[int, float],
    interval: tuple[float, float] | None,
) -> str:
    by_errors = summary.entry.cell.scale == "head" or not summary.entry.percent
    images = summary.image_error
    if (
        summary.scale not in JUDGED
        or not len(gaps) == len(summary.seeds) > 1
        or (by_errors and images is None and interval is None)
    ):
        return ""
    gap = statistics.fmean(gaps.values())
    if not (summary if gap > 0 else other).beats_constant:
        return "neither beats the constant answer"
    if interval is not None:
        shown = interval[0] > 0 or interval[1] < 0
    else:
        least = MARGIN
        if by_errors:
            seeds = statistics.stdev(gaps.values()) / math.sqrt(len(gaps))
            least = ERRORS * math.hypot(seeds, images or 0.0)
        shown = len({value > 0 for value in gaps.values()}) == 1 and abs(gap) > least
    return ("better" if gap > 0 else "worse") if shown else INCONCLUSIVE


def summarize(experiment: Experiment, scale: str, results: Path) -> list[Summary]:
    """Read the records of every entry and seed; what is not done is left out."""
    seeds = experiment.seeds(scale)
    summaries = [
        _read(entry, seeds, results, experiment, scale)
        for entry in experiment.tuned_entries(scale, results)
    ]
    constants = {
        _place(each.entry): each.mean for each in summaries if each.entry.cell.job == "constant"
    }
    summaries = [replace(each, constant=constants.get(_place(each.entry))) for each in summaries]
    rivals = [each for each in summaries if each.entry.row in experiment.compare]
    for index, each in enumerate(summaries):
        others = [
            o
            for o in rivals
            if o.entry.row != each.entry.row and _place(o.entry) == _place(each.entry)
        ]
        summaries[index] = replace(
            each, comparisons=tuple(compare(each, other) for other in others)
        )
    return summaries


def _place(entry: Entry) -> tuple[str, str]:
    return entry.column, entry.measure


def _read(
    entry: Entry, seeds: Sequence[int], results: Path, experiment: Experiment, scale: str
) -> Summary:
    cells = entry.cells(seeds)
    by_seed = {seed: find_record(results, cell, experiment.name) for seed, cell in cells.items()}
    records = {seed: record for seed, record in by_seed.items() if record is not None}
    factor = 100 if entry.percent else 1
    values = {
        seed: factor * float(record["measures"][entry.measure])
        for seed, record in records.items()
        if record["state"] == "done" and record["measures"].get(entry.measure) is not None
    }
    found = {seed: find_outcomes(results, records[seed]["address"]) for seed in values}
    outcomes = {seed: one[entry.measure] for seed, one in found.items() if entry.measure in one}
    return Summary(entry, values, records, tuple(cells), scale, outcomes=outcomes)
