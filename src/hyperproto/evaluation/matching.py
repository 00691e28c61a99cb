"""Data in the terms of a run: its tasks by name, and its class ids whatever order the data has them in."""

from collections.abc import Mapping

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data import ImageFiles, Labels, Split
from hyperproto.data.source import MISSING, Target
from hyperproto.data.targets import Unseen
from hyperproto.spaces import Classes
from hyperproto.spaces.tasks import Task

__all__ = ["join", "match_targets"]


def match_targets(
    split: Split, found: Mapping[str, Target], wanted: Mapping[str, Task], *, unseen: Unseen = "error"
) -> Split:
    """Return a split whose targets are those of a run.

    Parameters
    ----------
    split : Split
        As it was read; other tasks than those of the run are left out.
    found : mapping of Labels or Bounds
        The targets of the data.
    wanted : mapping of Classes or Range
        The tasks of the run. One on either side is matched whatever its name.
    unseen : {"error", "missing"}
        What an example of a class is that the run does not know.
    """
    targets = {}
    for name, task in wanted.items():
        source = _counterpart(name, task, found, alone=len(wanted) == 1)
        target, held = split.targets[source], found[source]
        if isinstance(task, Classes) and isinstance(held, Labels):
            target = _match_classes(name, target, held, task, unseen)
        targets[name] = target
    return Split(split.inputs, targets)


def join(first: Split, second: Split | None) -> Split:
    """Return the examples of both."""
    if second is None:
        return first
    targets = {name: torch.cat([target, second.targets[name]]) for name, target in first.targets.items()}
    if isinstance(first.inputs, ImageFiles):
        assert isinstance(second.inputs, ImageFiles)
        return Split(ImageFiles((*first.inputs.paths, *second.inputs.paths)), targets)
    assert isinstance(second.inputs, Tensor)
    return Split(torch.cat([first.inputs, second.inputs]), targets)


def _counterpart(name: str, task: Task, found: Mapping[str, Target], *, alone: bool) -> str:
    """Return which task of the data answers to a task of the run."""
    source = next(iter(found)) if name not in found and alone and len(found) == 1 else name
    if source not in found or isinstance(found[source], Labels) != isinstance(task, Classes):
        kind = "classes" if isinstance(task, Classes) else "numbers"
        listed = ", ".join(f'"{known}"' for known in found)
        raise InputError(f'The data must have {kind} called "{name}", as the run does; it has {listed}.')
    return source


def _match_classes(name: str, ids: Tensor, found: Labels, wanted: Classes, unseen: Unseen) -> Tensor:
    """Return the run's ids of the data's classes, by their names."""
    raises = choose(unseen, {"error": True, "missing": False}, what="rule for unseen labels")
    if wanted.names is None:
        if found.num_classes != wanted.num_classes:
            raise InputError(
                f'"{name}" must have {wanted.num_classes} classes, as the run does, where they have no names; '
                f"the data has {found.num_classes}."
            )
        return ids
    known = {label: index for index, label in enumerate(wanted.names)}
    lookup = torch.tensor([*(known.get(label, MISSING) for label in found.names), MISSING])  # -1, missing, stays so
    matched = lookup[ids]
    strange = torch.unique(ids[(matched == MISSING) & (ids != MISSING)]).tolist()
    if strange and raises:
        listed = ", ".join(f'"{found.names[index]}"' for index in strange[:5]) + (", ..." if len(strange) > 5 else "")
        rows = int(torch.isin(ids, torch.tensor(strange)).sum())
        raise InputError(
            f'"{name}" must be among the {wanted.num_classes} classes of the run; the data also holds {listed} '
            f'({len(strange)} unknown in {rows} of {len(ids)} examples). unseen="missing" leaves those out.'
        )
    return matched
