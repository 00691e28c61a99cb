"""Names, cosines and numbers for files that nobody has labelled."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.data import ImageData
from hyperproto.evaluation.calibrate import read_calibration
from hyperproto.evaluation.confidence import Confidence
from hyperproto.evaluation.predictions import Answers, Predictions, predict_split, score_name
from hyperproto.evaluation.run_data import usual_batch_size
from hyperproto.evaluation.unlabelled import read_unlabelled
from hyperproto.spaces import Classes, OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training import load, read_run

__all__ = ["FilePredictions", "predict_files"]

UNKNOWN = "unknown"


@dataclass(frozen=True)
class FilePredictions:
    """What :func:`predict_files` returns.

    Attributes
    ----------
    rows : list of dict
        ``{"file": ..., "predictions": {task: ...}}`` in the order of the files; a table's also have "row", from 1. A
        class task's answer is ``{"name", "cosine", "top": [{"name", "cosine"}, ...]}``, a range's a number. Spaces
        other than the sphere have "score" in place of "cosine". Where the run is calibrated for these weights each
        class also has its "probability"; a class task's answer also the names in its "set" and, where a threshold was
        fitted, whether it is "unknown", in which case that is its "name"; a range's answer is
        ``{"value", "low", "high"}``.
    skipped : tuple of Path
        Images that cannot be read and were left out.
    """

    rows: list[dict[str, Any]]
    skipped: tuple[Path, ...] = ()


def predict_files(
    folder: str | Path,
    paths: Iterable[str | Path],
    *,
    top: int = 3,
    which: str = "last",
    skip_corrupt: bool = False,
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> FilePredictions:
    """Let a stored run answer to images, or to the rows of tables, prepared as its training data was.

    Parameters
    ----------
    folder : path
        The run.
    paths : iterable of path
        Image files and folders of such, at any depth; for a run on a table, tables that have its columns, or the
        column of its images.
    top : int, default 3
        How many classes to name for each class task.
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    skip_corrupt : bool, default False
        Leave out images that cannot be read; otherwise the first of them is named in an error.
    network, space : optional
        For a network or a space that is not one of ours, as for :func:`~hyperproto.training.loading.load`.
    """
    record, top = read_run(folder), check_integer(top, "top", at_least=1)
    given = [Path(path) for path in paths]
    if not given:
        raise InputError("Give at least one file to predict; got none.")
    network, space = load(folder, which=which, network=network, space=space)
    data, origins = read_unlabelled(record, given, skip_corrupt=skip_corrupt)
    calibration = read_calibration(folder, space, which=which)
    fitted = None if calibration is None else calibration.tasks
    size = usual_batch_size(record)
    predictions = predict_split(network, space, data, batch_size=size, top=top, calibration=fitted)
    skipped = data.skipped if isinstance(data, ImageData) else ()
    return FilePredictions(_tell(origins, predictions, space), skipped)


def _tell(origins: list[dict[str, Any]], predictions: Predictions, space: OutputSpace) -> list[dict[str, Any]]:
    """Put answers into words, row by row."""
    tasks, score = space.tasks if isinstance(space, TaskSpace) else {}, score_name(space)
    told: dict[str, list[Any]] = {}
    for name, answers in predictions.tasks.items():
        task = tasks.get(name)
        if not isinstance(task, Classes) or answers.top is None or answers.top_scores is None:
            told[name] = _numbers(answers)
            continue
        names = [str(index) for index in range(task.num_classes)] if task.names is None else list(task.names)
        told[name] = _classes(answers, names, score)
    return [
        {**origin, "predictions": {name: values[place] for name, values in told.items()}}
        for place, origin in enumerate(origins)
    ]


def _numbers(answers: Answers) -> list[Any]:
    if answers.confidence is None or answers.confidence.intervals is None:
        return answers.predicted.tolist()
    ends = answers.confidence.intervals.tolist()
    return [
        {"value": value, "low": low, "high": high}
        for value, (low, high) in zip(answers.predicted.tolist(), ends, strict=True)
    ]


def _classes(answers: Answers, names: list[str], score: str) -> list[dict[str, Any]]:
    """Return ``{"name", "cosine", ..., "top"}`` for each row, with what a calibration adds."""
    assert answers.top is not None
    assert answers.top_scores is not None
    columns, confidence = {score: answers.top_scores.tolist()}, answers.confidence or Confidence()
    if confidence.probabilities is not None:
        columns["probability"] = confidence.probabilities.tolist()
    told: list[dict[str, Any]] = []
    for row, ids in enumerate(answers.top.tolist()):
        top: list[dict[str, Any]] = [{"name": names[index]} for index in ids]
        for place, guess in enumerate(top):
            guess |= {key: held[row][place] for key, held in columns.items()}
        told.append({**top[0], "top": top})
    if confidence.set_sizes is not None and confidence.set_members is not None:
        ids, start = confidence.set_members.tolist(), 0
        for answer, size in zip(told, confidence.set_sizes.tolist(), strict=True):
            answer["set"] = [names[index] for index in ids[start : start + size]]
            start += size
    if confidence.accepted is not None:
        for answer, accepted in zip(told, confidence.accepted.tolist(), strict=True):
            answer["unknown"] = not accepted
            answer["name"] = answer["name"] if accepted else UNKNOWN
    return told
