"""Shelf 6: measures of predictions, as pure functions. Rows whose label is missing do not count."""

from hyperproto.metrics.basic import absolute_error_terms, accuracy, accuracy_terms, mean_absolute_error
from hyperproto.metrics.calibration import (
    ReliabilityBins,
    brier_score,
    calibration_error,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from hyperproto.metrics.classes import ClassCounts, confusion_pairs, count_classes, top_accuracy
from hyperproto.metrics.errors import bias, error_quantiles, share_beyond
from hyperproto.metrics.open_set import (
    OpenSetMeasures,
    area_under_precision_recall,
    area_under_roc,
    false_positive_rate_at,
    measure_open_set,
    open_set_classification_rate,
)

__all__ = [
    "ClassCounts",
    "OpenSetMeasures",
    "ReliabilityBins",
    "absolute_error_terms",
    "accuracy",
    "accuracy_terms",
    "area_under_precision_recall",
    "area_under_roc",
    "bias",
    "brier_score",
    "calibration_error",
    "confusion_pairs",
    "count_classes",
    "error_quantiles",
    "expected_calibration_error",
    "false_positive_rate_at",
    "mean_absolute_error",
    "measure_open_set",
    "negative_log_likelihood",
    "open_set_classification_rate",
    "reliability_bins",
    "share_beyond",
    "top_accuracy",
]
