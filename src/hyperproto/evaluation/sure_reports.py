"""What became of promises: calibration error, coverage, rejection, and unknown inputs told from known ones."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto.evaluation.confidence.calibration import ClassCalibration, TaskCalibration
from hyperproto.evaluation.confidence.conformal import ConformalInterval
from hyperproto.evaluation.predictions import Answers
from hyperproto.metrics import calibration_error, measure_open_set

__all__ = [
    "IntervalReport",
    "SureReport",
    "UnknownReport",
    "report_intervals",
    "report_sureness",
    "report_unknown",
]

NAN = float("nan")


@dataclass(frozen=True)
class SureReport:
    """Class answers: whether they are as sure as they are right. What was not fitted is NaN.

    Attributes
    ----------
    calibration_error : float
        Expected calibration error of the predicted class's probability, in 15 bins.
    stated_coverage, coverage, set_size : float
        How often prediction sets promise to hold the right class, how often they do, and how many classes they hold.
    stated_rejection, rejection : float
        Share of known inputs that may be called unknown, and the share that is.
    """

    calibration_error: float
    stated_coverage: float = NAN
    coverage: float = NAN
    set_size: float = NAN
    stated_rejection: float = NAN
    rejection: float = NAN


@dataclass(frozen=True)
class IntervalReport:
    """Numbers: how often intervals promise to hold the true one, how often they do, and how wide they are."""

    stated_coverage: float
    coverage: float
    width: float


@dataclass(frozen=True)
class UnknownReport:
    """Inputs of none of the classes against known ones; see :class:`~hyperproto.metrics.OpenSetMeasures`.

    ``rejection`` is the share of unknown inputs that is called unknown; NaN where no threshold was fitted.
    """

    known: int
    unknown: int
    auroc: float
    fpr_at_95: float
    aupr: float
    oscr: float
    rejection: float = NAN


def report_sureness(answers: Answers, calibration: TaskCalibration | None) -> SureReport | None:
    """Look at the probabilities, sets and rejections of class answers; None where there are none, or no label."""
    if not isinstance(calibration, ClassCalibration) or answers.probabilities is None or answers.targets is None:
        return None
    present = answers.targets >= 0
    if not bool(present.any()):
        return None
    right = (answers.predicted == answers.targets)[present]
    sets, rejection = calibration.sets, calibration.rejection
    covered = _covered(answers)
    return SureReport(
        calibration_error(answers.probabilities[:, 0][present], right),
        NAN if sets is None else sets.coverage,
        NAN if covered is None else _share(covered[present]),
        NAN if answers.set_sizes is None else float(answers.set_sizes[present].double().mean()),
        NAN if rejection is None else rejection.rate,
        NAN if answers.accepted is None else _share(~answers.accepted[present]),
    )


def report_intervals(answers: Answers, calibration: TaskCalibration | None) -> IntervalReport | None:
    """Look at the intervals of numbers; None where there are none, or no true number."""
    if not isinstance(calibration, ConformalInterval) or answers.intervals is None or answers.targets is None:
        return None
    present = ~answers.targets.isnan()
    if not bool(present.any()):
        return None
    truth, (low, high) = answers.targets[present].double(), answers.intervals[present].unbind(1)
    inside = (low <= truth) & (truth <= high)
    return IntervalReport(calibration.coverage, _share(inside), float((high - low).mean()))


def report_unknown(known: Answers, unknown: Answers) -> UnknownReport:
    """Compare the outlier scores of labelled inputs with those of inputs that belong to no class."""
    assert known.outliers is not None
    assert unknown.outliers is not None
    assert known.targets is not None
    present = known.targets >= 0
    right = (known.predicted == known.targets)[present]
    found = measure_open_set(known.outliers[present], unknown.outliers, right)
    rejection = NAN if unknown.accepted is None else _share(~unknown.accepted)
    return UnknownReport(int(present.sum()), len(unknown.outliers), **vars(found), rejection=rejection)


def _covered(answers: Answers) -> Tensor | None:
    """Return whether each set holds the right class, shape (n,)."""
    if answers.set_sizes is None or answers.set_members is None or answers.targets is None:
        return None
    rows = torch.repeat_interleave(torch.arange(len(answers.set_sizes)), answers.set_sizes)
    hits = (answers.set_members == answers.targets[rows]).long()
    return torch.zeros(len(answers.set_sizes), dtype=torch.int64).index_add(0, rows, hits) > 0


def _share(claims: Tensor) -> float:
    return float(claims.double().mean())
