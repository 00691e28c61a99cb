"""Which epoch was the best, as a pure function of the history: nothing to store, nothing to restore."""

import math
from typing import Any

from hyperproto._core.registry import unknown_choice

__all__ = ["best_epoch", "monitored", "out_of_patience"]


def monitored(record: dict[str, Any], monitor: str | None) -> float:
    """Return how good an epoch was, larger is better: a share as it is, an error with its sign turned.

    Parameters
    ----------
    record : dict
        One epoch of a run's history.
    monitor : str, optional
        The name of a validation measure; by default the first. NaN where nothing was measured.

    >>> monitored({"valid": {"kind/accuracy": 0.9, "size/mae": 0.25}}, "size/mae")
    -0.25
    """
    measures = record["valid"]
    if not measures:
        return math.nan
    name = next(iter(measures)) if monitor is None else monitor
    if name not in measures:
        raise unknown_choice(name, measures, what="measure to monitor")
    value = measures[name]
    if value is None:  # how files write NaN
        return math.nan
    return float(value) if name.endswith("accuracy") else -float(value)


def best_epoch(history: list[dict[str, Any]], monitor: str | None = None) -> int | None:
    """Return the index of the first epoch that no other surpasses; None where nothing was measured.

    >>> best_epoch([{"valid": {"accuracy": value}} for value in (0.5, 0.8, 0.7, 0.8)])
    1
    """
    best, where = -math.inf, None
    for index, record in enumerate(history):
        value = monitored(record, monitor)
        if value > best:
            best, where = value, index
    return where


def out_of_patience(history: list[dict[str, Any]], monitor: str | None, patience: int | None) -> bool:
    """Return whether the last ``patience`` epochs brought nothing better."""
    if patience is None or not history:
        return False
    where = best_epoch(history, monitor)
    return len(history) - (0 if where is None else where + 1) >= patience
