"""What can be asked of an output, one file for each kind.

Names are loaded when first used: the command line asks here which kinds there are, and must start
without arrays.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperproto.tasks.angle import Angle
    from hyperproto.tasks.classes import MISSING, Classes
    from hyperproto.tasks.grades import Grades
    from hyperproto.tasks.head import Head
    from hyperproto.tasks.labels import Labels
    from hyperproto.tasks.number import Number
    from hyperproto.tasks.range import Range
    from hyperproto.tasks.task import Axes, Task, indexed, numeric, task_from_dict, task_kind
    from hyperproto.tasks.tree import Tree

__all__ = [
    "MISSING",
    "Angle",
    "Axes",
    "Classes",
    "Grades",
    "Head",
    "Labels",
    "Number",
    "Range",
    "Task",
    "Tree",
    "indexed",
    "numeric",
    "task_from_dict",
    "task_kind",
]

KINDS = {
    "angle": "hyperproto.tasks.angle:Angle",
    "classes": "hyperproto.tasks.classes:Classes",
    "grades": "hyperproto.tasks.grades:Grades",
    "labels": "hyperproto.tasks.labels:Labels",
    "number": "hyperproto.tasks.number:Number",
    "range": "hyperproto.tasks.range:Range",
    "tree": "hyperproto.tasks.tree:Tree",
}
"""Where each kind of task is. An entry also gives its option of the command line."""

METAVARS = {"angle": "COLUMN=PERIOD", "grades": "COLUMN=LOW,...,HIGH", "tree": "COLUMN=FILE"}
"""What such an option takes, where that is more than the name of a column."""

_HOMES = {
    "MISSING": "classes",
    "Angle": "angle",
    "Classes": "classes",
    "Grades": "grades",
    "Head": "head",
    "Labels": "labels",
    "Number": "number",
    "Range": "range",
    "Tree": "tree",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'task')}"), name)
    globals()[name] = found  # the next time nobody asks here
    return found
