"""What can be asked of an output, one file for each kind.

Names are loaded when first used: the command line asks here which kinds there are, and must start
without arrays.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperproto.tasks.classes import MISSING, Classes
    from hyperproto.tasks.head import Head
    from hyperproto.tasks.number import Number
    from hyperproto.tasks.range import Range
    from hyperproto.tasks.task import Axes, Task, indexed, numeric, task_from_dict, task_kind

__all__ = [
    "MISSING",
    "Axes",
    "Classes",
    "Head",
    "Number",
    "Range",
    "Task",
    "indexed",
    "numeric",
    "task_from_dict",
    "task_kind",
]

KINDS = {
    "classes": "hyperproto.tasks.classes:Classes",
    "number": "hyperproto.tasks.number:Number",
    "range": "hyperproto.tasks.range:Range",
}
"""Where each kind of task is. An entry also gives its option of the command line."""

_HOMES = {
    "MISSING": "classes",
    "Classes": "classes",
    "Head": "head",
    "Number": "number",
    "Range": "range",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'task')}"), name)
    globals()[name] = found  # the next time nobody asks here
    return found
