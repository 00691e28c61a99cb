"""Shelf 6: what the sphere is compared with, behind the same protocol, and every output space by
name.
"""

from collections.abc import Mapping
from typing import Any

from hyperproto._core.checks import choose
from hyperproto.baselines.conventional import ConventionalSpace, weigh_tasks
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Space, TaskSpace
from hyperproto.tasks import task_from_dict

__all__ = ["SPACES", "ConventionalSpace", "space_from_dict", "weigh_tasks"]

SPACES: dict[str, Any] = {space.kind: space for space in (Space, ConventionalSpace)}


def space_from_dict(values: dict[str, Any], prototypes: Mapping[str, Prototypes]) -> TaskSpace:
    """Rebuild a space around prototypes that were stored: nothing is placed again."""
    tasks = {}
    for task in values["tasks"]:
        rest = {key: value for key, value in task.items() if key != "name"}
        tasks[task["name"]] = task_from_dict(rest, prototypes.get(task["name"]))
    given = next(iter(tasks.values())) if values["bare"] else tasks
    builder = choose(values["kind"], SPACES, what="space")
    left_out = (
        ("kind", "bare", "tasks", "dim")
        if builder is ConventionalSpace
        else ("kind", "bare", "tasks")
    )
    options = {key: value for key, value in values.items() if key not in left_out}
    if builder is Space:
        options.setdefault("separate", False)
    return builder(task=given, **options)
