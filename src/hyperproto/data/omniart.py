"""OmniArt: paintings, the year each was made and the school it belongs to."""

from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data.augment import PHOTO_AUGMENT
from hyperproto.data.image_files import check_files_exist
from hyperproto.data.preprocessing import large_image_preprocessing
from hyperproto.data.published import DatasetInfo
from hyperproto.data.source import ImageFiles, Labels, Source, Split, Unseen, class_targets, find_bounds, find_labels
from hyperproto.data.tables import column, read_columns

__all__ = ["OMNIART", "read_omniart"]

SCRIPT_BOUNDS = (1000.0, 1932.0)  # fixed in the authors' script; the paper takes the training minimum and maximum

OMNIART = DatasetInfo(
    title="OmniArt",
    url="http://isis-data.science.uva.nl/strezoski/ (described in arXiv:1708.00684)",
    layout='"train_complete.csv", "test_complete.csv" and the images as "train/ID.jpg" and "test/ID.jpg"',
    needed=("train_complete.csv", "test_complete.csv", "train", "test"),
    folders=("omniart", "OmniArt"),
)


def read_omniart(
    path: str | Path,
    *,
    from_year: int | None = None,
    bounds: Literal["data", "script"] = "data",
    size: int = 224,
    resize: int | None = None,
    unseen: Unseen = "error",
) -> Source:
    """Read OmniArt: the year a painting was made, and its school.

    Parameters
    ----------
    path : str or Path
        The folder of "train_complete.csv" and "test_complete.csv", or the one that holds it as "omniart".
    from_year : int, optional
        Keep paintings of this year and later; 1900 is "paintings from the 20th century", as the paper says. Its
        errors of 110 years and more cannot come from a range of 100, so all years are kept by default.
    bounds : {"data", "script"}
        Of the year: the extremes of the training data, as the paper says, or 1000 and 1932, as the authors' script.
    size, resize : int
        Height and width the network gets (224 in the paper), and the shorter side before the center is cut out
        (8/7 of ``size``).
    unseen : {"error", "missing"}
        What a school of the test part is that is not in the training data.

    Returns
    -------
    Source
        With the targets "year" and "school". A year beyond the bounds in the test part is scored as it is.
    """
    folder = OMNIART.find(path)
    fixed = choose(bounds, {"data": None, "script": SCRIPT_BOUNDS}, what="bounds of the year")
    (files, years, schools), tested = (_read_part(folder, name, from_year) for name in ("train", "test"))
    school = find_labels("school", schools)
    return Source(
        name="omniart",
        train=_split(files, years, schools, school, "train_complete.csv", unseen),
        test=_split(*tested, school, "test_complete.csv", unseen),
        targets={"year": find_bounds("year", years, fixed), "school": school},
        preprocessing=large_image_preprocessing(size, resize),
        augment=PHOTO_AUGMENT,
    )


def _read_part(folder: Path, name: str, from_year: int | None) -> tuple[list[Path], Tensor, list[str | None]]:
    """Return the images, the years, shape (n,), and the schools of "train" or "test"."""
    path = folder / f"{name}_complete.csv"
    table = read_columns(path)
    ids, schools = (column(table, key, path).class_names() for key in ("omni_id", "school"))
    years = column(table, "creation_year", path).numbers("creation_year", path)
    rows = torch.arange(len(ids)) if from_year is None else (years >= from_year).nonzero().flatten()
    if not len(rows):
        raise InputError(f'"{path}"', f"hold paintings from {from_year} on", "none", "Give an earlier `from_year`.")
    files = [folder / name / f"{ids[row]}.jpg" for row in rows.tolist()]
    check_files_exist(files, listed_in=str(path))
    return files, years[rows], [schools[row] for row in rows.tolist()]


def _split(
    files: list[Path], years: Tensor, schools: list[str | None], known: Labels, where: str, unseen: Unseen
) -> Split:
    ids = class_targets("school", known, schools, where=f'"{where}"', unseen=unseen)
    return Split(ImageFiles(tuple(files)), {"year": years, "school": ids})
