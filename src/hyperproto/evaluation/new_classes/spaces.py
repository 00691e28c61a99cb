"""A space with other classes in one of its tasks; everything else about it stays."""

from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Classes, OutputSpace, Sphere
from hyperproto.spaces.tasks import MISSING, Task
from hyperproto.training.run import class_prototypes

AnySphere = TypeVar("AnySphere", bound=Sphere)

__all__ = ["class_axes", "class_task", "full_targets", "with_prototypes"]


def class_task(space: OutputSpace, task: str | None) -> tuple[Sphere, str]:
    """Return the space, and the name of the class task that is meant: the only one unless it is said."""
    if not isinstance(space, Sphere):
        raise InputTypeError(
            f"Classes come and go on a sphere, whose prototypes are fixed; got a {type(space).__name__}. "
            "Train that anew, or use hp.Space."
        )
    names = {name: name for name, held in space.tasks.items() if isinstance(held, Classes)}
    if not names:
        raise InputError("The space must have a class task; it only has ranges.")
    if task is None and len(names) > 1:
        listed = ", ".join(f'"{name}"' for name in names)
        raise InputError(f"The space has several class tasks, {listed}; say which is meant with task=...")
    return space, next(iter(names)) if task is None else choose(task, names, what="class task")


def class_axes(space: Sphere, task: str) -> slice:
    """Return the axes of the output that a task reads."""
    head = space.heads[space.names.index(task)]
    axes: slice = head.axes  # type: ignore[assignment]  # every head of a sphere has them
    return axes


def with_prototypes(space: AnySphere, task: str, prototypes: Prototypes) -> AnySphere:
    """Return a space like this one whose task ``task`` has other prototypes; the others keep theirs.

    A class that comes gets the mean of the class weights, where there are any.
    """
    tasks: dict[str, Task] = {}
    for name, held in space.tasks.items():
        if isinstance(held, Classes):
            placed = prototypes if name == task else class_prototypes(space)[name]
            weights = _weights(space, held, placed) if name == task else held.class_weights
            tasks[name] = replace(held, classes=placed, class_weights=weights)
        else:
            tasks[name] = held
    made = type(space)(space.dim, space.as_given(tasks))
    return made.to(prototypes.vectors.device)


def full_targets(space: Sphere, task: str, ids: Tensor) -> Tensor | dict[str, Tensor]:
    """Return targets in the form the space takes, with the labels of every other task missing."""
    if space.bare:
        return ids
    return {
        name: ids
        if name == task
        else torch.full_like(ids, MISSING)
        if isinstance(held, Classes)
        else torch.full(ids.shape, torch.nan)
        for name, held in space.tasks.items()
    }


def _weights(space: Sphere, held: Classes, placed: Prototypes) -> tuple[float, ...] | None:
    """Return a weight for each class of ``placed``: that of the same point, or for a new one the mean."""
    if held.class_weights is None:
        return None
    name = next(name for name, task in space.tasks.items() if task is held)
    rows = class_prototypes(space)[name].vectors.numpy(force=True)
    given = {row.tobytes(): weight for row, weight in zip(rows, held.class_weights, strict=True)}
    mean = sum(held.class_weights) / len(held.class_weights)
    # old rows keep every bit, so they are found by their bits
    return tuple(given.get(row.tobytes(), mean) for row in placed.vectors.numpy(force=True))
