"""Names, cosines and numbers for files that nobody has labelled."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.data import Arrays, ImageData, ImageFiles, Split, TablePreprocessing
from hyperproto.data.columns import column, is_table, numbers, read_columns
from hyperproto.data.image_files import EXTENSIONS
from hyperproto.data.prepare import standardise
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.evaluation.evaluate_run import usual_batch_size
from hyperproto.evaluation.find_data import preprocessing_of
from hyperproto.evaluation.predictions import Predictions, predict_split, score_name
from hyperproto.spaces import Classes, OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training import load, read_run

__all__ = ["FilePredictions", "image_files_in", "predict_files"]


@dataclass(frozen=True)
class FilePredictions:
    """What :func:`predict_files` returns.

    Attributes
    ----------
    rows : list of dict
        ``{"file": ..., "predictions": {task: ...}}`` in the order of the files; a table's also have "row", from 1. A
        class task's answer is ``{"name", "cosine", "top": [{"name", "cosine"}, ...]}``, a range's a number. Spaces
        other than the sphere have "score" in place of "cosine".
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
    preprocessing = preprocessing_of(record)
    given = [Path(path) for path in paths]
    if not given:
        raise InputError("Give at least one file to predict; got none.")
    network, space = load(folder, which=which, network=network, space=space)
    data: Arrays | ImageData
    if isinstance(preprocessing, TablePreprocessing):
        data, origins = _rows_of(given, preprocessing)
    else:
        asked = dict((record.recipe or {}).get("data", {}).get("options", {}))
        data, origins = _images_of(given, preprocessing, skip_corrupt, asked.get("image"))
    predictions = predict_split(network, space, data, batch_size=usual_batch_size(record), top=top)
    skipped = data.skipped if isinstance(data, ImageData) else ()
    return FilePredictions(_tell(origins, predictions, space), skipped)


def image_files_in(paths: Iterable[Path]) -> list[Path]:
    """Return the files as they are, and in place of each folder the images in it and below, sorted."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in EXTENSIONS and p.name[0] != ".")
        if not inside:
            raise InputError(f'Folder "{path}" must hold images; it holds none.')
        files += inside
    return files


def _images_of(
    given: list[Path], preprocessing: ImagePreprocessing, skip_corrupt: bool, image: str | None
) -> tuple[ImageData, list[dict[str, Any]]]:
    files: list[Path] = []
    origins: list[dict[str, Any]] = []
    for path in image_files_in(given):
        if not path.is_file():
            raise FileNotFoundError(f'"{path}" must be an image file or a folder; there is none. Check the path.')
        if not is_table(path):
            files.append(path)
            origins.append({"file": str(path)})
            continue
        if image is None:
            raise InputError(f'The run takes images; "{path}" is a table. Give image files, or folders of such.')
        cells = column(read_columns(path), image, path)
        files += [path.parent / str(cell) for cell in cells]
        origins += [{"file": str(path), "row": row, image: str(cell)} for row, cell in enumerate(cells, 1)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* cannot be read and are left out")  # `skipped` says so
        data = ImageData(Split(ImageFiles(tuple(files)), {}), preprocessing, skip_corrupt=skip_corrupt)
    left_out = set(data.skipped)
    return data, [told for told, path in zip(origins, files, strict=True) if path not in left_out]


def _rows_of(given: list[Path], preprocessing: TablePreprocessing) -> tuple[Arrays, list[dict[str, Any]]]:
    parts, origins = [], []
    for path in given:
        if not is_table(path):
            wanted = ", ".join(preprocessing.columns[:5]) + (", ..." if len(preprocessing.columns) > 5 else "")
            raise InputError(f'The run takes rows of a table with columns {wanted}; "{path}" is none (.csv, .tsv).')
        table = read_columns(path)
        cells = [numbers(column(table, name, path), name, path) for name in preprocessing.columns]
        parts.append(torch.stack(cells, dim=1).float())
        origins += [{"file": str(path), "row": row} for row in range(1, len(cells[0]) + 1)]
    return Arrays(standardise(torch.cat(parts), preprocessing), {}), origins


def _tell(origins: list[dict[str, Any]], predictions: Predictions, space: OutputSpace) -> list[dict[str, Any]]:
    """Put answers into words, row by row."""
    tasks, score = space.tasks if isinstance(space, TaskSpace) else {}, score_name(space)
    told: dict[str, list[Any]] = {}
    for name, answers in predictions.tasks.items():
        task = tasks.get(name)
        if not isinstance(task, Classes) or answers.top is None or answers.top_scores is None:
            told[name] = answers.predicted.tolist()
            continue
        names = [str(index) for index in range(task.num_classes)] if task.names is None else task.names
        told[name] = [
            [{"name": names[index], score: value} for index, value in zip(ids, values, strict=True)]
            for ids, values in zip(answers.top.tolist(), answers.top_scores.tolist(), strict=True)
        ]
    return [
        {**origin, "predictions": {name: _answer(values[place]) for name, values in told.items()}}
        for place, origin in enumerate(origins)
    ]


def _answer(value: Any) -> Any:
    return {**value[0], "top": value} if isinstance(value, list) else value
