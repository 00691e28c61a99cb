"""The data to ask a run about: its own, other data, or data that is prepared already."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError
from hyperproto.data import Source, training_data
from hyperproto.data.targets import Unseen
from hyperproto.evaluation.find_data import choose_split, preprocessing_of, source_of
from hyperproto.evaluation.matching import match_targets
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.tasks import Task
from hyperproto.spec import ResolvedSettings
from hyperproto.training import RunRecord

__all__ = ["read_run_data", "tasks_of", "usual_batch_size"]

MOST_AT_ONCE = 2**14  # whatever a config says


def read_run_data(
    record: RunRecord,
    tasks: Mapping[str, Task],
    data: Any = None,
    *,
    split: str | None = None,
    unseen: Unseen = "error",
    skip_corrupt: bool = False,
) -> tuple[str, str, Any]:
    """Return the name of the data, the name of the part, and that part as the network takes it.

    Parameters are those of :func:`~hyperproto.evaluation.evaluate_run.evaluate_run`.
    """
    if data is not None and not isinstance(data, str | Path | Source):
        return "data", split or "all", data
    source = data if isinstance(data, Source) else source_of(record, tasks, data, split=split, unseen=unseen)
    skip_corrupt = skip_corrupt or bool((record.recipe or {}).get("skip_corrupt"))  # as it was trained
    part, chosen = choose_split(source, split)
    matched = match_targets(chosen, source.targets, tasks, unseen=unseen)
    preprocessing = preprocessing_of(record, source)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* cannot be read and are left out")  # `skipped` says so
        return source.name, part, training_data(matched, preprocessing, skip_corrupt=skip_corrupt)


def tasks_of(space: OutputSpace) -> dict[str, Task]:
    """Return the tasks of a space that says what they are."""
    if not isinstance(space, TaskSpace):
        raise InputError(
            f"A space to evaluate must say what its tasks are, as hp.Space does; got {type(space).__name__}. "
            "hp.evaluate measures any."
        )
    return space.tasks


def usual_batch_size(record: RunRecord) -> int:
    """Return how many examples the run validated at once, so that measures agree with its own to the bit."""
    try:
        return min(MOST_AT_ONCE, ResolvedSettings.from_dict(record.settings).validation_batch_size)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return 512
