"""A matrix over classes in a text table: K x K numbers, with names along its edges or without."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError

__all__ = ["read_matrix_table"]


def read_matrix_table(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None] | None:
    """Return the matrix of a CSV or TSV file and the names of its classes; None where it holds no such matrix.

    A square of numbers, the first row or the first column of which may name the classes. A table of two columns of
    text is a taxonomy, not a matrix.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            rows = [[cell.strip() for cell in row] for row in lines if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        return None
    if not rows or len(rows[-1]) < 3 or not _is_number(rows[-1][-1]):
        return None
    across = None if all(_is_number(cell) for cell in rows[0][1:]) else rows.pop(0)
    down = None if all(_is_number(row[0]) for row in rows) else [row.pop(0) for row in rows]
    if across is not None and len(across) == len(rows) + 1:
        across = across[1:]
    if down is not None and across is not None and down != across:
        raise InputError(f'"{path}" must name its rows and columns alike; they differ.')
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows) or not all(_is_number(cell) for cell in row):
            raise InputError(
                f'"{path}" must hold a square of numbers, {len(rows)} in each row; row {number} has {len(row)} cells '
                "or text among them."
            )
    names = down or across
    return np.array(rows, dtype=np.float64), None if names is None else tuple(names)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
