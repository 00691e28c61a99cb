"""Tables with words, dates and gaps as numbers: a small encoder whose state is plain values.

A column of numbers stays one; gaps get the median, and a column of their own that says where they
were. Each category of a column becomes a column of 0 and 1, or, where there are many, one of 256
that a hash chooses. A date becomes its day, its day of the week and its hour, a duration its
seconds. A category that training has not seen is all zeros.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._core.checks import nearest_name
from .._core.errors import InputError, InputTypeError

MOST_CATEGORIES = 256  # columns that one column of categories becomes
WORD = re.compile(r"(?u)\b\w\w+\b")  # scikit-learn's
DATE_PARTS = ("day", "weekday", "hour")
Cells: TypeAlias = NDArray[np.float64] | Sequence[object]
"""Of a column: numbers with NaN where empty, or anything with None where empty."""


class SparseRows(NamedTuple):
    """Rows of mostly zeros, shape (n, width): entries ``starts[i]`` to ``starts[i + 1]`` are those
    of row i.
    """

    starts: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int

    def to_dense(self) -> NDArray[np.float32]:
        """Return all entries, zeros too."""
        rows = np.zeros((len(self.starts) - 1, self.width), dtype=np.float32)
        rows[np.repeat(np.arange(len(rows)), np.diff(self.starts)), self.columns] = self.values
        return rows


@dataclass(frozen=True)
class ColumnCode:
    """How the cells of one column become numbers.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "categories", "text"}
    fill : tuple of float
        What stands for a gap in each number of a cell: the median. Of a text, the weight of each
        word.
    gaps : bool
        Whether training had gaps, so that another column says where they are.
    categories : tuple of str or None
        Each gets a column, as each word of a text does; None is an empty cell.
    buckets : int
        Where greater than 0, categories are not listed, but hashed to so many columns.
    """

    name: str
    kind: Literal["number", "date", "categories", "text"]
    fill: tuple[float, ...] = ()
    gaps: bool = False
    categories: tuple[str | None, ...] = ()
    buckets: int = 0

    def __post_init__(self) -> None:
        numbers = {
            "number": 1,
            "date": len(DATE_PARTS),
            "categories": 0,
            "text": len(self.categories),
        }[self.kind]
        if len(self.fill) != numbers:
            raise InputError("fill", f"have {numbers} numbers for {self.kind}", len(self.fill))
        if len(set(self.categories)) < len(self.categories):
            raise InputError("categories", "differ from each other")
        if not 0 <= self.buckets <= MOST_CATEGORIES:
            raise InputError("buckets", f"be from 0 to {MOST_CATEGORIES}", self.buckets)

    @classmethod
    def fit(cls, name: str, cells: Cells) -> Self:
        """Look at the cells of a column: an array of numbers, or a list with None where a cell is
        empty.
        """
        kind = column_kind(cells)
        if kind == "categories":
            counts = Counter(category(cell) for cell in cells)
            seen = sorted(
                # of a category that is seen once there is nothing to learn
                (word for word, count in counts.items() if count >= 2),
                key=lambda w: (w is None, w),
            )
            if len(seen) > MOST_CATEGORIES:
                return cls(name, kind, buckets=MOST_CATEGORIES)
            return cls(name, kind, categories=tuple(seen))
        values = parse_cells(f'Column "{name}"', kind, cells)
        empty = np.isnan(values[:, 0])
        fill = np.zeros(values.shape[1]) if empty.all() else np.nanmedian(values, axis=0)
        return cls(name, kind, tuple(fill.tolist()), bool(empty.any()))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns that this one becomes."""
        if self.kind in ("categories", "text"):
            hashed = tuple(f"{self.name}#{index}" for index in range(self.buckets))
            return hashed or tuple(f"{self.name}={word}" for word in self.categories)
        parts = (
            (self.name,)
            if self.kind == "number"
            else tuple(f"{self.name} {part}" for part in DATE_PARTS)
        )
        return (*parts, f"{self.name} is empty") if self.gaps else parts

    def encode(self, cells: Cells) -> Any:
        """Return numbers, shape (n, len(outputs)); those of a text as :class:`SparseRows`."""
        if self.kind == "text":
            return self._weigh_words(cells)
        if self.kind == "categories":
            table = np.zeros((len(cells), len(self.outputs)))
            for row, cell in enumerate(cells):
                word = category(cell)
                place = (
                    zlib.crc32(str(word).encode()) % self.buckets
                    if self.buckets
                    else self._places.get(word)
                )
                if place is not None:
                    table[row, place] = 1.0
            return table
        values = parse_cells(f'Column "{self.name}"', self.kind, cells)
        empty = np.isnan(values)
        values = np.where(empty, self.fill, values)
        return np.column_stack([values, empty[:, 0]]) if self.gaps else values

    def _weigh_words(self, cells: Cells) -> SparseRows:
        """Return TF-IDF as scikit-learn's ``TfidfVectorizer(sublinear_tf=True)`` has it.

        A word that is in a text c times weighs (1 + log c) times its own weight; each row is then
        of length 1.
        """
        starts, columns, values = [0], [], []
        for cell in cells:
            words = WORD.findall("" if cell is None else str(cell).lower())
            found = Counter(self._places[word] for word in words if word in self._places)
            places = sorted(found)
            counts = np.array([found[place] for place in places], dtype=np.float64)
            weights = (np.log(counts) + 1) * self._weights[places] if places else counts
            length = math.sqrt(sum((weights * weights).tolist()))
            columns += places
            values.append(weights / length if length else weights)
            starts.append(len(columns))
        joined = np.concatenate(values) if values else np.zeros(0)
        first, indices = (np.array(part, dtype=np.int32) for part in (starts, columns))
        return SparseRows(first, indices, joined.astype(np.float32), len(self.categories))

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {word: index for index, word in enumerate(self.categories)}

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array(self.fill)


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a table become numbers, one after the other."""

    columns: tuple[ColumnCode, ...]

    def __post_init__(self) -> None:
        if not self.outputs:
            raise InputError(
                "The table", "hold numbers, dates, or categories that occur more than once", "none"
            )
        if len(self.columns) > 1 and any(column.kind == "text" for column in self.columns):
            raise InputError(
                "A column of free text", "be the only one", f"{len(self.columns)} columns"
            )

    @classmethod
    def fit(cls, columns: Mapping[str, Cells]) -> Self:
        """Look at the columns of training data, each as :meth:`ColumnCode.fit` takes it."""
        return cls(tuple(ColumnCode.fit(name, cells) for name, cells in columns.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a table that it takes."""
        return tuple(column.name for column in self.columns)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of all columns that it makes."""
        return tuple(name for column in self.columns for name in column.outputs)

    def encode(self, columns: Mapping[str, Cells]) -> Any:
        """Return numbers, shape (n, len(outputs)), sparse of a text, without columns that training
        did not have.
        """
        for column in self.columns:
            if column.name not in columns:
                rule = f'have a column "{column.name}", as in training'
                advice = nearest_name(column.name, columns)
                raise InputError("X", rule, ", ".join(columns), advice)
        if self.columns[0].kind == "text":  # which is the only one
            return self.columns[0].encode(columns[self.columns[0].name])
        return np.column_stack([column.encode(columns[column.name]) for column in self.columns])


class Words(list[object]):
    """Cells that are categories even where they look like numbers."""


def is_frame(table: Any) -> bool:
    """Whether this is a table with named columns: a DataFrame of pandas or polars, or a table of
    pyarrow.
    """
    if hasattr(type(table), "collect"):  # asking a lazy one for its columns may take long
        kind = f"{type(table).__name__}, which is lazy"
        raise InputTypeError("X", "be a table in memory", kind, "Call its collect() first.")
    return (
        hasattr(table, "columns")
        and hasattr(table, "__getitem__")
        and not isinstance(table, np.ndarray)
    )


def needs_encoding(table: Any) -> bool:
    """Whether a table with named columns has one that is not of numbers, or a gap."""
    columns = frame_columns(table).values() if is_frame(table) else ()
    return any(not are_numbers(cells) or bool(np.isnan(cells).any()) for cells in columns)


def frame_columns(table: Any) -> dict[str, Cells]:
    """Return columns by name: numbers as an array, others as a list with None where a cell is
    empty.
    """
    names = list(getattr(table, "column_names", table.columns))
    name, times = Counter(map(str, names)).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise InputError("X", "have columns of different names", f'"{name}" {times} times')
    return {str(name): _cells(str(name), table[name]) for name in names}


def _cells(name: str, column: Any) -> Cells:
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "O") == "c":
        raise InputTypeError(f'Column "{name}"', "be real numbers", dtype)
    is_number = getattr(dtype, "is_numeric", None)  # of polars
    if is_number() if is_number else getattr(dtype, "kind", "O") in "biuf":
        with suppress(TypeError, ValueError):  # whole numbers with gaps, as pandas has them
            return np.asarray(column, dtype=np.float64)
    ways = ("to_pylist", "to_list")  # of pyarrow, and of pandas and polars
    cells = next(getattr(column, way) for way in ways if hasattr(column, way))()
    kind = Words if hasattr(dtype, "categories") else list
    return kind(None if _is_empty(cell) else cell for cell in cells)


def _is_empty(cell: object) -> bool:
    """Whether a cell is a gap: None, or NaN, NaT or NA of pandas."""
    return cell is None or (not isinstance(cell, str) and str(cell) in ("nan", "NaT", "<NA>"))


def are_numbers(cells: Cells) -> TypeGuard[NDArray[np.float64]]:
    """Whether the cells of a column were numbers when they were read."""
    return isinstance(cells, np.ndarray)


def column_kind(cells: Cells) -> Literal["number", "date", "categories"]:
    """Return what a column holds; words that are all numbers, or all dates as ISO 8601 has them,
    are such.
    """
    if are_numbers(cells):
        return "number"
    if type(cells) is Words:
        return "categories"
    present = [cell for cell in cells if cell is not None]
    if not any(math.isnan(_number(cell)) for cell in present):
        return "number"
    return "categories" if any(_time(cell) is None for cell in present) else "date"


def _number(cell: Any) -> float:
    """Return a cell as a number, a duration in seconds; NaN where it is none."""
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    try:
        return float(cell)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _time(cell: object) -> datetime | None:
    """Return a cell as a time without a zone, None where it is none."""
    if isinstance(cell, str):
        try:
            cell = datetime.fromisoformat(cell) if len(cell) >= len("2000-01-01") else None
        except ValueError:
            return None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    return cell.replace(tzinfo=None) if isinstance(cell, datetime) else None


def parse_cells(about: str, kind: str, cells: Cells, advice: str = "") -> NDArray[np.float64]:
    """Return the numbers of a column, shape (n, 1), or the parts of dates, shape (n, 3); NaN in
    gaps. ``about`` and ``advice`` are for the error that names the first cell that is no such.
    """
    if are_numbers(cells):
        values = cells[:, None]
    elif kind == "number":
        values = np.array([_number(cell) for cell in cells])[:, None]
    else:
        times = [None if _is_empty(cell) else _time(cell) for cell in cells]
        gap = (math.nan,) * len(DATE_PARTS)
        parts = [
            gap
            if t is None
            else ((t - datetime(1970, 1, 1)).total_seconds() / 86400, t.weekday(), t.hour)
            for t in times
        ]
        values = np.array(parts, dtype=np.float64).reshape(-1, len(DATE_PARTS))
    wrong = np.isinf(values[:, 0])
    if not are_numbers(cells):
        wrong |= np.isnan(values[:, 0]) & np.array([not _is_empty(cell) for cell in cells], bool)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        cell = np.asarray(cells, dtype=object)[row]
        got = f"{cell!r} in row {row + 1} ({int(wrong.sum())} of {len(values)} rows)"
        raise InputError(about, f"hold finite {kind}s or empty cells", got, advice)
    return values


def category(cell: object) -> str | None:
    """Return a cell as the name of a category; 3.0 is called 3, for gaps make
    floats of integers.
    """
    if _is_empty(cell):
        return None
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
