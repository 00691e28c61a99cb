"""A space as plain values, and back: for a run's config. Prototypes go into files of their own."""

from collections.abc import Mapping
from typing import Any

from hyperproto._core.registry import choose
from hyperproto.baselines.conventional import ConventionalSpace
from hyperproto.baselines.deep_ncm import DeepNCM
from hyperproto.prototypes import Prototypes
from hyperproto.spaces.composite import CompositeSpace
from hyperproto.spaces.output_space import OutputSpace, TaskSpace
from hyperproto.spaces.space import Space
from hyperproto.spaces.tasks import task_from_dict

__all__ = ["space_from_dict", "space_to_dict"]


def space_to_dict(space: OutputSpace) -> dict[str, Any] | None:
    """Describe a space of ours; None for a user's own."""
    if not isinstance(space, TaskSpace) or type(space) not in _BUILDERS.values():
        return None
    kind = next(name for name, builder in _BUILDERS.items() if builder is type(space))
    tasks = [{"name": name, **task.to_dict()} for name, task in space.tasks.items()]
    return {"kind": kind, "dim": space.dim, "bare": space.bare, "tasks": tasks, **space.options()}


def space_from_dict(values: dict[str, Any], prototypes: Mapping[str, Prototypes]) -> TaskSpace:
    """Rebuild a space around prototypes that were stored: nothing is placed again."""
    tasks = {}
    for task in values["tasks"]:
        name = task["name"]
        rest = {key: value for key, value in task.items() if key != "name"}
        tasks[name] = task_from_dict(rest, prototypes.get(name))
    given = next(iter(tasks.values())) if values["bare"] else tasks
    builder = choose(values["kind"], _BUILDERS, what="space")
    options = {key: value for key, value in values.items() if key not in ("kind", "dim", "bare", "tasks")}
    sized = () if builder is ConventionalSpace else (values["dim"],)
    space: TaskSpace = builder(*sized, given, **options)
    return space


_BUILDERS: dict[str, Any] = {
    "sphere": Space,
    "composite": CompositeSpace,
    "conventional": ConventionalSpace,
    "deep-ncm": DeepNCM,
}
