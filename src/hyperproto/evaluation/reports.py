"""How good predictions are, task by task: classes, mistakes, errors, confidence, unknown inputs."""

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from hyperproto.evaluation.confidence import ConfidenceReport, TaskCalibration
from hyperproto.evaluation.predict import Answers
from hyperproto.metrics import confusion_pairs, count_classes, error_quantiles, measure_open_set, top_accuracy
from hyperproto.spaces import Classes, Range
from hyperproto.spaces.tasks import Task

TOP = 5
LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True)
class ClassRow:
    """One class: its number of examples, recall and precision."""

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

    ``confidence`` is None where the space gives no scores.
    """

    labels: int
    missing: int
    top_5: float
    mean_class_accuracy: float
    classes: tuple[ClassRow, ...]
    pairs: tuple[Pair, ...]
    confidence: ConfidenceReport | None = None


@dataclass(frozen=True)
class RangeReport:
    """A range: quantiles of the absolute error, the mean error, and the share of values beyond the bounds.

    ``confidence`` is None where the run is not calibrated.
    """

    labels: int
    missing: int
    low: float
    high: float
    quantiles: dict[str, float]
    bias: float
    beyond: float
    confidence: ConfidenceReport | None = None


@dataclass(frozen=True)
class UnknownReport:
    """Inputs of none of the classes against known ones; see :func:`~hyperproto.metrics.measure_open_set`.

    ``rejection`` is the share of unknown inputs that is called unknown; NaN where no threshold was fitted.
    """

    known: int
    unknown: int
    auroc: float
    fpr_at_95: float
    aupr: float
    oscr: float
    rejection: float = math.nan


def report_task(
    task: Task, answers: Answers, *, pairs: int = 10, calibration: TaskCalibration | None = None
) -> ClassReport | RangeReport:
    """Measure one task's answers; the ``pairs`` most frequent mistakes are kept."""
    assert answers.targets is not None
    confidence = None
    if calibration is not None and answers.confidence is not None:
        confidence = calibration.report(answers.confidence, answers.predicted, answers.targets)
    if isinstance(task, Range):
        return _report_range(task, answers.predicted, answers.targets, confidence)
    return _report_classes(task, answers, answers.targets.long(), pairs, confidence)


def report_unknown(known: Answers, unknown: Answers) -> UnknownReport | None:
    """Compare the outlier scores of labeled inputs with those of inputs that belong to no class; None for numbers."""
    assert known.targets is not None
    if known.confidence is None or known.confidence.outliers is None or unknown.confidence is None:
        return None
    outliers, accepted = unknown.confidence.outliers, unknown.confidence.accepted
    assert outliers is not None
    present = (known.targets >= 0).numpy()
    right = (known.predicted == known.targets).numpy()[present]
    found = measure_open_set(known.confidence.outliers[present], outliers, right)
    rejection = math.nan if accepted is None else float(1 - accepted.mean())
    return UnknownReport(int(np.sum(present)), len(outliers), **found, rejection=rejection)


def _report_classes(
    task: Classes, answers: Answers, labels: Tensor, pairs: int, confidence: ConfidenceReport | None
) -> ClassReport:
    task.check(labels, "labels")
    names = [str(index) for index in range(task.num_classes)] if task.names is None else list(task.names)
    support, recall, precision = count_classes(answers.predicted, labels, task.num_classes)
    columns = (names, support.tolist(), recall.tolist(), precision.tolist())
    mistakes = confusion_pairs(answers.predicted, labels, most=pairs)
    known = answers.top is not None and task.num_classes > TOP
    return ClassReport(
        labels=int(support.sum()),
        missing=len(labels) - int(support.sum()),
        top_5=top_accuracy(answers.top[:, :TOP], labels) if known and answers.top is not None else math.nan,
        mean_class_accuracy=float(recall[support > 0].mean()) if support.any() else math.nan,
        classes=tuple(ClassRow(*row) for row in zip(*columns, strict=True)),
        pairs=tuple(Pair(names[true], names[wrong], n, n / int(support[true])) for true, wrong, n in mistakes),
        confidence=confidence,
    )


def _report_range(task: Range, predicted: Tensor, values: Tensor, confidence: ConfidenceReport | None) -> RangeReport:
    present = ~values.isnan()
    there = values[present].double()
    quantiles = error_quantiles(predicted, values, LEVELS)
    return RangeReport(
        labels=len(there),
        missing=len(values) - len(there),
        low=task.low,
        high=task.high,
        quantiles={f"{100 * level:g}": error for level, error in zip(LEVELS, quantiles, strict=True)},
        bias=float((predicted[present].double() - there).mean()),
        beyond=float(((there < task.low) | (there > task.high)).double().mean()),
        confidence=confidence,
    )
