"""Confidence: probabilities, sets and intervals with a stated coverage, and when to predict
"unknown".

Everything here takes scores, probabilities or numbers as numpy arrays or torch tensors, is fitted
on data that was not trained on, and returns numpy arrays. Runs and estimators share it. Values are
frozen, and plain in ``to_dict``.
"""

from hyperproto.evaluation.confidence.calibration import (
    Calibration,
    Confidence,
    ConfidenceReport,
    TaskCalibration,
    TaskOutputs,
    Temperature,
    uncalibrated,
)
from hyperproto.evaluation.confidence.outliers import outlier_score
from hyperproto.runtime.conformal import ConformalInterval, ConformalSets, Rejection
from hyperproto.tasks.outliers import OUTLIER_SCORES

__all__ = [
    "OUTLIER_SCORES",
    "Calibration",
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
