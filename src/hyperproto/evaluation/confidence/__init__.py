"""Confidence: probabilities, sets and intervals with a stated coverage, and when to answer
"unknown".

Everything here takes scores, probabilities or numbers as numpy arrays or torch tensors, is fitted
on data that was not trained on, and returns numpy arrays. Runs and estimators share it. Values are
frozen, and plain in ``to_dict``.
"""

from hyperproto.evaluation.confidence.calibration import (
    Calibration,
    ClassCalibration,
    TaskOutputs,
    Temperature,
    uncalibrated,
)
from hyperproto.evaluation.confidence.conformal import ConformalInterval, ConformalSets
from hyperproto.evaluation.confidence.outliers import OUTLIER_SCORES, Rejection, outlier_score
from hyperproto.evaluation.confidence.task_calibration import (
    Confidence,
    ConfidenceReport,
    TaskCalibration,
)

__all__ = [
    "OUTLIER_SCORES",
    "Calibration",
    "ClassCalibration",
    "Confidence",
    "ConfidenceReport",
    "ConformalInterval",
    "ConformalSets",
    "Rejection",
    "TaskCalibration",
    "TaskOutputs",
    "Temperature",
    "outlier_score",
    "uncalibrated",
]
