"""A stored run on its test data, or on other data."""

import warnings
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.errors import InputError
from hyperproto.data import ImageData, Source, training_data
from hyperproto.data.targets import Unseen
from hyperproto.evaluation.evaluation import TOP, Evaluation, report_task
from hyperproto.evaluation.find_data import choose_split, preprocessing_of, source_of
from hyperproto.evaluation.matching import match_targets
from hyperproto.evaluation.predictions import predict_split
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.tasks import Task
from hyperproto.training import RunRecord, load, read_run
from hyperproto.training.evaluate import validation_batch_size

__all__ = ["evaluate_run", "usual_batch_size"]

MOST_AT_ONCE = 2**14  # whatever a config says


def evaluate_run(
    folder: str | Path,
    data: Any = None,
    *,
    split: str | None = None,
    which: str = "last",
    unseen: Unseen = "error",
    skip_corrupt: bool = False,
    pairs: int = 10,
    batch_size: int | None = None,
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Evaluation:
    """Measure a stored run: every example once, values beyond the bounds scored as they are.

    Parameters
    ----------
    folder : path
        The run.
    data : path, Source, or what ``hp.evaluate`` takes; optional
        Other data than the run's own. Classes of a path or a Source are matched to those of the run by name; what is
        a data set already must be prepared as it was for training.
    split : {"test", "train", "all"}, optional
        Which part; the test part unless given, or all where the data has none.
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    unseen : {"error", "missing"}
        What an example of a class is that the run does not know.
    skip_corrupt : bool, default False
        Leave out images that cannot be read.
    pairs : int, default 10
        How many of the most frequent mistakes to keep.
    batch_size : int, optional
        As in the run's own validation unless given.
    network, space : optional
        For a network or a space that is not one of ours, as for :func:`~hyperproto.training.loading.load`.
    """
    record = read_run(folder)
    network, space = load(folder, which=which, network=network, space=space)
    tasks = _tasks(space)
    name, part, dataset = "data", split or "all", data
    if data is None or isinstance(data, str | Path | Source):
        read = data if isinstance(data, Source) else source_of(record, tasks, data, split=split, unseen=unseen)
        name = read.name
        skip_corrupt = skip_corrupt or bool((record.recipe or {}).get("skip_corrupt"))  # as it was trained
        part, dataset = _prepare(record, read, tasks, split, unseen, skip_corrupt)
    size = batch_size or usual_batch_size(record)
    predictions = predict_split(network, space, dataset, batch_size=size, top=TOP)
    if not predictions.measures:
        raise InputError("Data to evaluate on must have targets; it has none. `predict` answers without.")
    return Evaluation(
        run=str(folder),
        data=name,
        split=part,
        which=which,
        examples=predictions.examples,
        measures=predictions.measures,
        tasks={task: report_task(tasks[task], answers, pairs=pairs) for task, answers in predictions.tasks.items()},
        skipped=tuple(map(str, dataset.skipped)) if isinstance(dataset, ImageData) else (),
    )


def usual_batch_size(record: RunRecord) -> int:
    """Return how many examples the run validated at once, so that measures agree with its own to the bit."""
    try:
        return min(MOST_AT_ONCE, validation_batch_size(record.settings))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return 512


def _prepare(
    record: RunRecord,
    source: Source,
    tasks: dict[str, Task],
    split: str | None,
    unseen: Unseen,
    skip_corrupt: bool,
) -> tuple[str, Any]:
    """Return the name of the part to evaluate on, and that part as the network takes it."""
    part, chosen = choose_split(source, split)
    matched = match_targets(chosen, source.tasks, tasks, unseen=unseen)
    preprocessing = preprocessing_of(record, source)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* cannot be read and are left out")  # `skipped` says so
        return part, training_data(matched, preprocessing, skip_corrupt=skip_corrupt)


def _tasks(space: OutputSpace) -> dict[str, Task]:
    if not isinstance(space, TaskSpace):
        raise InputError(
            f"A space to evaluate must say what its tasks are, as hp.Space does; got {type(space).__name__}. "
            "hp.evaluate measures any."
        )
    return space.tasks
