"""Tables on disk as columns of cells, and cells as numbers, classes and paths."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.extras import require
from hyperproto._core.registry import unknown_choice

__all__ = ["Column", "class_names", "column", "describe_columns", "is_table", "numbers", "read_columns"]

Column: TypeAlias = list[Any]
"""Cells as found: text, or None where empty; from Parquet also numbers."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


def is_table(path: str | Path) -> bool:
    """Whether a file is called like a table."""
    return Path(path).suffix.lower() in (*DELIMITERS, *PARQUET)


def read_columns(path: str | Path) -> dict[str, Column]:
    """Read a table with a header from CSV, TSV or Parquet. Surrounding blanks are dropped; an empty cell is None."""
    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f'Table "{path}" must be a file; there is none. Check the path.')
    if path.suffix.lower() in PARQUET:
        columns = _read_parquet(path)
    elif path.suffix.lower() in DELIMITERS:
        columns = _read_csv(path)
    else:
        raise InputError(f'Table "{path}" must end in .csv, .tsv or .parquet; it ends in "{path.suffix}". Rename it.')
    if not next(iter(columns.values())):
        raise InputError(f'Table "{path}" must hold at least one row below its header; it holds none.')
    return columns


def _read_csv(path: Path) -> dict[str, Column]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(
            f'Table "{path}" must be CSV in UTF-8; it cannot be read ({error}). Save it as such.'
        ) from None
    if not rows:
        raise InputError(f'Table "{path}" must begin with a line of column names; it is empty.')
    header = [name.strip() for name in rows[0]]
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise InputError(f'Columns of "{path}" must have different names; "{repeated[0]}" stands twice. Rename one.')
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise InputError(
                f'Rows of "{path}" must have {len(header)} cells like its header; row {number} has {len(row)}. '
                "Put text that holds a comma in quotes."
            )
    cells = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(header)
    return {name: [cell.strip() or None for cell in held] for name, held in zip(header, cells, strict=True)}


def _read_parquet(path: Path) -> dict[str, Column]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose=f'Reading "{path.name}"')
    lib = require("pyarrow.lib", extra="parquet", purpose=f'Reading "{path.name}"')
    try:
        held = parquet.read_table(path).to_pydict()
    except (lib.ArrowException, OSError) as error:
        raise InputError(f'Table "{path}" must be Parquet; it cannot be read ({error}). Save it as such.') from None
    if not held:
        raise InputError(f'Table "{path}" must have columns; it has none.')
    return {name: [_plain(cell) for cell in cells] for name, cells in held.items()}


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.strip() or None
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def column(columns: Mapping[str, Column], name: str, path: str | Path) -> Column:
    """Return one column, or say which there are."""
    if name not in columns:
        raise unknown_choice(name, columns, what=f'column of "{path}"')
    return columns[name]


def numbers(cells: Column, name: str, path: str | Path) -> Tensor:
    """Return cells as float64, shape (n,), NaN where empty; the first that is no number is named."""
    try:
        values = [math.nan if cell is None else float(cell) for cell in cells]
    except (TypeError, ValueError):
        values = []
    if len(values) == len(cells) and not any(map(math.isinf, values)):
        return torch.tensor(values, dtype=torch.float64)
    bad = [(row, cell) for row, cell in enumerate(cells, start=1) if not _is_number(cell)]
    row, cell = bad[0]
    raise InputError(
        f'Column "{name}" of "{path}" must hold finite numbers or empty cells; row {row} holds "{cell}" '
        f"({len(bad)} of {len(cells)} rows). Correct it, empty the cell where the number is not known, or say which "
        "columns to read (`image` for one of paths, `columns` for numbers)."
    )


def _is_number(cell: Any) -> bool:
    try:
        return cell is None or not math.isinf(float(cell))
    except (TypeError, ValueError):
        return False


def class_names(cells: Column) -> list[str | None]:
    """Return cells as names of classes, None where empty; 3.0 is called 3, for gaps make whole numbers floats."""
    return [
        None if cell is None else str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
        for cell in cells
    ]


def describe_columns(columns: Mapping[str, Column]) -> dict[str, dict[str, Any]]:
    """Return for each column how many rows and empty cells it has, how many different values, and what they seem."""
    found = {}
    for name, cells in columns.items():
        there = [cell for cell in cells if cell is not None]
        different = len({str(cell) for cell in there})
        seems = "numbers" if there and all(map(_is_number, there)) else "text" if there else "nothing"
        found[name] = {"rows": len(cells), "empty": len(cells) - len(there), "different": different, "seems": seems}
    return found
