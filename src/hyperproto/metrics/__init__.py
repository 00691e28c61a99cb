"""Shelf 6: measures of predictions, as pure functions. Rows whose label is missing do not count."""

from hyperproto.metrics.basic import absolute_error_terms, accuracy, accuracy_terms, mean_absolute_error
from hyperproto.metrics.classes import ClassCounts, confusion_pairs, count_classes, top_accuracy
from hyperproto.metrics.errors import bias, error_quantiles, share_beyond

__all__ = [
    "ClassCounts",
    "absolute_error_terms",
    "accuracy",
    "accuracy_terms",
    "bias",
    "confusion_pairs",
    "count_classes",
    "error_quantiles",
    "mean_absolute_error",
    "share_beyond",
    "top_accuracy",
]
