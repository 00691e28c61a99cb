"""CSV and TSV files: one set of rules for all who read them.

Text is in UTF-8. Cells are separated by what the ending of the file says, or where a header has
none of those, by a semicolon, a tab or a bar; between semicolons 1,5 is a number. Blanks around
cells are dropped, and what programs write for an empty cell is one.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import InputError, MissingDataError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
OTHERS = ";\t|,"
MOST_COLUMNS = 50_000
DECIMAL_COMMA = re.compile(r"^([+-]?\d+),(\d+)$")
NOT_AVAILABLE = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")


@dataclass(frozen=True)
class CsvFile:
    """A file whose header was read.

    Attributes
    ----------
    content : bytes
        All of it.
    delimiter : str
        What separates its cells.
    names : tuple of str
        The columns.
    """

    path: Path
    content: bytes
    delimiter: str
    names: tuple[str, ...]

    def rows(self) -> Iterator[list[str | None]]:
        """Yield the cells of each row below the header, None where empty."""
        lines = _lines(self.path, self.content, self.delimiter)
        next(lines)
        for number, line in enumerate(lines, start=1):
            if len(line) != len(self.names):
                rule = f"have {len(self.names)} cells, as the header"
                raise InputError(f'Row {number} of "{self.path}"', rule, len(line))
            yield [self._read(cell.strip()) for cell in line]

    def _read(self, cell: str) -> str | None:
        if cell in NOT_AVAILABLE:
            return None
        return DECIMAL_COMMA.sub(r"\1.\2", cell) if self.delimiter == ";" else cell


def check_is_file(path: Path) -> None:
    """Raise where there is no such file; a pipe would be waited for."""
    if not path.is_file():
        got = "a folder" if path.is_dir() else None
        raise MissingDataError(f'Table "{path}"', "be an existing file", got, "Check the path.")


def open_csv(path: Path) -> CsvFile:
    """Read a file and its header, or say what is wrong with it."""
    delimiter = DELIMITERS.get(path.suffix.lower())
    if delimiter is None:
        raise InputError(f'"{path}"', "be a table, .csv or .tsv", f'"{path.suffix}"')
    check_is_file(path)
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise InputError(f"{path.name} is empty.")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        got = f"the byte 0x{content[error.start]:02X} in line {line}"
        advice = 'Save it again as "CSV UTF-8", as spreadsheets call it.'
        raise InputError(f'Table "{path}"', "be text in UTF-8", got, advice) from None
    if content.count(b'"') % 2:  # or one cell would hold all that follows
        rule, advice = (
            "close every quote that it opens",
            "Inside a quoted cell, write a quote twice.",
        )
        raise InputError(f'Table "{path}"', rule, "an odd number of them", advice)
    header = next(_lines(path, content, delimiter))
    if len(header) == 1:
        delimiter = next((mark for mark in OTHERS if mark in header[0]), delimiter)
        header = next(_lines(path, content, delimiter))
    if len(header) > MOST_COLUMNS:
        rule = f"have at most {MOST_COLUMNS:,} columns"
        raise InputError(f'Table "{path}"', rule, f"{len(header):,}")
    return CsvFile(path, content, delimiter, check_names(path, header))


def check_names(path: Path, header: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of a table, which differ."""
    names = tuple(name.strip() for name in header)
    for name, times in Counter(names).items():
        if times > 1:
            rule, got = "have different names", f'"{name}" {times} times'
            raise InputError(f'Columns of "{path}"', rule, got, "Rename one.")
    return names


def _lines(path: Path, content: bytes, delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each line that has any, as they are."""
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
    try:
        yield from filter(None, csv.reader(text, delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f'Table "{path}"', f'separate cells by "{delimiter}"', error) from None


def read_table(path: Path) -> list[dict[str, str | None]]:
    """Return the rows of a CSV or TSV file, None for empty cells."""
    table = open_csv(path)
    rows = [dict(zip(table.names, row, strict=True)) for row in table.rows()]
    check_rows(path, len(rows))
    return rows


def check_rows(path: Path, count: int) -> None:
    """Raise where a table has a header alone."""
    if not count:
        raise InputError(f'Table "{path}"', "hold at least one row below its header", "none")
