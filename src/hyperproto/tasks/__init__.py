"""Shelf 5: what can be asked of an output, one file for each kind."""

from typing import Any

from hyperproto.tasks.classes import MISSING, Classes
from hyperproto.tasks.range import Range
from hyperproto.tasks.task import (
    Axes,
    Task,
    indexed,
    numeric,
    task_from_dict,
    task_kind,
)

__all__ = [
    "MISSING",
    "Axes",
    "Classes",
    "Head",
    "Range",
    "Task",
    "indexed",
    "numeric",
    "task_from_dict",
    "task_kind",
]


def __getattr__(name: str) -> Any:
    if name == "Head":  # which needs torch
        from hyperproto.tasks.head import Head

        return Head
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
