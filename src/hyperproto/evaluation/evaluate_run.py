"""A stored run on its test data, or on other data."""

from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.errors import InputError
from hyperproto.data import ImageData
from hyperproto.data.targets import Unseen
from hyperproto.evaluation.calibrate_run import read_calibration
from hyperproto.evaluation.evaluation import TOP, Evaluation, report_task
from hyperproto.evaluation.fit_calibration import uncalibrated
from hyperproto.evaluation.predictions import Predictions, predict_split
from hyperproto.evaluation.run_data import read_run_data, tasks_of, usual_batch_size
from hyperproto.evaluation.sure_reports import UnknownReport, report_unknown
from hyperproto.evaluation.unlabelled import read_unlabelled
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training import RunRecord, load, read_run

__all__ = ["evaluate_run"]


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
    unknown: Any = None,
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
    unknown : path, or data that is prepared already; optional
        Inputs of none of the classes: a folder of images at any depth, or a table for a run on a table. How well they
        are told from the data evaluated on is reported too.
    network, space : optional
        For a network or a space that is not one of ours, as for :func:`~hyperproto.training.loading.load`.
    """
    record = read_run(folder)
    network, space = load(folder, which=which, network=network, space=space)
    tasks = tasks_of(space)
    assert isinstance(space, TaskSpace)
    name, part, dataset = read_run_data(record, tasks, data, split=split, unseen=unseen, skip_corrupt=skip_corrupt)
    calibration = read_calibration(folder, space, which=which)
    fitted = uncalibrated(space) | ({} if calibration is None else calibration.tasks)
    size = batch_size or usual_batch_size(record)
    predictions = predict_split(network, space, dataset, batch_size=size, top=TOP, calibration=fitted)
    if not predictions.measures:
        raise InputError("Data to evaluate on must have targets; it has none. `predict` answers without.")
    strange: dict[str, UnknownReport] = {}
    if unknown is not None:
        inputs = _unknown_inputs(record, unknown, skip_corrupt)
        answered = predict_split(network, space, inputs, batch_size=size, top=1, calibration=fitted)
        strange = _report_unknown(predictions, answered)
    return Evaluation(
        run=str(folder),
        data=name,
        split=part,
        which=which,
        examples=predictions.examples,
        measures=predictions.measures,
        tasks={
            task: report_task(tasks[task], answers, pairs=pairs, calibration=fitted.get(task))
            for task, answers in predictions.tasks.items()
        },
        skipped=tuple(map(str, dataset.skipped)) if isinstance(dataset, ImageData) else (),
        calibrated=calibration is not None,
        fitted_here=calibration is not None and (name, part) == tuple(map(calibration.origin.get, ("data", "split"))),
        unknown=strange,
    )


def _unknown_inputs(record: RunRecord, unknown: Any, skip_corrupt: bool) -> Any:
    """Return inputs of none of the classes, as the network takes them."""
    if not isinstance(unknown, str | Path):
        return unknown
    if not Path(unknown).exists():
        raise FileNotFoundError(f'"{unknown}" must be a folder of images, or a table; there is none. Check the path.')
    return read_unlabelled(record, [Path(unknown)], skip_corrupt=skip_corrupt)[0]


def _report_unknown(known: Predictions, unknown: Predictions) -> dict[str, UnknownReport]:
    found = {
        task: report_unknown(answers, unknown.tasks[task])
        for task, answers in known.tasks.items()
        if answers.outliers is not None
    }
    if not found:
        raise InputError("Unknown inputs are told apart by classes; this run predicts numbers only.")
    return found
