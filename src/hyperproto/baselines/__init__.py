"""Shelf 6: what the sphere is compared with, behind the same protocol, and every output space by name.

A space is described by plain values in a run's config; prototypes go into files of their own.
"""

from collections.abc import Mapping
from typing import Any

from hyperproto._core.registry import choose
from hyperproto.baselines.conventional import ConventionalSpace, weigh_tasks
from hyperproto.baselines.deep_ncm import DeepNCM
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import CompositeSpace, OutputSpace, Space, TaskSpace
from hyperproto.spaces.tasks import task_from_dict

__all__ = ["SPACES", "ConventionalSpace", "DeepNCM", "space_from_dict", "space_to_dict", "weigh_tasks"]

SPACES: dict[str, Any] = {space.kind: space for space in (Space, CompositeSpace, ConventionalSpace, DeepNCM)}


def space_to_dict(space: OutputSpace) -> dict[str, Any] | None:
    """Describe a space of ours; None for a user's own."""
    if not isinstance(space, TaskSpace) or type(space) not in SPACES.values():
        return None
    tasks = [{"name": name, **task.to_dict()} for name, task in space.tasks.items()]
    return {"kind": space.kind, "dim": space.dim, "bare": space.bare, "tasks": tasks, **space.options}


def space_from_dict(values: dict[str, Any], prototypes: Mapping[str, Prototypes]) -> TaskSpace:
    """Rebuild a space around prototypes that were stored: nothing is placed again."""
    tasks = {}
    for task in values["tasks"]:
        rest = {key: value for key, value in task.items() if key != "name"}
        tasks[task["name"]] = task_from_dict(rest, prototypes.get(task["name"]))
    given = next(iter(tasks.values())) if values["bare"] else tasks
    builder = choose(values["kind"], SPACES, what="space")
    left_out = ("kind", "bare", "tasks", "dim") if builder is ConventionalSpace else ("kind", "bare", "tasks")
    options = {key: value for key, value in values.items() if key not in left_out}
    space: TaskSpace = builder(task=given, **options)
    return space
