"""What is fitted on data that was not trained on, of one task and of all tasks of a run; what it
says about predictions, and how true that is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import Tensor

from hyperproto._core.arrays import Array, Numbers, Values, labeled_rows, to_labels, to_numbers
from hyperproto._core.checks import check_finite_number, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain, plain
from hyperproto._core.schema import read_plain
from hyperproto.defaults import COVERAGE
from hyperproto.evaluation.confidence.outliers import outlier_score
from hyperproto.metrics import calibration_error
from hyperproto.runtime.conformal import ConformalInterval, ConformalSets, Rejection
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.tasks import indexed
from hyperproto.tasks.head import Head
from hyperproto.tasks.outliers import OUTLIER_SCORES

FORMAT = "hyperproto.calibration/2"
NAN = math.nan


@dataclass(frozen=True)
class Temperature:
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
        if before is not None and n < 500:
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

        bounds = np.log(1e-3), np.log(1e5)  # of the scales that are tried
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
        return cls(float(np.exp(found.x)))

    def loss(self, scores: Numbers, ids: Array) -> float:
        """Return the negative log-likelihood of all examples."""
        return float(-log_softmax(self.scale * scores, axis=1)[np.arange(len(ids)), ids].sum())

    def probabilities(self, logits: Values) -> Numbers:
        """Return one probability per class, rows summing to 1. Shape (n, num_classes)."""
        return np.asarray(softmax(self.scale * to_numbers(logits, "logits", ndim=2), axis=1))


@dataclass(frozen=True, eq=False)
class Confidence:
    """What a calibration says about each prediction; None where that was not fitted.

    Attributes
    ----------
    probabilities : array, shape (n, k)
        Of the first k classes, the predicted one first.
    outliers, accepted : array, shape (n,)
        How unusual each input is, and whether it is taken for known.
    sets : array of arrays of int64, shape (n,)
        The classes in each prediction set, the most probable first.
    intervals : array, shape (n, 2)
        Both ends, for numbers.
    """

    probabilities: Numbers | None = None
    outliers: Numbers | None = None
    accepted: npt.NDArray[np.bool_] | None = None
    sets: npt.NDArray[np.object_] | None = None
    intervals: Numbers | None = None

    @classmethod
    def join(cls, parts: Sequence["Confidence"]) -> "Confidence":
        """Return the confidence of batches one after another."""
        return cls(
            **{
                name: np.concatenate([vars(part)[name] for part in parts])
                for name in parts[0].given
            }
        )

    def rows(self, which: Array) -> "Confidence":
        """Return the confidence of some predictions."""
        return Confidence(**{name: vars(self)[name][which] for name in self.given})

    @property
    def given(self) -> list[str]:
        """What was fitted."""
        return [name for name, column in vars(self).items() if column is not None]


@dataclass(frozen=True)
class ConfidenceReport:
    """Whether stated confidence is true, on labeled data. What was not fitted is NaN.

    Attributes
    ----------
    calibration_error : float
        Expected calibration error of the predicted class's probability, in 15 bins.
    stated_coverage, coverage : float
        How often prediction sets or intervals should contain the truth, and how often they do.
    set_size, width : float
        Mean number of classes in a set; mean width of an interval.
    stated_rejection, rejection : float
        Share of known inputs that may be called unknown, and the share that is.
    """

    calibration_error: float = NAN
    stated_coverage: float = NAN
    coverage: float = NAN
    set_size: float = NAN
    width: float = NAN
    stated_rejection: float = NAN
    rejection: float = NAN


@dataclass(frozen=True)
class TaskCalibration:
    """One task: probabilities of its classes and, where they were asked for, sets and a threshold
    for unknown inputs; or the interval around a number.

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
    interval : ConformalInterval, optional
    """

    model: Temperature = field(default_factory=lambda: Temperature(1.0))
    sets: ConformalSets | None = None
    rejection: Rejection | None = None
    outlier: str = "entropy"
    longest: float | None = None
    interval: ConformalInterval | None = None

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
        """Fit all that is about classes on the same examples, none of which was trained on.

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
        model, sets = Temperature.fit(scores, ids, before), None
        if coverage is not None:
            sets = ConformalSets.fit(model.probabilities(scores), ids, coverage)
        if reject is None:
            return cls(model, sets, None, outlier)
        present = to_labels(labels, len(np.asarray(labels)), scores.shape[1]) >= 0
        found = None if strengths is None else to_numbers(strengths, "strengths", ndim=1)[present]
        longest = float(found.max()) if found is not None and found.max() > 0 else None
        unusual = cls(model, outlier=outlier, longest=longest).outliers(scores, found)
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
        if self.rejection is None:
            return np.ones(len(scores), dtype=bool)
        return self.rejection.accept(scores)

    def form(self) -> Plain:
        """Return what an exported model says about it, as ``about`` of
        :func:`hyperproto.export.export_model`.
        """
        return {
            "calibrated": True,
            "scale": self.model.scale,
            "outlier": self.outlier,
            "longest": self.longest,
            "sets": () if self.sets is None else (self.sets,),
            "intervals": () if self.interval is None else (self.interval,),
            "rejection": self.rejection,
        }

    def describe(self, outputs: "TaskOutputs", top: Values | None = None) -> Confidence:
        """Return the confidence of predictions.

        Parameters
        ----------
        outputs : TaskOutputs
        top : array of int64, shape (n, k), optional
            The classes to give probabilities of (default: the predicted one).
        """
        if self.interval is not None:
            return Confidence(intervals=self.interval.intervals(outputs.predicted))
        probabilities = self.probabilities(outputs.scores)
        outliers = self.outliers(outputs.scores, outputs.strengths)
        first = outputs.predicted[:, None] if top is None else np.asarray(top)
        sets = None
        if self.sets is not None:
            members = self.sets.members(probabilities)
            sets = np.fromiter(members, dtype=object, count=len(members))
        return Confidence(
            probabilities=np.take_along_axis(probabilities, first, axis=1),
            outliers=outliers,
            accepted=None if self.rejection is None else self.rejection.accept(outliers),
            sets=sets,
        )

    def report(
        self, confidence: Confidence, predicted: Values, targets: Values
    ) -> ConfidenceReport | None:
        """Compare confidence with the truth: calibration error, coverage and rejections; None where
        no label is there.
        """
        there = has_label(np.asarray(targets))
        truth, known = np.asarray(targets)[there], confidence.rows(there)
        told: dict[str, float] = {}
        if not len(truth):
            return None
        if self.interval is not None and known.intervals is not None:
            low, high = known.intervals.T
            told["stated_coverage"] = self.interval.coverage
            told["coverage"] = float(((low <= truth) & (truth <= high)).mean())
            told["width"] = float((high - low).mean())
        if self.sets is not None and known.sets is not None:
            pairs = list(zip(truth, known.sets, strict=True))
            told["stated_coverage"] = self.sets.coverage
            told["coverage"] = float(np.mean([label in members for label, members in pairs]))
            told["set_size"] = float(np.mean([len(members) for _, members in pairs]))
        if self.rejection is not None and known.accepted is not None:
            told["stated_rejection"] = self.rejection.rate
            told["rejection"] = float(1 - known.accepted.mean())
        if known.probabilities is not None:
            right = np.asarray(predicted)[there] == truth
            told["calibration_error"] = calibration_error(known.probabilities[:, 0], right)
        return ConfidenceReport(**told) if told else None


def has_label(targets: Array) -> npt.NDArray[np.bool_]:
    """Return which targets are there, shape (n,): ids that are not negative, numbers not NaN."""
    there: npt.NDArray[np.bool_] = ~np.isnan(targets) if targets.dtype.kind == "f" else targets >= 0
    return there


def uncalibrated(space: TaskSpace) -> dict[str, TaskCalibration]:
    """Return the probabilities that tasks with classes have by themselves, by the logits of the
    loss.
    """
    heads = space.named_heads()
    return {name: TaskCalibration(outlier=heads[name].outlier) for name in indexed(space.tasks)}


@dataclass(frozen=True, eq=False)
class TaskOutputs:
    """One task's outputs for examples that were not trained on: what a calibration is fitted to and
    measured on.

    Attributes
    ----------
    scores : array, shape (n, num_classes) for classes, (n,) for numbers
        Logits of all classes, or the predicted numbers.
    targets : array, shape (n,)
        Class ids, or the true numbers.
    strengths : array, shape (n,)
        How strongly outputs point at their class.
    """

    scores: Array
    targets: Array
    strengths: Array

    @classmethod
    def of(cls, head: Head, z: Tensor, targets: Tensor) -> "TaskOutputs":
        """Return what a head says about outputs of shape (n, dim)."""
        is_number = head.task.reads == "number"
        scores = (head.predict(z) if is_number else head.logits(z)).double()
        strengths = scores if is_number else head.strength(z).double()
        targets = head.task.aligned(targets, scores)
        return cls(*(column.numpy(force=True) for column in (scores, targets, strengths)))

    @property
    def predicted(self) -> Array:
        """Class ids, or the numbers. Shape (n,)."""
        return self.scores if self.scores.ndim == 1 else self.scores.argmax(axis=1)

    def rows(self, index: Array) -> "TaskOutputs":
        """Return some of the examples."""
        return TaskOutputs(self.scores[index], self.targets[index], self.strengths[index])

    def labeled(self) -> "TaskOutputs":
        """Return the examples whose label is there."""
        return self.rows(has_label(self.targets))

    def measure(self, calibration: TaskCalibration) -> ConfidenceReport:
        """Report whether what a calibration says about these examples is true."""
        found = calibration.describe(self)
        return calibration.report(found, self.predicted, self.targets) or ConfidenceReport()

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
        if len(self.targets) < 20:
            return {}
        order = np.random.default_rng(0).permutation(len(self.targets))
        first, second = (self.rows(part) for part in np.array_split(order, 2))
        fitted = [first.measure(fit(second)), second.measure(fit(first))]
        bare = [] if before is None else [half.measure(before) for half in (first, second)]
        asked = {
            "ece_before": ("calibration_error", bare),
            "ece": ("calibration_error", fitted),
            **{name: (name, fitted) for name in ("coverage", "set_size", "width", "rejection")},
        }
        measures = {
            name: float(np.mean([getattr(report, of) for report in reports]))
            for name, (of, reports) in asked.items()
            if reports
        }
        return {name: value for name, value in measures.items() if not math.isnan(value)}


@dataclass(frozen=True)
class Calibration:
    """What was fitted for the tasks of a run, and how well it does on data that it was not fitted
    on.

    Attributes
    ----------
    tasks : dict of TaskCalibration
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

    @property
    def about(self) -> dict[str, Plain]:
        """What an exported model says about each task."""
        return {name: task.form() for name, task in self.tasks.items()}

    def to_dict(self) -> Plain:
        """Return plain values for JSON."""
        return plain({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_dict(cls, stored: Plain) -> Self:
        """Return what :meth:`to_dict` described."""
        what = "A stored calibration"
        version = stored.get("format") if hasattr(stored, "get") else f"a {type(stored).__name__}"
        if version != FORMAT:
            rule = f"have the format {FORMAT}"
            raise InputError(what, rule, version, "Calibrate the run again.")
        return read_plain(cls, stored, what)
