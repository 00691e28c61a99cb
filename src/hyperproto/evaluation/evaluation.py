"""How good a run is: the measures of training, and where they come from."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torch import Tensor

from hyperproto._core.files import plain
from hyperproto.evaluation.confidence.calibration import TaskCalibration
from hyperproto.evaluation.predictions import Answers
from hyperproto.evaluation.sure_reports import (
    IntervalReport,
    SureReport,
    UnknownReport,
    report_intervals,
    report_sureness,
)
from hyperproto.metrics import (
    bias,
    confusion_pairs,
    count_classes,
    error_quantiles,
    share_beyond,
    top_accuracy,
)
from hyperproto.spaces import Classes, Range
from hyperproto.spaces.tasks import Task

__all__ = ["ClassReport", "ClassRow", "Evaluation", "Pair", "RangeReport", "report_task"]

TOP = 5
LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True)
class ClassRow:
    """One class: how many examples it has, the share found, and the share right among those predicted."""

    name: str
    support: int
    recall: float
    precision: float


@dataclass(frozen=True)
class Pair:
    """A mistake: what is true, what was predicted, how often, and the share of the true class that is."""

    label: str
    predicted: str
    count: int
    share: float


@dataclass(frozen=True)
class ClassReport:
    """A class task. ``top_5`` is NaN where there are no more than five classes, or the space gives no scores.

    ``sure`` is what can be said about its probabilities; None where the space gives no scores.
    """

    labels: int
    missing: int
    top_5: float
    mean_class_accuracy: float
    classes: tuple[ClassRow, ...]
    pairs: tuple[Pair, ...]
    sure: SureReport | None = None


@dataclass(frozen=True)
class RangeReport:
    """A range: quantiles of the absolute error, the mean error, and the share of values beyond the bounds.

    ``intervals`` is None where the run is not calibrated.
    """

    labels: int
    missing: int
    low: float
    high: float
    quantiles: dict[str, float]
    bias: float
    beyond: float
    intervals: IntervalReport | None = None


@dataclass(frozen=True)
class Evaluation:
    """What :func:`~hyperproto.evaluation.evaluate_run.evaluate_run` returns.

    Attributes
    ----------
    run, data, split, which : str
        Which run, on what, and with which weights.
    examples : int
    measures : dict of float
        Accuracy and mean absolute error, named and computed as in training.
    tasks : dict of ClassReport or RangeReport
    skipped : tuple of str
        Images that cannot be read and were left out.
    calibrated, fitted_here : bool
        Whether the run is calibrated for these weights, and whether on this very data: then what is said about
        confidence is too good.
    unknown : dict of UnknownReport
        For each class task how well unknown inputs are told apart, where some were given.
    """

    run: str
    data: str
    split: str
    which: str
    examples: int
    measures: dict[str, float]
    tasks: dict[str, ClassReport | RangeReport]
    skipped: tuple[str, ...] = ()
    calibrated: bool = False
    fitted_here: bool = False
    unknown: dict[str, UnknownReport] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: None for what is not a number."""
        held: dict[str, Any] = plain(asdict(self))
        return held


def report_task(
    task: Task, answers: Answers, *, pairs: int = 10, calibration: TaskCalibration | None = None
) -> ClassReport | RangeReport:
    """Look closely at one task's answers; the ``pairs`` most frequent mistakes are kept."""
    assert answers.targets is not None
    if isinstance(task, Range):
        return replace(
            _report_range(task, answers.predicted, answers.targets), intervals=report_intervals(answers, calibration)
        )
    found = _report_classes(task, answers, answers.targets.long(), pairs)
    return replace(found, sure=report_sureness(answers, calibration))


def _report_classes(task: Classes, answers: Answers, labels: Tensor, pairs: int) -> ClassReport:
    task.check(labels, "labels")
    counts = count_classes(answers.predicted, labels, task.num_classes)
    names = [str(index) for index in range(task.num_classes)] if task.names is None else list(task.names)
    support, recall = counts.support.tolist(), counts.recall
    columns = (names, support, recall.tolist(), counts.precision.tolist())
    mistakes = confusion_pairs(answers.predicted, labels, most=pairs)
    known = answers.top is not None and task.num_classes > TOP
    return ClassReport(
        labels=sum(support),
        missing=len(labels) - sum(support),
        top_5=top_accuracy(answers.top[:, :TOP], labels) if known and answers.top is not None else float("nan"),
        mean_class_accuracy=float(recall.nanmean()),
        classes=tuple(ClassRow(*row) for row in zip(*columns, strict=True)),
        pairs=tuple(Pair(names[true], names[wrong], n, n / support[true]) for true, wrong, n in mistakes),
    )


def _report_range(task: Range, predicted: Tensor, values: Tensor) -> RangeReport:
    missing = int(values.isnan().sum())
    quantiles = error_quantiles(predicted, values, LEVELS)
    return RangeReport(
        labels=len(values) - missing,
        missing=missing,
        low=task.low,
        high=task.high,
        quantiles={f"{100 * level:g}": error for level, error in zip(LEVELS, quantiles, strict=True)},
        bias=bias(predicted, values),
        beyond=share_beyond(values, task.low, task.high),
    )
