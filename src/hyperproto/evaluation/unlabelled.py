"""Inputs that nobody has labelled, prepared as a run's training data was."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from hyperproto._core.errors import InputError
from hyperproto.data import Arrays, ImageData, ImageFiles, Split, TablePreprocessing
from hyperproto.data.columns import column, is_table, numbers, read_columns
from hyperproto.data.image_files import EXTENSIONS
from hyperproto.data.prepare import standardise
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.evaluation.find_data import preprocessing_of
from hyperproto.training import RunRecord

__all__ = ["image_files_in", "read_unlabelled"]


def read_unlabelled(
    record: RunRecord, paths: Sequence[Path], *, skip_corrupt: bool = False
) -> tuple[Arrays | ImageData, list[dict[str, Any]]]:
    """Return inputs without targets, and where each came from.

    Parameters
    ----------
    record : RunRecord
        What the run's folder says.
    paths : sequence of Path
        Image files and folders of such, at any depth; for a run on a table, tables that have its columns, or the
        column of its images.
    skip_corrupt : bool, default False
        Leave out images that cannot be read; otherwise the first of them is named in an error.
    """
    preprocessing = preprocessing_of(record)
    if isinstance(preprocessing, TablePreprocessing):
        return _rows_of(list(paths), preprocessing)
    asked = dict((record.recipe or {}).get("data", {}).get("options", {}))
    return _images_of(list(paths), preprocessing, skip_corrupt, asked.get("image"))


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
