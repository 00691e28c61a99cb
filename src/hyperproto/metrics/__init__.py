"""Shelf 6: measures of predictions, as pure functions. Rows whose label is missing do not count."""

from hyperproto.metrics.basic import absolute_error_terms, accuracy, accuracy_terms, mean_absolute_error

__all__ = ["absolute_error_terms", "accuracy", "accuracy_terms", "mean_absolute_error"]
