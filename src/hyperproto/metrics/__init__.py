"""Measures of predictions that scikit-learn does not have, as pure functions. Rows without a label do not count."""

from hyperproto.metrics.answers import (
    absolute_error_terms,
    accuracy_terms,
    confusion_pairs,
    count_classes,
    error_quantiles,
    top_accuracy,
)
from hyperproto.metrics.uncertainty import (
    calibration_error,
    expected_calibration_error,
    false_positive_rate_at,
    measure_open_set,
    open_set_classification_rate,
)

__all__ = [
    "absolute_error_terms",
    "accuracy_terms",
    "calibration_error",
    "confusion_pairs",
    "count_classes",
    "error_quantiles",
    "expected_calibration_error",
    "false_positive_rate_at",
    "measure_open_set",
    "open_set_classification_rate",
    "top_accuracy",
]
