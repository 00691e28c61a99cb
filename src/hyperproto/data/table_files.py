"""Tables as files: columns of cells from CSV, TSV or Parquet, and what the cells seem to be."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.arrays import Numbers
from hyperproto._core.checks import nearest_name
from hyperproto._core.errors import InputError, require
from hyperproto._core.files import as_path
from hyperproto.runtime.csv_files import (
    DECIMAL_COMMA,
    DELIMITERS,
    NOT_AVAILABLE,
    check_is_file,
    check_names,
    check_rows,
    open_csv,
)
from hyperproto.runtime.tables import Cells, are_numbers, category, column_kind, parse_cells

if TYPE_CHECKING:
    import pyarrow

PARQUET = (".parquet", ".pq")
CELLS, CELLS_PER_BYTE = 1_000_000, 8  # of a Parquet file: so many, and one for each bit of the file
DECODED, DECODED_PER_BYTE = 2**26, 32  # its bytes when read: so many, and for each byte of the file

FEW = 20  # rows of which nothing can be said; classes that need no warning, however few the rows
SENTENCE = 4  # words in a cell that seems to be free text


class Column:
    """One column of a table, a pyarrow.ChunkedArray; ``about`` names the column in errors."""

    def __init__(self, values: "pyarrow.ChunkedArray", about: str) -> None:
        self._values, self._about = values, about

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def cells(self) -> list[object]:
        """The cells as found, None where empty: text, from Parquet also numbers."""
        try:
            found = self._values.to_pylist()
        except (OverflowError, ValueError) as error:
            rule = "hold dates of the years 1 to 9999"
            raise InputError(self._about, rule, f"another ({error})") from None
        return [None if cell != cell else cell for cell in found]

    @cached_property
    def values(self) -> Cells:
        """The cells as an array of float64 with NaN where empty; where one is no number,
        :attr:`cells`.
        """
        try:
            return np.array(self._values.cast("float64").to_numpy())
        except (ValueError, NotImplementedError):  # pyarrow's
            return self.cells

    def take(self, rows: NDArray[np.int64]) -> Cells:
        """Return the cells of some rows, as :attr:`values` has them."""
        if are_numbers(self.values):
            return self.numbers()[rows]
        return [self.cells[row] for row in rows.tolist()]

    def numbers(self) -> Numbers:
        """Return the cells as numbers, shape (n,), NaN where empty; an error names the first that
        is none.
        """
        advice = (
            "Correct it, empty the cell where the number is not known, or say which columns to "
            "read (`image` for one of paths, `columns` for numbers)."
        )
        return parse_cells(self._about, "number", self.values, advice)[:, 0]

    def class_names(self) -> list[str | None]:
        """Return the cells as names of classes, None where empty."""
        return [category(cell) for cell in self.cells]


class Table(dict[str, Column]):
    """The columns of a table by name; asking for one that is not there lists which there are."""

    def __init__(self, path: Path, columns: Mapping[str, "pyarrow.ChunkedArray"]) -> None:
        check_rows(path, max(map(len, columns.values()), default=0))
        for name, values in columns.items():
            self[name] = Column(values, f'Column "{name}" of "{path}"')
        self.path = path

    def __missing__(self, name: str) -> Column:
        listed = ", ".join(f'"{column}"' for column in self)
        advice = f"{nearest_name(name, self)} It has {listed}.".strip()
        raise InputError(f'"{self.path}"', f'have a column "{name}"', advice=advice)


def is_table(path: str | Path) -> bool:
    """Whether a file has the name of a table."""
    return Path(path).suffix.lower() in (*DELIMITERS, *PARQUET)


def read_columns(path: str | Path) -> Table:
    """Read a table with a header from CSV or TSV, by the rules of
    :mod:`hyperproto.runtime.csv_files`, or from Parquet.
    """
    require("pyarrow", extra="tables", purpose="Reading a table")
    path = as_path(path)
    check_is_file(path)
    if not is_table(path):
        got = f'"{path.suffix}"'
        raise InputError(f'Table "{path}"', "end in .csv, .tsv or .parquet", got, "Rename it.")
    return _read_parquet(path) if path.suffix.lower() in PARQUET else _read_text(path)


def read_rows(path: str | Path) -> list[dict[str, object]]:
    """Read a table as one dict per row, None where a cell is empty."""
    table = read_columns(path)
    return [
        dict(zip(table, cells, strict=True))
        for cells in zip(*(c.cells for c in table.values()), strict=True)
    ]


def read_frame(path: str | Path) -> "pyarrow.Table":
    """Read a table as one of pyarrow, which estimators take: columns of numbers where all cells
    are, else of text.
    """
    import pyarrow

    return pyarrow.table({name: column.values for name, column in read_columns(path).items()})


def _read_text(path: Path) -> Table:
    """Read CSV or TSV with every cell as text: a class may be called 007."""
    import pyarrow
    from pyarrow import csv

    found = open_csv(path)
    numbered = [str(index) for index in range(len(found.names))]
    separated = csv.ParseOptions(
        delimiter=found.delimiter, newlines_in_values=b'"' in found.content
    )
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(found.content),
            read_options=csv.ReadOptions(column_names=numbered),  # the header is read as a row
            parse_options=separated,
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(numbered, pyarrow.string())
            ),
        )
    except pyarrow.ArrowException as error:
        for _ in found.rows():  # says which row has too many cells
            pass
        raise InputError(f'Table "{path}"', "be readable", f"an error ({error})") from None
    cells = (_cleaned(values[1:], found.delimiter) for values in table.columns)
    named = zip(found.names, cells, strict=True)
    # a separator at the end of every line makes a column without a name and without a value
    return Table(path, {name: c for name, c in named if name or c.null_count < len(c)})


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
    names = check_names(path, table.column_names)
    return Table(path, dict(zip(names, map(_cleaned, table.columns), strict=True)))


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


def _written_out(values: "pyarrow.ChunkedArray") -> int:
    """Return the bytes that a column of pyarrow takes when each cell has a copy of its text."""
    from pyarrow import compute, types

    if not types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = ((compute.binary_length(part.dictionary), part.indices) for part in values.chunks)
    return sum(compute.sum(length.take(ids)).as_py() or 0 for length, ids in lengths)


def _cleaned(values: "pyarrow.ChunkedArray", delimiter: str = ",") -> "pyarrow.ChunkedArray":
    """Return a column without surrounding blanks; text that stands for nothing is missing."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (types.is_string(values.type) or types.is_large_string(values.type)):
        return values
    text = compute.utf8_trim_whitespace(values)
    if delimiter == ";":
        text = compute.replace_substring_regex(text, DECIMAL_COMMA.pattern, r"\1.\2")
    empty = compute.is_in(text, value_set=pyarrow.array(NOT_AVAILABLE, text.type))
    return compute.if_else(empty, pyarrow.scalar(None, text.type), text)


def describe_columns(columns: Mapping[str, Column]) -> dict[str, dict[str, object]]:
    """Return for each column its number of rows, of empty cells and of different values, and what
    they seem to be.
    """
    found = {}
    for name, column in columns.items():
        present = [str(cell) for cell in column.cells if cell is not None]
        seems = "text" if present else "nothing"
        if is_sentences(column.values):
            seems = "sentences"
        elif present and are_numbers(column.values):
            seems = "numbers"
        found[name] = {
            "rows": len(column),
            "empty": len(column) - len(present),
            "different": len(set(present)),
            "seems": seems,
        }
    return found


def counts_rows(values: Cells) -> bool:
    """Return whether a column counts the rows one by one."""
    if not are_numbers(values) or len(values) <= FEW:
        return False
    return bool((np.diff(np.sort(np.asarray(values))) == 1).all())


def is_sentences(values: Cells) -> bool:
    """Return whether the cells of a column are free text, another one in most rows."""
    if column_kind(values) != "categories":
        return False
    present = [str(cell) for cell in values if cell is not None]
    long = sum(len(cell.split()) for cell in present) >= SENTENCE * len(present)
    return len(present) > FEW and long and len(set(present)) > len(present) / 2
