"""Whether a run can be continued with what was passed, and from where."""

from pathlib import Path
from typing import Any

import torch

from hyperproto._core.errors import InputError
from hyperproto._core.files import plain, remove_unfinished
from hyperproto.spaces import OutputSpace
from hyperproto.training.building import stored_prototypes
from hyperproto.training.checkpoint import Checkpoint, read_checkpoint
from hyperproto.training.loading import read_run
from hyperproto.training.run import CHECKPOINT, REPLACED, class_prototypes, clear_false_start, clear_note_of_start

__all__ = ["check_same_run", "find_checkpoint", "remark_on"]

COMPARED = ("settings", "network", "space", "data", "preprocessing")


def find_checkpoint(folder: Path, config: dict[str, Any], space: OutputSpace) -> Checkpoint | None:
    """Return the moment to continue from; None where a run has yet to begin.

    A run that was cut off before its config was written leaves at most parts of files, which are removed.
    """
    if not (folder / "config.json").is_file():
        clear_false_start(folder)
        return None
    check_same_run(folder, config, space)
    clear_note_of_start(folder)
    path = folder / CHECKPOINT
    if path.is_file():
        return read_checkpoint(path)
    remove_unfinished(folder, REPLACED)  # killed while the first checkpoint was written
    return None


def check_same_run(folder: Path, config: dict[str, Any], space: OutputSpace) -> None:
    """Raise a sentence that names the first difference between a stored run and the one to continue it."""
    stored = read_run(folder).config
    given = plain(config)  # tuples become lists, as they did on their way through the file
    for part in COMPARED:
        if found := _first_difference(stored.get(part), given.get(part), part):
            name, before, now = found
            raise InputError(
                f'"{folder}" was begun with {name}={before!r}; got {now!r}. '
                "Resume with what it was begun with, or choose another folder."
            )
    if stored["space"] is not None:
        held = stored_prototypes(folder, stored["space"])
        for name, prototypes in class_prototypes(space).items():
            if not torch.equal(held[name].vectors, prototypes.vectors.cpu()):
                raise InputError(
                    f'"{folder}" was begun with other prototypes for "{name}". '
                    "Take the space from hyperproto.training.rebuild(folder), or choose another folder."
                )


def remark_on(checkpoint: Checkpoint, machine: dict[str, Any]) -> str | None:
    """Return what a record should say about a run that continues on another machine than it began on."""
    before = checkpoint.state["machine"]
    changed = [
        f"{name}={now} instead of {before.get(name)}" for name, now in machine.items() if before.get(name) != now
    ]
    return f"continued with {', '.join(changed)}: equal to an unbroken run only to rounding" if changed else None


def _first_difference(before: Any, now: Any, name: str) -> tuple[str, Any, Any] | None:
    """Return the name of the first value that differs and both values; names lead through dicts and lists."""
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = [(str(key), before.get(key), now.get(key)) for key in before | now]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = [(str(index), *pair) for index, pair in enumerate(zip(before, now, strict=True))]
    else:
        return None if before == now else (name, before, now)
    found = (_first_difference(old, new, key if name == "settings" else f"{name}.{key}") for key, old, new in pairs)
    return next((difference for difference in found if difference), None)
