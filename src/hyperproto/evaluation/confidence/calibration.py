"""Everything that is fitted on data that was not trained on: of one task, and of all tasks of a
run.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from hyperproto._core.arrays import Numbers, Values, labeled_rows, to_labels, to_numbers
from hyperproto._core.checks import check_finite_number, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto._core.schema import read_plain
from hyperproto.defaults import COVERAGE
from hyperproto.evaluation.confidence.conformal import ConformalSets
from hyperproto.evaluation.confidence.outliers import OUTLIER_SCORES, Rejection, outlier_score
from hyperproto.evaluation.confidence.task_calibration import (
    Confidence,
    ConfidenceReport,
    StoredValue,
    TaskCalibration,
)
from hyperproto.metrics import calibration_error
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.tasks import indexed

FORMAT = "hyperproto.calibration/1"
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 1e5  # that are tried
FEWEST = 20  # examples of which halves are compared
FEW = 500  # examples to which a fit may be worse than none
MEASURES = {"ece": "calibration_error"} | {
    key: key for key in ("coverage", "set_size", "width", "rejection")
}


@dataclass(frozen=True)
class Temperature(StoredValue, kind="temperature"):
    r"""A softmax over scaled logits, its scale fitted on data that was not trained on.

    .. math:: p(k \mid z) = \frac{\exp(s \, l_k)}{\sum_j \exp(s \, l_j)}

    The class with the largest logit stays the most probable one. A scale of 1 takes the logits as
    the loss learned them.

    Parameters
    ----------
    scale : float
        s, the inverse of a temperature.

    Examples
    --------
    >>> Temperature(2.0).probabilities([[1.0, -1.0]]).round(3)
    array([[0.982, 0.018]])
    """

    scale: float

    def __post_init__(self) -> None:
        check_finite_number(self.scale, "scale", above=0)

    @classmethod
    def fit(cls, logits: Values, labels: Values, before: Self | None = None) -> Self:
        """Choose the scale that makes the labels most likely; the negative log-likelihood is convex
        in it.

        The labels count n times and a uniform distribution once: where every example is right the
        likelihood alone would ask for an infinite scale, and so for certainty that n examples
        cannot give.

        Parameters
        ----------
        logits : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        before : Temperature, optional
            What is kept where few examples were fitted on, and held-out tenths of them say that it
            is no worse.
        """
        scores, ids = labeled_rows(logits, labels, "logits")
        n, num_classes = scores.shape
        if before is not None and n < FEW:
            if n < 2:
                return before
            parts = np.array_split(np.random.default_rng(0).permutation(n), 10)[:n]
            fits = (
                cls.fit(np.delete(scores, part, axis=0), np.delete(ids, part)) for part in parts
            )
            losses = [
                fit.loss(scores[part], ids[part]) for fit, part in zip(fits, parts, strict=True)
            ]
            if sum(losses) >= before.loss(scores, ids):
                return before
        target = np.full(scores.shape, 1 / (num_classes * (n + 1)))
        target[np.arange(n), ids] += n / (n + 1)

        def loss(log_scale: float) -> float:
            rows: Numbers = log_softmax(np.exp(log_scale) * scores, axis=1)
            return float(-np.sum(target * rows) / n)

        bounds = np.log(SMALLEST_SCALE), np.log(LARGEST_SCALE)
        return cls(
            float(
                np.exp(
                    minimize_scalar(
                        loss, bounds=bounds, method="bounded", options={"xatol": 1e-6}
                    ).x
                )
            )
        )

    def loss(self, scores: Numbers, ids: npt.NDArray[Any]) -> float:
        """Return the negative log-likelihood of all examples."""
        return float(-log_softmax(self.scale * scores, axis=1)[np.arange(len(ids)), ids].sum())

    def probabilities(self, logits: Values) -> Numbers:
        """Return one probability per class, rows summing to 1. Shape (n, num_classes)."""
        return np.asarray(softmax(self.scale * to_numbers(logits, "logits", ndim=2), axis=1))


@dataclass(frozen=True)
class ClassCalibration(TaskCalibration, kind="classes"):
    """A class task: probabilities and, where they were asked for, sets and a threshold for unknown
    inputs.

    Parameters
    ----------
    model : Temperature
    sets : ConformalSets, optional
    rejection : Rejection, optional
    outlier : str, default "entropy"
        Which :func:`~hyperproto.evaluation.confidence.outliers.outlier_score` the threshold is
        about.
    longest : float, optional
        The largest strength when the threshold was fitted; beyond it the score falls off.
    """

    model: Temperature
    sets: ConformalSets | None = None
    rejection: Rejection | None = None
    outlier: str = "entropy"
    longest: float | None = None

    def __post_init__(self) -> None:
        choose(self.outlier, {**OUTLIER_SCORES, "strength": 0}, what="outlier score")

    @classmethod
    def fit(
        cls,
        logits: Values,
        labels: Values,
        strengths: Values | None = None,
        *,
        coverage: float | None = COVERAGE,
        reject: float | None = None,
        outlier: str = "entropy",
        before: Temperature | None = None,
    ) -> Self:
        """Fit everything on the same examples, none of which was trained on.

        Parameters
        ----------
        logits : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        strengths : array, shape (n,), optional
            How strongly outputs point at their class, as for
            :func:`~hyperproto.evaluation.confidence.outliers.outlier_score`.
        coverage : float, optional
            Of prediction sets; None fits none.
        reject : float, optional
            Share of known inputs that may be called unknown; None fits no threshold.
        outlier : str, optional
            As ``kind`` of :func:`~hyperproto.evaluation.confidence.outliers.outlier_score`.
        before : Temperature, optional
            As for :meth:`Temperature.fit`.
        """
        scores, ids = labeled_rows(logits, labels, "logits")
        model = Temperature.fit(scores, ids, before)
        sets = (
            None
            if coverage is None
            else ConformalSets.fit(model.probabilities(scores), ids, coverage)
        )
        if reject is None:
            return cls(model, sets, None, outlier)
        present = to_labels(labels, len(np.asarray(labels)), scores.shape[1]) >= 0
        found = None if strengths is None else to_numbers(strengths, "strengths", ndim=1)[present]
        longest = float(found.max()) if found is not None and found.max() > 0 else None
        unusual = outlier_score(model.scale * scores, found, kind=outlier, longest=longest)
        return cls(model, sets, Rejection.fit(unusual, reject), outlier, longest)

    def probabilities(self, logits: Values) -> Numbers:
        """Return one probability per class, shape (n, num_classes)."""
        return self.model.probabilities(logits)

    def outliers(self, logits: Values, strengths: Values | None = None) -> Numbers:
        """Return how unusual each input is, shape (n,)."""
        scaled = self.model.scale * to_numbers(logits, "logits", ndim=2)
        return outlier_score(scaled, strengths, kind=self.outlier, longest=self.longest)

    def accept(self, logits: Values, strengths: Values | None = None) -> npt.NDArray[np.bool_]:
        """Return which inputs are taken for known, shape (n,); all of them where no threshold was
        fitted.
        """
        scores = self.outliers(logits, strengths)
        return (
            np.ones(len(scores), dtype=bool)
            if self.rejection is None
            else self.rejection.accept(scores)
        )

    def describe(
        self,
        predicted: Values,
        scores: Values | None = None,
        strengths: Values | None = None,
        top: Values | None = None,
    ) -> Confidence:
        """Return probabilities, outlier scores, sets and rejections; see
        :class:`TaskCalibration`.
        """
        if scores is None:
            return Confidence()
        probabilities, outliers = self.probabilities(scores), self.outliers(scores, strengths)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        inside = None if self.sets is None else self.sets.sets(probabilities)
        first = np.asarray(predicted)[:, None] if top is None else np.asarray(top)
        return Confidence(
            probabilities=np.take_along_axis(probabilities, first, axis=1),
            outliers=outliers,
            accepted=None if self.rejection is None else self.rejection.accept(outliers),
            set_sizes=None if inside is None else inside.sum(axis=1),
            set_members=None
            if inside is None
            else order[np.take_along_axis(inside, order, axis=1)],
        )

    def report(
        self, confidence: Confidence, predicted: Values, targets: Values
    ) -> ConfidenceReport | None:
        """Measure the calibration error, coverage and rejections; None where no label is there."""
        labels = np.asarray(targets)
        present = labels >= 0
        if confidence.probabilities is None or not present.any():
            return None
        coverage = set_size = rejection = math.nan
        if confidence.set_sizes is not None and confidence.set_members is not None:
            rows = np.repeat(np.arange(len(labels)), confidence.set_sizes)
            covered = np.bincount(
                rows, weights=confidence.set_members == labels[rows], minlength=len(labels)
            )
            coverage, set_size = (
                float(covered[present].mean()),
                float(confidence.set_sizes[present].mean()),
            )
        if confidence.accepted is not None:
            rejection = float(1 - confidence.accepted[present].mean())
        return ConfidenceReport(
            calibration_error(
                confidence.probabilities[present, 0], (np.asarray(predicted) == labels)[present]
            ),
            stated_coverage=math.nan if self.sets is None else self.sets.coverage,
            coverage=coverage,
            set_size=set_size,
            stated_rejection=math.nan if self.rejection is None else self.rejection.rate,
            rejection=rejection,
        )


def uncalibrated(space: TaskSpace) -> dict[str, ClassCalibration]:
    """Return the probabilities that tasks with classes have by themselves, by the logits of the
    loss.
    """
    heads, model = space.named_heads(), Temperature(1.0)
    return {
        name: ClassCalibration(model, outlier=heads[name].outlier) for name in indexed(space.tasks)
    }


@dataclass(frozen=True, eq=False)
class TaskOutputs:
    """One task's outputs for examples that were not trained on: what a calibration is fitted to and
    measured on.

    Attributes
    ----------
    scores : array, shape (n, num_classes) for classes, (n,) for numbers
        Cosines or logits of all classes, or the predicted numbers.
    targets : array, shape (n,)
        Class ids, or the true numbers.
    strengths : array, shape (n,)
        How strongly outputs point at their class.
    """

    scores: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    strengths: npt.NDArray[Any]

    def rows(self, index: npt.NDArray[Any]) -> "TaskOutputs":
        """Return some of the examples."""
        return TaskOutputs(self.scores[index], self.targets[index], self.strengths[index])

    def labeled(self) -> "TaskOutputs":
        """Return the examples whose label is there."""
        floating = self.targets.dtype.kind == "f"
        return self.rows(~np.isnan(self.targets) if floating else self.targets >= 0)

    def measure(self, calibration: TaskCalibration) -> ConfidenceReport:
        """Report whether what a calibration says about these examples is true."""
        predicted = self.scores if self.scores.ndim == 1 else self.scores.argmax(axis=1)
        confidence = calibration.describe(predicted, self.scores, self.strengths)
        return calibration.report(confidence, predicted, self.targets) or ConfidenceReport()

    def cross_measure(
        self, fit: Callable[["TaskOutputs"], TaskCalibration], before: TaskCalibration | None = None
    ) -> dict[str, float]:
        """Measure each half of the examples by a fit to the other half, and average; empty below 20
        examples.

        Measured on the examples that it was fitted on, a calibration would seem too good.
        ``before`` adds the calibration error of another calibration.

        Returns
        -------
        dict of float
            For classes "ece", and "ece_before", "coverage", "set_size", "rejection" where those
            were fitted; for numbers "coverage" and "width".
        """
        if len(self.targets) < FEWEST:
            return {}
        order = np.random.default_rng(0).permutation(len(self.targets))
        first, second = (self.rows(part) for part in np.array_split(order, 2))
        reports = [first.measure(fit(second)), second.measure(fit(first))]
        measures = {
            name: float(np.mean([getattr(report, key) for report in reports]))
            for name, key in MEASURES.items()
        }
        if before is not None:
            errors = [half.measure(before).calibration_error for half in (first, second)]
            measures = {"ece_before": float(np.mean(errors))} | measures
        return {name: value for name, value in measures.items() if not math.isnan(value)}


@dataclass(frozen=True)
class _Stored:
    """The parts of ``calibration.json``."""

    tasks: dict[str, dict[str, Any]]
    examples: int
    measures: dict[str, Real | None]
    origin: dict[str, str]


@dataclass(frozen=True)
class Calibration:
    """What was fitted for the tasks of a run, and how well it does on data that it was not fitted
    on.

    Attributes
    ----------
    tasks : dict of ClassCalibration or ConformalInterval
        By task; one unnamed task is called "target".
    examples : int
        How many were fitted on.
    measures : dict of float
        What :meth:`TaskOutputs.cross_measure` returns, by "task/measure", or "measure" of an
        unnamed task.
    origin : dict of str
        Which data, which split, which weights.
    """

    tasks: dict[str, TaskCalibration]
    examples: int
    measures: dict[str, float] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_integer(self.examples, "examples", at_least=1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "format": FORMAT,
            "origin": dict(self.origin),
            "examples": self.examples,
            "measures": dict(self.measures),
            "tasks": {name: task.to_dict() for name, task in self.tasks.items()},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        version = stored.get("format") if isinstance(stored, Mapping) else None
        if version != FORMAT:
            raise InputError(
                "A stored calibration",
                f"have the format {FORMAT}",
                version,
                "Calibrate the run again.",
            )
        about = read_plain(_Stored, stored, "A stored calibration")
        tasks = {name: TaskCalibration.from_dict(task) for name, task in about.tasks.items()}
        measures = {
            name: float(value) for name, value in about.measures.items() if value is not None
        }
        return cls(tasks, about.examples, measures, about.origin)
