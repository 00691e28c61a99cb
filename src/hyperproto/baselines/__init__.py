"""Shelf 6: what the sphere is compared with, behind the same protocol, and every output space by
name.
"""

from collections.abc import Mapping
from typing import Any

from hyperproto._core.checks import choose
from hyperproto.baselines.conventional import ConventionalSpace, weigh_tasks
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Space, TaskSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import task_from_dict

__all__ = ["SPACES", "ConventionalSpace", "space_from_dict", "weigh_tasks"]

SPACES: dict[str, Any] = {space.kind: space for space in (Space, ConventionalSpace)}


def space_from_dict(
    values: dict[str, Any], prototypes: Mapping[str, Prototypes] | Prototypes
) -> TaskSpace:
    """Rebuild a space around prototypes that were stored: nothing is placed again."""
    options, tasks, placed = dict(values), {}, by_name(prototypes)
    for stored in options.pop("tasks"):
        task = dict(stored)
        name = task.pop("name")
        tasks[name] = task_from_dict(task, placed.get(name))
    given = next(iter(tasks.values())) if options.pop("bare") else tasks
    kind = options.pop("kind")
    if kind == ConventionalSpace.kind:
        del options["dim"]  # which follows from the tasks
    elif kind == Space.kind:
        options.setdefault("separate", False)
    return choose(kind, SPACES, what="space")(task=given, **options)
