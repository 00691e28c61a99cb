"""Tables as files: columns of cells from CSV, TSV or Parquet, and what the cells seem to be."""

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import nearest_name
from hyperproto._core.errors import InputError, MissingDataError, require
from hyperproto._core.files import as_path
from hyperproto.runtime.tables import DELIMITERS, NOT_AVAILABLE, column_kind

OTHER_DELIMITERS = (
    ";",
    "\t",
    "|",
    ",",
)  # where all of a header is one name, one of these was meant
PARQUET = (".parquet", ".pq")
LONGEST_HEADER = 2**24  # bytes
MOST_COLUMNS = 50_000  # of CSV and TSV
CELLS, CELLS_PER_BYTE = 1_000_000, 8  # of a Parquet file: so many, and one for each bit of the file
DECODED, DECODED_PER_BYTE = (
    2**26,
    32,
)  # bytes of a Parquet file when read: so many, and for each byte of the file

FEW = 20  # rows of which nothing can be said; classes that need no warning, however few the rows
SENTENCE = 4  # words in a cell that seems to be free text


class Column:
    """One column of a table, a pyarrow.ChunkedArray; ``about`` names the column in errors."""

    def __init__(self, values: Any, about: str) -> None:
        self._values, self._about = values, about

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def cells(self) -> list[Any]:
        """The cells as found, None where empty: text, from Parquet also numbers."""
        try:
            found = self._values.to_pylist()
        except (OverflowError, ValueError) as error:
            raise InputError(
                self._about, "hold dates of the years 1 to 9999", f"another ({error})"
            ) from None
        return [None if isinstance(cell, float) and cell != cell else cell for cell in found]

    @cached_property
    def values(self) -> Any:
        """The cells as an array of float64 with NaN where empty; where one is no number,
        :attr:`cells`.
        """
        try:
            return np.array(self._values.cast("float64").to_numpy())
        except (ValueError, NotImplementedError):  # pyarrow's
            return self.cells

    def numbers(self) -> Tensor:
        """Return the cells as float64, shape (n,), NaN where empty; an error names the first that
        is no number.
        """
        values = self.values
        if not isinstance(values, np.ndarray):
            values = np.array([_number(cell) for cell in values])
        if not np.isinf(values).any():
            return torch.from_numpy(values)
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(
            self._about,
            "hold finite numbers or empty cells",
            f'"{self.cells[row]}" in row {row + 1} ({int(np.isinf(values).sum())} of '
            f"{len(values)} rows)",
            "Correct it, empty the cell where the number is not known, or say which columns to "
            "read (`image` for one "
            "of paths, `columns` for numbers).",
        )

    def class_names(self) -> list[str | None]:
        """Return the cells as names of classes, None where empty; 3.0 is called 3, for gaps make
        integers floats.
        """
        return [
            None
            if cell is None
            else str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
            for cell in self.cells
        ]


class Table(dict[str, Column]):
    """The columns of a table by name; asking for one that is not there lists which there are."""

    def __init__(self, path: Path, names: Sequence[str], columns: Sequence[Any]) -> None:
        names = [name.strip() for name in names]
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise InputError(
                f'Columns of "{path}"',
                "have different names",
                f'"{repeated[0]}" twice',
                "Rename one.",
            )
        if not columns or not len(columns[0]):
            raise InputError(f'Table "{path}"', "hold at least one row below its header", "none")
        made = (
            Column(_cleaned(cells), f'Column "{name}" of "{path}"')
            for name, cells in zip(names, columns, strict=True)
        )
        super().__init__(zip(names, made, strict=True))
        self.path = path

    def __missing__(self, name: str) -> Column:
        listed = ", ".join(f'"{column}"' for column in self)
        raise InputError(
            f'The table "{self.path}"',
            f'have a column "{name}"',
            f"only {listed}",
            nearest_name(name, self),
        )


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
    """Read a table with a header from CSV, TSV or Parquet.

    Surrounding blanks are dropped. A cell is empty, None, where nothing is in it, or one of
    :data:`NOT_AVAILABLE`.
    """
    require("pyarrow", extra="tables", purpose="Reading a table")
    path = as_path(path)
    if not path.is_file():
        got = "a folder" if path.is_dir() else None
        raise MissingDataError(f'Table "{path}"', "be an existing file", got, "Check the path.")
    ending = path.suffix.lower()
    if ending in PARQUET:
        return _read_parquet(path)
    if ending in DELIMITERS:
        return _read_text(path, DELIMITERS[ending])
    raise InputError(
        f'Table "{path}"', "end in .csv, .tsv or .parquet", f'"{path.suffix}"', "Rename it."
    )


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a table as one dict per row, None where a cell is empty."""
    table = read_columns(path)
    return [
        dict(zip(table, cells, strict=True))
        for cells in zip(*(c.cells for c in table.values()), strict=True)
    ]


def read_frame(path: str | Path) -> Any:
    """Read a table as one of pyarrow, which estimators take: columns of numbers where all cells
    are, else of text.
    """
    import pyarrow

    return pyarrow.table({name: column.values for name, column in read_columns(path).items()})


def _read_text(path: Path, delimiter: str) -> Table:
    """Read CSV or TSV with every cell as text: a class may be called 007."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    content = path.read_bytes()
    if content.count(b'"') % 2:  # pyarrow would make one cell of all that follows
        advice = "Inside a quoted cell, write a quote twice."
        raise InputError(
            f'Table "{path}"', "close every quote that it opens", "an odd number of them", advice
        )
    try:
        lines = io.StringIO(
            content[:LONGEST_HEADER].decode("utf-8-sig", errors="replace"), newline=""
        )
        header = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
        if len(header) > MOST_COLUMNS:
            raise InputError(
                f'Table "{path}"', f"have at most {MOST_COLUMNS:,} columns", f"{len(header):,}"
            )
        numbered = [str(index) for index in range(len(header))]
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(content),
            read_options=arrow_csv.ReadOptions(
                column_names=numbered
            ),  # the header is read as a row
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=b'"' in content
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(numbered, pyarrow.string())
            ),
        )
    except (csv.Error, pyarrow.ArrowException) as error:
        rule = f'be text in UTF-8, with as many cells in every row, separated by "{delimiter}"'
        raise InputError(
            f'Table "{path}"', rule, f"an error ({error})", "Save it as such."
        ) from None
    if len(header) == 1 and (
        other := next((mark for mark in OTHER_DELIMITERS if mark in header[0]), "")
    ):
        rule = f'separate cells by "{delimiter}"'
        raise InputError(
            f'Table "{path}"', rule, f'"{other}" in its header', f'Save it with "{delimiter}".'
        )
    return Table(path, header, [values[1:] for values in table.columns])


def _read_parquet(path: Path) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
        for field in schema:
            if pyarrow.types.is_nested(field.type):
                rule, advice = "hold one value in each cell", "Leave the column out of the file."
                raise InputError(
                    f'Column "{field.name}" of "{path}"', rule, str(field.type), advice
                )
        # text that repeats is not written out before it is known to fit into memory
        with parquet.ParquetFile(path, read_dictionary=schema.names) as file:
            size, about = path.stat().st_size, file.metadata
            groups = [about.row_group(index) for index in range(about.num_row_groups)]
            most = f"have at most {CELLS:,} cells and {CELLS_PER_BYTE} per byte of the file"
            _check_size(path, most, about.num_rows * len(schema), CELLS + CELLS_PER_BYTE * size)
            _check_decoded(path, sum(group.total_byte_size for group in groups))
            table = file.read()
        table.validate(full=True)
        _check_decoded(path, sum(map(_written_out, table.columns)))
    except (
        pyarrow.ArrowException,
        OSError,
        MemoryError,
        UnicodeDecodeError,
    ) as error:  # the last of names
        raise InputError(
            f'Table "{path}"', "be Parquet", f"an error ({error})", "Save it as such."
        ) from None
    return Table(path, table.column_names, table.columns)


def _check_size(path: Path, rule: str, found: int, most: int) -> None:
    """Raise where a file holds more than its length explains: what repeats by the billion takes no
    room in it.
    """
    if found > most:
        raise InputError(
            f'Table "{path}"',
            rule,
            f"{found:,} in {path.stat().st_size:,} bytes",
            "Save it as CSV.",
        )


def _check_decoded(path: Path, found: int) -> None:
    most = (
        f"take at most {DECODED:,} bytes and {DECODED_PER_BYTE} for each of its own when it is read"
    )
    _check_size(path, most, found, DECODED + DECODED_PER_BYTE * path.stat().st_size)


def _written_out(values: Any) -> int:
    """Return the bytes that a column of pyarrow takes when each cell has a copy of its text."""
    from pyarrow import compute, types

    if not types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = ((compute.binary_length(part.dictionary), part.indices) for part in values.chunks)
    return sum(compute.sum(length.take(ids)).as_py() or 0 for length, ids in lengths)


def _cleaned(values: Any) -> Any:
    """Return a column of pyarrow without surrounding blanks; text that stands for nothing is
    missing.
    """
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (types.is_string(values.type) or types.is_large_string(values.type)):
        return values
    text = compute.utf8_trim_whitespace(values)
    empty = compute.is_in(text, value_set=pyarrow.array(NOT_AVAILABLE, text.type))
    return compute.if_else(empty, pyarrow.scalar(None, text.type), text)


def describe_columns(columns: Mapping[str, Column]) -> dict[str, dict[str, Any]]:
    """Return for each column its number of rows, of empty cells and of different values, and what
    they seem to be.
    """
    found = {}
    for name, values in columns.items():
        present = [cell for cell in values.cells if cell is not None]
        different = len({str(cell) for cell in present})
        seems = (
            "nothing"
            if not present
            else "numbers"
            if isinstance(values.values, np.ndarray)
            else "sentences"
            if is_sentences(values.values)
            else "text"
        )
        rows, empty = len(values), len(values) - len(present)
        found[name] = {"rows": rows, "empty": empty, "different": different, "seems": seems}
    return found


def counts_rows(values: Any) -> bool:
    """Return whether a column counts the rows one by one."""
    return (
        isinstance(values, np.ndarray)
        and len(values) > FEW
        and bool((np.diff(np.sort(values)) == 1).all())
    )


def is_sentences(values: Any) -> bool:
    """Return whether the cells of a column are free text, another one in most rows."""
    present = [] if isinstance(values, np.ndarray) else [str(c) for c in values if c is not None]
    long = sum(len(cell.split()) for cell in present) >= SENTENCE * len(present)
    return (
        len(present) > FEW
        and long
        and len(set(present)) > len(present) / 2
        and column_kind(values) == "categories"
    )
