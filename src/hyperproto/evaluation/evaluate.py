"""Measure a stored run on its test data, or on other data."""

import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer, names_or_numbers
from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.files import Plain, plain
from hyperproto.data.source import Unseen
from hyperproto.evaluation.confidence import (
    ConfidenceReport,
    TaskCalibration,
    uncalibrated,
)
from hyperproto.evaluation.predict import TaskPredictions, predict_split
from hyperproto.evaluation.run_data import AnyRun, OpenRun, RunData, open_run
from hyperproto.metrics import (
    confusion_pairs,
    count_classes,
    error_quantiles,
    measure_open_set,
    top_accuracy,
)
from hyperproto.spaces import TaskSpace
from hyperproto.tasks import Task, indexed
from hyperproto.training.outputs import baseline_metrics

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
    """A mistake: what is true, what was predicted, how often, and the share of the true class that
    is.
    """

    label: str
    predicted: str
    count: int
    share: float


@dataclass(frozen=True, kw_only=True)
class TaskReport:
    """A task of any kind: how many targets are there and how many are not, and whether its stated
    confidence is true, where it has any.
    """

    labels: int
    missing: int
    confidence: ConfidenceReport | None = None


@dataclass(frozen=True, kw_only=True)
class ClassReport(TaskReport):
    """A class task. ``top_5`` is NaN where there are no more than five classes, or the space gives
    no scores.

    ``confidence`` is None where the space gives no scores.
    """

    top_5: float
    mean_class_accuracy: float
    classes: tuple[ClassRow, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, kw_only=True)
class RangeReport(TaskReport):
    """A number: quantiles of the absolute error, the mean error, and the share of values beyond the
    bounds.

    ``confidence`` is None where the run is not calibrated.
    """

    low: float
    high: float
    quantiles: dict[str, float]
    bias: float
    beyond: float


class Predicted(NamedTuple):
    """What an evaluation is of: the run, the data, and its predictions by task."""

    run: OpenRun
    data: RunData
    predictions: dict[str, TaskPredictions]


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate_run` returns.

    Attributes
    ----------
    run, data, split, which : str
        Which run, on what, and with which weights.
    examples : int
    measures : dict of float
        Accuracy and mean absolute error, named and computed as in training.
    baseline : dict of float
        The same of the baseline on these data: the majority class, the median.
    tasks : dict of TaskReport
        A ClassReport of classes, a RangeReport of a number.
    skipped : tuple of str
        Images that cannot be read and were left out.
    calibrated, fitted_here : bool
        Whether the run is calibrated for these weights, and whether on this very data: then its
        confidence looks better than it is.
    unknown : dict of dict
        For each class task how well unknown inputs are detected, where some were given; see
        :func:`measure_unknown`.
    predicted : Predicted, optional
        Every prediction, which :meth:`to_dict` leaves out.
    """

    run: str
    data: str
    split: str
    which: str
    examples: int
    measures: dict[str, float]
    baseline: dict[str, float]
    tasks: dict[str, TaskReport]
    skipped: tuple[str, ...] = ()
    calibrated: bool = False
    fitted_here: bool = False
    unknown: dict[str, dict[str, float]] = field(default_factory=dict)
    predicted: Predicted | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> Plain:
        """Return plain values for JSON: None for what is not a number."""
        values = plain(asdict(replace(self, predicted=None)))
        return {name: value for name, value in values.items() if name != "predicted"}


def evaluate_run(
    run: AnyRun,
    data: object = None,
    *,
    split: str | None = None,
    unseen: Unseen = "error",
    skip_corrupt: bool = False,
    pairs: int = 10,
    batch_size: int | None = None,
    unknown: object = None,
) -> Evaluation:
    """Measure a stored run: every example once, values beyond the bounds scored as they are.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    data : path, Source, or what ``hp.evaluate`` takes; optional
        Other data than the run's own. Classes of a path or a Source are matched to those of the run
        by name; what is a data set already must be prepared as it was for training.
    split : {"test", "train", "all"}, optional
        Which split (default: "test", or "all" where the data has no test split).
    unseen : {"error", "missing"}
        What an example of a class is that the run does not know.
    skip_corrupt : bool, default False
        Leave out images that cannot be read.
    pairs : int, default 10
        How many of the most frequent mistakes to keep.
    batch_size : int, optional
        (default: that of the run's own validation).
    unknown : path, or data that is prepared already; optional
        Inputs of none of the classes: a folder of images at any depth, or a table for a run on a
        table. How well they are detected is reported too.
    """
    check_integer(pairs, "pairs", at_least=0)
    run = open_run(run)
    found = run.read(data, split=split, unseen=unseen, skip_corrupt=skip_corrupt)
    calibration, fitted, fitted_here = run.calibration, uncalibrated(run.space), False
    if calibration is not None:
        fitted |= calibration.tasks
        origin = calibration.origin
        fitted_here = (found.name, found.split) == (origin.get("data"), origin.get("split"))
    predict = partial(
        predict_split,
        run.network,
        run.space,
        batch_size=batch_size or run.batch_size,
        calibration=fitted,
    )
    predictions, measures = predict(found.data, top=TOP)
    if not measures:
        advice = "To predict, no targets are needed."
        raise InputError("Data to evaluate on", "have targets", "none", advice)
    detection = {}
    if unknown is not None:
        others, _ = predict(_unknown_data(run, unknown, skip_corrupt), top=1)
        detection = {
            name: measure_unknown(predictions[name], others[name])
            for name in indexed(run.space.tasks)
        }
    targets = {name: task.targets for name, task in predictions.items() if task.targets is not None}
    told = {name: predictions[name].predicted for name in targets}
    same = {name: run.space.tasks[name].baseline(true) for name, true in targets.items()}
    return Evaluation(
        run=str(run.record.folder),
        data=found.name,
        split=found.split,
        which=run.which,
        examples=len(next(iter(targets.values()))),
        measures=measures | _whole_metrics(run.space, told, targets),
        baseline=baseline_metrics(run.space, targets) | _whole_metrics(run.space, same, targets),
        tasks={
            name: report_task(task, predictions[name], pairs=pairs, calibration=fitted.get(name))
            for name, task in run.space.tasks.items()
        },
        skipped=tuple(map(str, getattr(found.data, "skipped", ()))),
        calibrated=calibration is not None,
        fitted_here=fitted_here,
        unknown=detection,
        predicted=Predicted(run, found, predictions),
    )


def _whole_metrics(
    space: TaskSpace, predicted: dict[str, Tensor], targets: dict[str, Tensor]
) -> dict[str, float]:
    """Return the metrics of all tasks that are no mean over examples."""
    return {
        space.metric_name(name, metric): value
        for name, true in targets.items()
        for metric, value in space.tasks[name].whole_metrics(predicted[name], true).items()
    }


def _unknown_data(run: OpenRun, given: object, skip_corrupt: bool) -> object:
    """Return inputs of none of the classes as the network takes them."""
    if not indexed(run.space.tasks):
        rule = "be left out where all tasks are numbers: only classes can be unknown"
        raise InputError("unknown", rule)
    if not isinstance(given, str | Path):
        return given
    if not Path(given).exists():
        raise MissingDataError(f'"{given}"', "be a folder of images, or a table", "nothing")
    return run.read_unlabeled([Path(given)], skip_corrupt=skip_corrupt)[0]


def report_task(
    task: Task,
    predictions: TaskPredictions,
    *,
    pairs: int = 10,
    calibration: TaskCalibration | None = None,
) -> TaskReport:
    """Measure the predictions of one task; the ``pairs`` most frequent mistakes are kept."""
    predicted, targets = predictions.predicted, predictions.targets
    assert targets is not None
    task.check_scored(targets, "targets")
    targets = task.aligned(targets, predicted)
    labels, confidence = int(task.present(targets).sum()), None
    if calibration is not None:
        confidence = calibration.report(predictions.confidence, predicted, targets)
    report = TaskReport(labels=labels, missing=len(targets) - labels, confidence=confidence)
    if task.reads == "index":
        return _report_classes(task, predictions, targets, pairs, report)
    return _report_range(task, predicted, targets, report) if task.reads == "number" else report


def measure_unknown(known: TaskPredictions, unknown: TaskPredictions) -> dict[str, float]:
    """Compare the outlier scores of labeled inputs with those of inputs of none of the classes.

    Returns
    -------
    dict of float
        What :func:`~hyperproto.metrics.measure_open_set` returns; "known" and "unknown", how many
        there are; and "rejection", the share of unknown inputs that is called unknown, NaN where no
        threshold was fitted.
    """
    scores, others = known.confidence.outliers, unknown.confidence.outliers
    accepted = unknown.confidence.accepted
    assert known.targets is not None
    assert scores is not None
    assert others is not None
    present = known.targets >= 0
    right = (known.predicted == known.targets)[present]
    return {
        "known": len(right),
        "unknown": len(others),
        **measure_open_set(scores[present.numpy()], others, right),
        "rejection": math.nan if accepted is None else float(1 - accepted.mean()),
    }


def _report_classes(
    task: Task,
    predictions: TaskPredictions,
    labels: Tensor,
    pairs: int,
    report: TaskReport,
) -> ClassReport:
    """Measure ids of classes, shape (n,), by those that are true."""
    predicted, top, accuracy = predictions.predicted, predictions.top, math.nan
    names = names_or_numbers(task.names, task.num_classes)
    support, recall, precision = count_classes(predicted, labels, task.num_classes)
    if top is not None and task.num_classes > TOP:
        accuracy = top_accuracy(top[:, :TOP], labels)
    rows = zip(names, support.tolist(), recall.tolist(), precision.tolist(), strict=True)
    return ClassReport(
        top_5=accuracy,
        mean_class_accuracy=float(recall[support > 0].mean()) if support.any() else math.nan,
        classes=tuple(starmap(ClassRow, rows)),
        pairs=tuple(
            Pair(names[true], names[wrong], n, n / int(support[true]))
            for true, wrong, n in confusion_pairs(predicted, labels, most=pairs)
        ),
        **vars(report),
    )


def _report_range(task: Task, predicted: Tensor, values: Tensor, report: TaskReport) -> RangeReport:
    """Measure numbers, shape (n,), by those that are true."""
    present, (low, high) = task.present(values), task.bounds
    there = values[present].double()
    errors = task.errors(predicted, values)
    quantiles = error_quantiles(errors, torch.zeros_like(errors), LEVELS)
    return RangeReport(
        low=low,
        high=high,
        quantiles={
            f"{100 * level:g}": error for level, error in zip(LEVELS, quantiles, strict=True)
        },
        bias=float((predicted[present].double() - there).mean()),
        beyond=float(((there < low) | (there > high)).double().mean()),
        **vars(report),
    )
