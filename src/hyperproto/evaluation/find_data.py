"""The data of a run, or other data that is to be seen as that."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data import Bounds, Labels, Source, Split, read_source
from hyperproto.data.preprocessing import Preprocessing, TablePreprocessing, preprocessing_from_dict
from hyperproto.data.readers import OWN, READERS, detect, read_data
from hyperproto.data.source import Target
from hyperproto.data.targets import Unseen
from hyperproto.evaluation.matching import join
from hyperproto.spaces import Range
from hyperproto.spaces.tasks import Task
from hyperproto.training import RunRecord

__all__ = ["choose_split", "preprocessing_of", "source_of"]


def source_of(
    record: RunRecord,
    tasks: Mapping[str, Task],
    path: str | Path | None = None,
    *,
    split: str | None = None,
    unseen: Unseen = "error",
) -> Source:
    """Read the data that a run was trained on, or other data the same way.

    Parameters
    ----------
    record : RunRecord
        What the run's folder says.
    tasks : mapping of Classes or Range
        Those of the run's space.
    path : path, optional
        Other data. It is read as the run's own was; where the run does not say how, as what it is seen to be.
    split : {"test", "train", "all"}, optional
        Of other data without a test part all of it is taken, unless this names a part to hold out.
    unseen : {"error", "missing"}
        What an example of a class is that training never saw.
    """
    described = record.recipe.get("data") if isinstance(record.recipe, dict) else None
    if not isinstance(described, dict) or "reader" not in described:
        if path is None:
            raise InputError(f'The run "{record.folder}" does not know its data. Say where it is: --data PATH.')
        name = detect(path)
        return read_source(path, name, **_options(record, tasks, name, whole=split is None, unseen=unseen))
    reader, options = described["reader"], dict(described.get("options") or {})
    options |= _unseen(reader, unseen)
    other = path is not None and Path(path).resolve() != Path(described.get("path") or "").resolve()
    if reader in OWN and other:
        options["targets"] = _known(tasks, reader)
        if split is None:
            options = {key: value for key, value in options.items() if key != "test"} | {"held_out": 0.0}
    return read_data({**described, "options": options}, None if path is None else str(path))


def choose_split(source: Source, split: str | None) -> tuple[str, Split]:
    """Return a part of the data and its name; unless one is asked for the test part, or all where there is none."""
    if split is None:
        split = "all" if source.test is None else "test"
    choose(split, {"test": 0, "train": 0, "all": 0}, what="part of the data")
    if split == "all":
        return split, join(source.train, source.test)
    chosen = source.train if split == "train" else source.test
    if chosen is None:
        raise InputError(f'The data "{source.name}" has no test part. Choose split "train" or "all".')
    return split, chosen


def preprocessing_of(record: RunRecord, source: Source | None = None) -> Preprocessing:
    """Return what is done to each input: as the run stored it, else as its own data has it."""
    held = record.preprocessing
    if held is None:
        if source is not None and record.recipe is not None:
            return source.preprocessing
        raise InputError(
            f'The run "{record.folder}" does not say how its inputs were prepared. Train with '
            "hp.fit(..., preprocessing=source.preprocessing), or pass data that is prepared already to evaluate_run."
        )
    try:
        return preprocessing_from_dict(held)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f'The preprocessing of "{record.folder}" is damaged ({error!r}).') from None


def _options(
    record: RunRecord, tasks: Mapping[str, Task], name: str, *, whole: bool, unseen: Unseen
) -> dict[str, Any]:
    """Return what a reader must know about data of which only the run is known."""
    if name not in OWN:
        return _unseen(name, unseen)
    options: dict[str, Any] = {"unseen": unseen, "targets": _known(tasks, name)} | (
        {"held_out": 0.0} if whole else {}
    )
    if name == "image-folder":
        return options
    preprocessing = preprocessing_of(record)
    if not isinstance(preprocessing, TablePreprocessing):
        raise InputError(
            f'The run "{record.folder}" takes images, and which column of a table names them it does not know. '
            "Read the table with hp.data.read_table and pass it to evaluate_run."
        )
    columns: dict[str, list[str]] = {"classes": [], "ranges": []}
    for task_name, task in tasks.items():
        columns["ranges" if isinstance(task, Range) else "classes"].append(task_name)
    return options | columns | {"columns": preprocessing.columns}


def _known(tasks: Mapping[str, Task], reader: str) -> dict[str, Target]:
    """Return the run's tasks by the names the reader gives them; without class names there is nothing to know."""
    known: dict[str, Target] = {}
    for name, task in tasks.items():
        if isinstance(task, Range):
            known[name] = Bounds(task.low, task.high)
        elif task.names is not None:
            known[name] = Labels(task.names)
    if reader == "image-folder" and len(known) == 1:
        return {"class": next(iter(known.values()))}  # its only task, whatever the run calls it
    return known


def _unseen(reader: str, unseen: Unseen) -> dict[str, Any]:
    """Return the rule for unseen classes, for readers that have one."""
    takes = reader in READERS and "unseen" in inspect.signature(READERS[reader].read).parameters
    return {"unseen": unseen} if takes else {}
