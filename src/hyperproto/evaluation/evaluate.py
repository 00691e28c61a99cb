"""Measure a stored run on its test data, or on other data."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.files import plain
from hyperproto.data import ImageData
from hyperproto.data.source import Unseen
from hyperproto.evaluation.calibrate import uncalibrated
from hyperproto.evaluation.predict import predict_split
from hyperproto.evaluation.reports import TOP, ClassReport, RangeReport, UnknownReport, report_task, report_unknown
from hyperproto.evaluation.run_data import (
    open_run,
    read_calibration,
    read_run_data,
    read_unlabeled,
    usual_batch_size,
)
from hyperproto.spaces import OutputSpace


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate_run` returns.

    Attributes
    ----------
    run, data, split, which : str
        Which run, on what, and with which weights.
    examples : int
    measures : dict of float
        Accuracy and mean absolute error, named and computed as in training.
    tasks : dict of ClassReport or RangeReport
    skipped : tuple of str
        Images that cannot be read and were left out.
    calibrated, fitted_here : bool
        Whether the run is calibrated for these weights, and whether on this very data: then its confidence looks
        better than it is.
    unknown : dict of UnknownReport
        For each class task how well unknown inputs are detected, where some were given.
    """

    run: str
    data: str
    split: str
    which: str
    examples: int
    measures: dict[str, float]
    tasks: dict[str, ClassReport | RangeReport]
    skipped: tuple[str, ...] = ()
    calibrated: bool = False
    fitted_here: bool = False
    unknown: dict[str, UnknownReport] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: None for what is not a number."""
        values: dict[str, Any] = plain(asdict(self))
        return values


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
        Which split (default: "test", or "all" where the data has no test split).
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    unseen : {"error", "missing"}
        What an example of a class is that the run does not know.
    skip_corrupt : bool, default False
        Leave out images that cannot be read.
    pairs : int, default 10
        How many of the most frequent mistakes to keep.
    batch_size : int, optional
        (default: that of the run's own validation).
    unknown : path, or data that is prepared already; optional
        Inputs of none of the classes: a folder of images at any depth, or a table for a run on a table. How well they
        are detected is reported too.
    network, space : optional
        For a network or a space that is not one of ours, as for :func:`~hyperproto.training.load.load`.
    """
    check_integer(pairs, "pairs", at_least=0)
    record, network, opened = open_run(folder, which=which, network=network, space=space)
    tasks = opened.tasks
    name, part, dataset = read_run_data(record, tasks, data, split=split, unseen=unseen, skip_corrupt=skip_corrupt)
    calibration = read_calibration(folder, which=which)
    fitted = uncalibrated(opened) | ({} if calibration is None else calibration.tasks)
    size = batch_size or usual_batch_size(record)
    predictions = predict_split(network, opened, dataset, batch_size=size, top=TOP, calibration=fitted)
    if not predictions.measures:
        raise InputError("Data to evaluate on", "have targets", "none", "To predict, no targets are needed.")
    unknown_reports: dict[str, UnknownReport] = {}
    if unknown is not None:
        if isinstance(unknown, str | Path):
            if not Path(unknown).exists():
                raise MissingDataError(f'"{unknown}"', "be a folder of images, or a table", "nothing")
            unknown = read_unlabeled(record, [Path(unknown)], skip_corrupt=skip_corrupt)[0]
        others = predict_split(network, opened, unknown, batch_size=size, top=1, calibration=fitted)
        found = {task: report_unknown(answers, others.tasks[task]) for task, answers in predictions.tasks.items()}
        unknown_reports = {task: report for task, report in found.items() if report is not None}
        if not unknown_reports:
            raise InputError("unknown", "be left out where all tasks are numbers: only classes can be unknown")
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
        unknown=unknown_reports,
    )
