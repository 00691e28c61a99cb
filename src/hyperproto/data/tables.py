"""Your own table: images or numbers to learn from, and any number of classes and numbers to predict."""

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import unknown_choice
from hyperproto._core.errors import InputError, MissingDataError, arg
from hyperproto._core.extras import require
from hyperproto.data.augment import PHOTO_AUGMENT
from hyperproto.data.image_files import ImageFiles, check_files_exist
from hyperproto.data.preprocessing import Preprocessing, Standardizer, TablePreprocessing, large_image_preprocessing
from hyperproto.data.source import (
    Inputs,
    Labels,
    Source,
    Split,
    Target,
    Unseen,
    class_targets,
    find_bounds,
    find_labels,
    hold_out_rows,
    select,
)
from hyperproto.defaults import IMAGE_SIZE

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


class Column:
    """One column of a table: text, None where a cell is empty; from Parquet also numbers.

    ``values`` is a list or a pyarrow.ChunkedArray; ``about`` names the column in errors.
    """

    def __init__(self, values: Any, about: str) -> None:
        self._values, self._about = values, about

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def cells(self) -> list[Any]:
        """The cells as found, None where empty."""
        if isinstance(self._values, list):
            return self._values
        return [None if isinstance(cell, float) and cell != cell else cell for cell in self._values.to_pylist()]

    def numbers(self) -> Tensor:
        """Return the cells as float64, shape (n,), NaN where empty; an error names the first that is no number."""
        try:
            if isinstance(self._values, list):
                values = np.array(self._values, dtype=object).astype(np.float64)
            else:
                values = np.array(self._values.cast("float64").to_numpy())
        except (TypeError, ValueError, NotImplementedError):  # the last two of pyarrow's
            values = np.array([_number(cell) for cell in self.cells])
        if not np.isinf(values).any():
            return torch.from_numpy(values)
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(
            self._about,
            "hold finite numbers or empty cells",
            f'"{self.cells[row]}" in row {row + 1} ({int(np.isinf(values).sum())} of {len(values)} rows)',
            "Correct it, empty the cell where the number is not known, or say which columns to read (`image` for one "
            "of paths, `columns` for numbers).",
        )

    def class_names(self) -> list[str | None]:
        """Return the cells as names of classes, None where empty; 3.0 is called 3, for gaps make integers floats."""
        return [
            None if cell is None else str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
            for cell in self.cells
        ]


class Table(dict[str, Column]):
    """The columns of a table by name; asking for one that is not there lists which there are."""

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        super().__init__({name: Column(cells, f'Column "{name}" of "{path}"') for name, cells in values.items()})
        self.path = path

    def __missing__(self, name: str) -> Column:
        raise unknown_choice(name, self, what=f'column of "{self.path}"')


def _number(cell: Any) -> float:
    """Return a cell as a number, NaN where empty, infinity where it is none."""
    try:
        return math.nan if cell is None else float(cell)
    except (TypeError, ValueError):
        return math.inf


def is_table(path: str | Path) -> bool:
    """Whether a file has the name of a table."""
    return Path(path).suffix.lower() in (*DELIMITERS, *PARQUET)


def read_columns(path: str | Path) -> Table:
    """Read a table with a header from CSV, TSV or Parquet. Surrounding blanks are dropped; an empty cell is None.

    pyarrow reads it where it is installed: 50,000 rows of 20 numbers take a tenth of the time of the csv module.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f'Table "{path}"', "be an existing file", advice="Check the path.")
    ending = path.suffix.lower()
    if ending in PARQUET:
        columns = _read_parquet(path)
    elif ending in DELIMITERS:
        columns = _read_text_by_pyarrow(path, DELIMITERS[ending]) or _read_text(path, DELIMITERS[ending])
    else:
        raise InputError(f'Table "{path}"', "end in .csv, .tsv or .parquet", f'"{path.suffix}"', "Rename it.")
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f'Table "{path}"', "hold at least one row below its header", "none")
    return Table(path, columns)


def _read_text(path: Path, delimiter: str) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f'Table "{path}"', "be CSV in UTF-8", f"an error ({error})", "Save it as such.") from None
    if not rows:
        raise InputError(f'Table "{path}"', "start with a line of column names", "an empty file")
    header = _header(rows[0], path)
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise InputError(
                f'Rows of "{path}"',
                f"have {len(header)} cells like its header",
                f"{len(row)} in row {number}",
                "Put text that has a comma in quotes.",
            )
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(header)
    return {name: [cell.strip() or None for cell in cells] for name, cells in zip(header, columns, strict=True)}


def _header(names: Sequence[str], path: Path) -> list[str]:
    header = [name.strip() for name in names]
    for name in header:
        if header.count(name) > 1:
            raise InputError(f'Columns of "{path}"', "have different names", f'"{name}" twice', "Rename one.")
    return header


def _read_text_by_pyarrow(path: Path, delimiter: str) -> dict[str, Any] | None:
    """Return the columns, or None where pyarrow is not installed or stumbles: the csv module then says why."""
    try:
        pyarrow, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    except ModuleNotFoundError:
        return None
    content = path.read_bytes()
    if content.count(b'"') % 2:
        return None  # a quote that is never closed, of which pyarrow makes a cell
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next((row for row in csv.reader(file, delimiter=delimiter, strict=True) if row), [])
        numbered = [str(index) for index in range(len(first))]
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(content),
            read_options=arrow_csv.ReadOptions(column_names=numbered),  # the header is read as a row
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(numbered, pyarrow.string())),
        )
    except (csv.Error, UnicodeDecodeError, pyarrow.ArrowException):
        return None
    header = _header(first, path)
    return {name: _stripped(values[1:]) for name, values in zip(header, table.columns, strict=True)}


def _read_parquet(path: Path) -> dict[str, Any]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose=f'Reading "{path.name}"')
    lib = import_module("pyarrow.lib")
    try:
        table = parquet.read_table(path)
    except (lib.ArrowException, OSError) as error:
        raise InputError(f'Table "{path}"', "be Parquet", f"an error ({error})", "Save it as such.") from None
    return {name: _stripped(table[name]) for name in table.column_names}


def _stripped(values: Any) -> Any:
    """Return a column of pyarrow without surrounding blanks; empty text is missing."""
    pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    if pyarrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type)):
        return values
    text = compute.utf8_trim_whitespace(values)
    return compute.if_else(compute.equal(text, ""), pyarrow.scalar(None, text.type), text)


def describe_columns(columns: Mapping[str, Column]) -> dict[str, dict[str, Any]]:
    """Return for each column its number of rows, of empty cells and of different values, and what they seem to be."""
    found = {}
    for name, values in columns.items():
        present = [cell for cell in values.cells if cell is not None]
        different = len({str(cell) for cell in present})
        are_numbers = not any(math.isinf(_number(cell)) for cell in present)
        seems = "nothing" if not present else "numbers" if are_numbers else "text"
        rows, empty = len(values), len(values) - len(present)
        found[name] = {"rows": rows, "empty": empty, "different": different, "seems": seems}
    return found


def read_table(
    path: str | Path,
    *,
    image: str | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[str] = (),
    ranges: Sequence[str] = (),
    test: str | Path | None = None,
    held_out: float = 0.2,
    seed: int = 0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    unseen: Unseen = "error",
    size: int = IMAGE_SIZE,
    resize: int | None = None,
    targets: Mapping[str, Target] | None = None,
) -> Source:
    """Read a table (.csv, .tsv, .parquet) of images or of numbers, with one target for each column to predict.

    Parameters
    ----------
    path : str or Path
        The table, with a header.
    image : str, optional
        The column that names image files, relative to the table's folder.
    columns : sequence of str, optional
        Without ``image``: the columns of numbers to learn from (default: all that are not targets). Empty cells are
        allowed, and get the mean of the training data.
    classes, ranges : sequence of str
        The columns to predict, as classes and as numbers. Empty cells are allowed: missing targets.
    test : str or Path, optional
        A table of the same columns to test on (default: ``held_out``, a share of the rows drawn by the ``seed``).
    bounds : mapping of str to (low, high), optional
        For columns of ``ranges`` (default: the extremes of the training data).
    unseen : {"error", "missing"}
        What a class in the test table is that is not in the training data.
    size, resize : int
        For images: what the network gets, and the shorter side before the center is cut out (8/7 of ``size``).
    targets : mapping of str to Labels or Bounds, optional
        Those of a trained model: class names and bounds are then its own, not those of the data, and ``unseen`` goes
        for the training part too.

    Returns
    -------
    Source
        Class names are sorted; numbers beyond the bounds are scored as they are in testing.
    """
    path, given, known = Path(path), dict(bounds or {}), dict(targets or {})
    table = read_columns(path)
    _check_choices(table, image, columns, classes, ranges, given)
    names = [image] if image else list(columns or (name for name in table if name not in (*classes, *ranges)))
    if not names:
        raise InputError(f'"{path}"', f"have a column to learn from next to {', '.join((*classes, *ranges))}")
    labels = {name: find_labels(name, table[name].class_names(), known.get(name)) for name in classes}
    is_image = image is not None
    train = _split(table, names, labels, ranges, is_image=is_image, unseen=unseen if known else "error")
    tested: Split | None = None
    if test is not None:
        tested = _split(read_columns(test), names, labels, ranges, is_image=is_image, unseen=unseen)
    elif held_out:
        # every class keeps a row in training, so the names are those of the training part
        ids = [train.targets[name] for name in classes]
        kept, out = hold_out_rows(ids, len(train), share=held_out, seed=seed)
        train, tested = select(train, kept), select(train, out) if len(out) else None
    numbers = {name: find_bounds(name, train.targets[name], given.get(name) or known.get(name)) for name in ranges}
    return Source(
        name=path.stem,
        train=train,
        test=tested,
        targets={**labels, **numbers},
        preprocessing=_preprocessing(train.inputs, names, path, size, resize),
        augment=PHOTO_AUGMENT if image else None,
    )


def _check_choices(
    table: Table,
    image: str | None,
    columns: Sequence[str] | None,
    classes: Sequence[str],
    ranges: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
) -> None:
    if not (classes or ranges):
        listed = ", ".join(f'"{name}"' for name in table)
        advice = f'"{table.path}" has the columns {listed}.'
        raise InputError("classes", f"name a column to predict, or {arg('ranges')}", "none in either", advice)
    if image and columns:
        raise InputError("columns", f"be left out with {arg('image')}: learn from either", "both")
    chosen = [*([image] if image else ()), *(columns or ()), *classes, *ranges]
    for name in chosen:
        table[name]  # or an error
        if chosen.count(name) > 1:
            raise InputError("A column", "be used once", f'"{name}" {chosen.count(name)} times')
    for name in bounds:
        if name not in ranges:
            raise InputError("bounds", f"be for columns of {arg('ranges')}", f'"{name}"', "Add it there.")


def _split(
    table: Table,
    names: Sequence[str],
    labels: Mapping[str, Labels],
    ranges: Sequence[str],
    *,
    is_image: bool,
    unseen: Unseen,
) -> Split:
    """Return all rows of one table; ``names`` are the columns to learn from."""
    path = table.path
    targets = {
        name: class_targets(name, known, table[name].class_names(), where=f'"{path}"', unseen=unseen)
        for name, known in labels.items()
    }
    targets |= {name: table[name].numbers() for name in ranges}
    if not is_image:
        return Split(torch.stack([table[name].numbers() for name in names], dim=1).float(), targets)
    cells = table[names[0]].cells
    for row, file in enumerate(cells, start=1):
        if not isinstance(file, str):
            about = f'Column "{names[0]}" of "{path}"'
            raise InputError(about, "name an image in every row", f"{file!r} in row {row}")
    files = [path.parent / file for file in cells]
    check_files_exist(files, listed_in=str(path))
    return Split(ImageFiles(files), targets)


def _preprocessing(inputs: Inputs, names: Sequence[str], path: Path, size: int, resize: int | None) -> Preprocessing:
    if isinstance(inputs, ImageFiles):
        return large_image_preprocessing(size, resize)
    empty = inputs.isnan().all(0).nonzero().flatten()
    if len(empty):
        about = f'Column "{names[int(empty[0])]}" of "{path}"'
        raise InputError(about, "hold numbers", "empty cells only", "Leave it out.")
    fitted = Standardizer.fit(inputs.numpy())
    return TablePreprocessing(tuple(names), tuple(fitted.mean.tolist()), tuple(fitted.scale.tolist()))
