"""Your own table: images or numbers to learn from, and any number of classes and numbers to predict."""

import csv
import io
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import unknown_choice
from hyperproto._core.files import as_path
from hyperproto.data.image_files import ImageFiles, check_files_exist
from hyperproto.data.image_folder import look_at_images
from hyperproto.data.preprocessing import Preprocessing, Standardizer, TablePreprocessing, is_sparse, sparse_rows
from hyperproto.data.source import (
    Bounds,
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
from hyperproto.defaults import HELD_OUT, choose_scaling
from hyperproto_runtime.errors import InputError, InputTypeError, MissingDataError, arg
from hyperproto_runtime.tables import ColumnCode, SparseRows, TableEncoder, column_kind

DELIMITERS = {".csv": ",", ".tsv": "\t"}
OTHER_DELIMITERS = (";", "\t", "|", ",")  # where all of a header is one name, one of these was meant
PARQUET = (".parquet", ".pq")
KINDS = {"number": "numbers", "categories": "categories", "date": "dates", "text": "words"}
NAMED = 10  # columns of a kind
FEW, SCARCE = 20, 0.2  # classes, however few the rows, and their share of the rows, that need no warning
SENTENCE = 4  # words in a cell that seems to be free text
NOT_AVAILABLE = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")  # what programs write for it
LONGEST_HEADER = 2**24  # bytes
MOST_COLUMNS = 50_000  # of CSV and TSV
CELLS, CELLS_PER_BYTE = 1_000_000, 8  # of a Parquet file: so many, and one for each bit of the file
DECODED, DECODED_PER_BYTE = 2**26, 32  # bytes of a Parquet file when read: so many, and for each byte of the file


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
            raise InputError(self._about, "hold dates of the years 1 to 9999", f"another ({error})") from None
        return [None if isinstance(cell, float) and cell != cell else cell for cell in found]

    @cached_property
    def values(self) -> Any:
        """The cells as an array of float64 with NaN where empty; where one is no number, :attr:`cells`."""
        try:
            return np.array(self._values.cast("float64").to_numpy())
        except (ValueError, NotImplementedError):  # pyarrow's
            return self.cells

    def numbers(self) -> Tensor:
        """Return the cells as float64, shape (n,), NaN where empty; an error names the first that is no number."""
        values = self.values
        if not isinstance(values, np.ndarray):
            values = np.array([_number(cell) for cell in values])
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

    def __init__(self, path: Path, names: Sequence[str], columns: Sequence[Any]) -> None:
        names = [name.strip() for name in names]
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise InputError(f'Columns of "{path}"', "have different names", f'"{repeated[0]}" twice', "Rename one.")
        if not columns or not len(columns[0]):
            raise InputError(f'Table "{path}"', "hold at least one row below its header", "none")
        made = (
            Column(_cleaned(cells), f'Column "{name}" of "{path}"')
            for name, cells in zip(names, columns, strict=True)
        )
        super().__init__(zip(names, made, strict=True))
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
    """Read a table with a header from CSV, TSV or Parquet.

    Surrounding blanks are dropped. A cell is empty, None, where nothing is in it, or one of :data:`NOT_AVAILABLE`.
    """
    path = as_path(path)
    if not path.is_file():
        got = "a folder" if path.is_dir() else None
        raise MissingDataError(f'Table "{path}"', "be an existing file", got, "Check the path.")
    ending = path.suffix.lower()
    if ending in PARQUET:
        return _read_parquet(path)
    if ending in DELIMITERS:
        return _read_text(path, DELIMITERS[ending])
    raise InputError(f'Table "{path}"', "end in .csv, .tsv or .parquet", f'"{path.suffix}"', "Rename it.")


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a table as one dict per row, None where a cell is empty."""
    table = read_columns(path)
    return [dict(zip(table, cells, strict=True)) for cells in zip(*(c.cells for c in table.values()), strict=True)]


def read_frame(path: str | Path) -> Any:
    """Read a table as one of pyarrow, which estimators take: columns of numbers where all cells are, else of text."""
    import pyarrow

    return pyarrow.table({name: column.values for name, column in read_columns(path).items()})


def _read_text(path: Path, delimiter: str) -> Table:
    """Read CSV or TSV with every cell as text: a class may be called 007."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    content = path.read_bytes()
    if content.count(b'"') % 2:  # pyarrow would make one cell of all that follows
        advice = "Inside a quoted cell, write a quote twice."
        raise InputError(f'Table "{path}"', "close every quote that it opens", "an odd number of them", advice)
    try:
        lines = io.StringIO(content[:LONGEST_HEADER].decode("utf-8-sig", errors="replace"), newline="")
        header = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
        if len(header) > MOST_COLUMNS:
            raise InputError(f'Table "{path}"', f"have at most {MOST_COLUMNS:,} columns", f"{len(header):,}")
        numbered = [str(index) for index in range(len(header))]
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(content),
            read_options=arrow_csv.ReadOptions(column_names=numbered),  # the header is read as a row
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(numbered, pyarrow.string())),
        )
    except (csv.Error, pyarrow.ArrowException) as error:
        rule = f'be text in UTF-8, with as many cells in every row, separated by "{delimiter}"'
        raise InputError(f'Table "{path}"', rule, f"an error ({error})", "Save it as such.") from None
    if len(header) == 1 and (other := next((mark for mark in OTHER_DELIMITERS if mark in header[0]), "")):
        rule = f'separate cells by "{delimiter}"'
        raise InputError(f'Table "{path}"', rule, f'"{other}" in its header', f'Save it with "{delimiter}".')
    return Table(path, header, [values[1:] for values in table.columns])


def _read_parquet(path: Path) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
        for field in schema:
            if pyarrow.types.is_nested(field.type):
                rule, advice = "hold one value in each cell", "Leave the column out of the file."
                raise InputError(f'Column "{field.name}" of "{path}"', rule, str(field.type), advice)
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
    except (pyarrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:  # the last of names
        raise InputError(f'Table "{path}"', "be Parquet", f"an error ({error})", "Save it as such.") from None
    return Table(path, table.column_names, table.columns)


def _check_size(path: Path, rule: str, found: int, most: int) -> None:
    """Raise where a file holds more than its length explains: what repeats by the billion takes no room in it."""
    if found > most:
        raise InputError(f'Table "{path}"', rule, f"{found:,} in {path.stat().st_size:,} bytes", "Save it as CSV.")


def _check_decoded(path: Path, found: int) -> None:
    most = f"take at most {DECODED:,} bytes and {DECODED_PER_BYTE} for each of its own when it is read"
    _check_size(path, most, found, DECODED + DECODED_PER_BYTE * path.stat().st_size)


def _written_out(values: Any) -> int:
    """Return the bytes that a column of pyarrow takes when each cell has a copy of its text."""
    from pyarrow import compute, types

    if not types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = ((compute.binary_length(part.dictionary), part.indices) for part in values.chunks)
    return sum(compute.sum(length.take(ids)).as_py() or 0 for length, ids in lengths)


def _cleaned(values: Any) -> Any:
    """Return a column of pyarrow without surrounding blanks; text that stands for nothing is missing."""
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
    held_out: float = HELD_OUT,
    seed: int = 0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    unseen: Unseen = "error",
    text: str | None = None,
    encoder: TableEncoder | None = None,
    targets: Mapping[str, Target] | None = None,
) -> Source:
    """Read a table (.csv, .tsv, .parquet) of images, of text or of other cells, with one target for each column.

    Parameters
    ----------
    path : str or Path
        The table, with a header.
    image : str, optional
        The column that names image files, relative to the table's folder.
    columns : sequence of str, optional
        Without ``image``: the columns to learn from (default: all that are not targets), of numbers, dates or words;
        :mod:`hyperproto_runtime.tables` says how they become numbers, and what becomes of empty cells.
    classes, ranges : sequence of str
        The columns to predict, as classes and as numbers. Empty cells are allowed: missing targets.
    test : str or Path, optional
        A table of the same columns to test on (default: ``held_out``, a share of the rows drawn by the ``seed``).
    bounds : mapping of str to (low, high), optional
        For columns of ``ranges`` (default: the extremes of the training data).
    unseen : {"error", "missing"}
        What a class in the test table is that is not in the training data.
    text : str, optional
        The one column to learn from, of free text: its words, weighted by TF-IDF.
    encoder : TableEncoder, optional
        That of a trained model (default: fitted to the training rows).
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
    _check_choices(table, image, text, columns, classes, ranges, given)
    alone = image or text
    names = [alone] if alone else list(columns or (name for name in table if name not in (*classes, *ranges)))
    if not names:
        raise InputError(f'"{path}"', f"have a column to learn from next to {', '.join((*classes, *ranges))}")
    labels = {name: find_labels(name, table[name].class_names(), known.get(name)) for name in classes}
    for name in classes if not known else ():
        _check_classes(name, table[name], labels[name].num_classes)
    is_image = image is not None
    answers = _targets(table, labels, ranges, unseen=unseen if known else "error")
    kept, out = torch.arange(len(table[names[0]])), torch.arange(0)
    if test is None and held_out:
        # every class keeps a row in training, so the names are those of the training part
        kept, out = hold_out_rows([answers[name] for name in classes], len(kept), share=held_out, seed=seed)
    if not is_image:
        encoder = encoder or _fit_encoder(table, names, kept, text=text is not None)
    whole = Split(_inputs(table, names[0], encoder), answers, (path, torch.arange(len(table[names[0]]))))
    train, tested = (select(whole, kept), select(whole, out)) if len(out) else (whole, None)
    if test is not None:
        other = read_columns(test)
        inputs = _inputs(other, names[0], encoder)
        origin = other.path, torch.arange(len(inputs))
        tested = Split(inputs, _targets(other, labels, ranges, unseen=unseen), origin)
    numbers = {name: find_bounds(name, train.targets[name], given.get(name) or known.get(name)) for name in ranges}
    for name in given:
        _warn_beyond(name, train.targets[name], numbers[name])
    preprocessing: Preprocessing
    augment, note = None, ""
    if encoder is None:
        preprocessing, augment, note = look_at_images(train.inputs)
    else:
        how = choose_scaling("auto", sparse=isinstance(train.inputs, Tensor) and is_sparse(train.inputs))
        preprocessing = TablePreprocessing(encoder, Standardizer.fit(train.inputs, how=how))
        note = f"Learns from {describe_encoder(encoder)}."
    return Source(path.stem, train, tested, {**labels, **numbers}, preprocessing, augment, note)


def describe_encoder(encoder: TableEncoder) -> str:
    """Say which columns are learned from, and as what.

    >>> describe_encoder(TableEncoder.fit({"age": [30, 40], "sex": ["f", "m"], "weight": [60, 70]}))
    '3 columns: numbers in age, weight; categories in sex'
    """
    parts = []
    for kind, plural in KINDS.items():
        names = [column.name for column in encoder.columns if column.kind == kind]
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        parts += [f"{plural} in {', '.join(names[:NAMED])}{more}"] if names else []
    words = f", {len(encoder.outputs):,} different" if encoder.columns[0].kind == "text" else ""
    count = len(encoder.columns)
    return f"{count:,} column{'s' * (count > 1)}: {'; '.join(parts)}{words}"


def _check_classes(name: str, column: Column, different: int) -> None:
    """Warn where classes have few examples each, and raise where they surely are numbers."""
    values, rows = column.values, sum(cell is not None for cell in column.cells)
    if different <= max(FEW, SCARCE * rows):
        return
    numbers = isinstance(values, np.ndarray)
    advice = f"{arg('ranges', name)} predicts it as a number." if numbers else "Is it what to predict?"
    got = f"{different:,} different values in {rows:,} rows"
    if numbers and different > rows / 2 and (values % 1 > 0).any():
        raise InputError(f'"{name}"', "name classes, not amounts", got, advice)
    _warn(f'"{name}" has {got}, so that most classes have few examples to learn from.', advice)


def _warn(sentence: str, advice: str) -> None:
    warnings.warn(str(InputError(sentence, advice=advice)), stacklevel=4)


def _warn_beyond(name: str, values: Tensor, bounds: Bounds) -> None:
    beyond = bounds.describe({"train": values})["train"]["beyond"]
    if beyond:
        present = int((~values.isnan()).sum())
        warnings.warn(
            f'{beyond} of {present} values of "{name}" lie beyond its bounds, {bounds.low:g} to {bounds.high:g}, and '
            "count as the nearer bound in training.",
            stacklevel=3,
        )


def _check_choices(
    table: Table,
    image: str | None,
    text: str | None,
    columns: Sequence[str] | None,
    classes: Sequence[str],
    ranges: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
) -> None:
    if not (classes or ranges):
        listed = ", ".join(f'"{name}"' for name in table)
        advice = f'"{table.path}" has the columns {listed}.'
        raise InputError("classes", f"name a column to predict, or {arg('ranges')}", "none in either", advice)
    for name, other, both in (
        ("columns", "image", columns and image),
        ("columns", "text", columns and text),
        ("text", "image", text and image),
    ):
        if both:
            raise InputError(name, f"be left out with {arg(other)}: learn from either", "both")
    chosen = [*([image] if image else ()), *([text] if text else ()), *(columns or ()), *classes, *ranges]
    for name in chosen:
        if not isinstance(name, str):
            raise InputTypeError("The name of a column", "be text", name)
        table[name]  # or an error
        if chosen.count(name) > 1:
            raise InputError("A column", "be used once", f'"{name}" {chosen.count(name)} times')
    for name in bounds:
        if name not in ranges:
            raise InputError("bounds", f"be for columns of {arg('ranges')}", f'"{name}"', "Add it there.")


def _targets(
    table: Table, labels: Mapping[str, Labels], ranges: Sequence[str], *, unseen: Unseen
) -> dict[str, Tensor]:
    """Return the targets of all rows of one table."""
    found = {
        name: class_targets(name, known, table[name].class_names(), where=f'"{table.path}"', unseen=unseen)
        for name, known in labels.items()
    }
    return found | {name: table[name].numbers() for name in ranges}


def _fit_encoder(table: Table, names: Sequence[str], rows: Tensor, *, text: bool) -> TableEncoder:
    """Return what makes numbers of cells, as training rows have them."""
    kept = {}
    for name in names:
        values = table[name].values
        if isinstance(values, np.ndarray):
            found: Any = table[name].numbers().numpy()[rows.numpy()]  # which are finite
        else:
            found = [values[row] for row in rows.tolist()]
        kept[name] = found
        if not text:
            leave_out = f"Leave it out where it only names the row: {arg('columns')} lists those to learn from."
            words = f"{arg('text', name)} learns from its words, and from nothing else."
            warn_useless(name, values, leave_out=leave_out, words=words)
        if not text and all(cell is None or cell != cell for cell in found):
            about = f'Column "{name}" of "{table.path}"'
            raise InputError(about, "hold a value", "empty cells only", "Leave it out.")
    return _fit_text(names[0], kept[names[0]]) if text else TableEncoder.fit(kept)


def warn_useless(name: str, values: Any, *, leave_out: str, words: str) -> None:
    """Warn of a column that counts the rows, or that has other words in nearly each; the rest is advice."""
    if isinstance(values, np.ndarray):
        if len(values) > FEW and (np.diff(np.sort(values)) == 1).all():
            _warn(f'"{name}" counts the rows one by one.', leave_out)
        return
    present = [str(cell) for cell in values if cell is not None]
    is_text = sum(len(cell.split()) for cell in present) >= SENTENCE * len(present)
    different = len(set(present)) / max(1, len(present))
    if len(present) > FEW and different > (0.5 if is_text else 0.9) and column_kind(values) == "categories":
        sentence = f'"{name}" says something else in nearly every row, and as a category teaches nothing.'
        _warn(sentence, words if is_text else leave_out)


def _fit_text(name: str, cells: Sequence[Any]) -> TableEncoder:
    """Look at one column of free text: scikit-learn's TF-IDF of its words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    fitted = TfidfVectorizer(sublinear_tf=True).fit("" if cell is None else str(cell) for cell in cells)
    words, weights = tuple(fitted.get_feature_names_out().tolist()), tuple(fitted.idf_.tolist())
    return TableEncoder((ColumnCode(name, "text", weights, categories=words),))


def encode_rows(table: Table, encoder: TableEncoder) -> Tensor:
    """Return the rows of a table as numbers, sparse where they are of text."""
    known = {column.name: table[column.name] for column in encoder.columns}
    are_numbers = {column.name for column in encoder.columns if column.kind == "number"}
    rows = encoder.encode({name: c.values if name in are_numbers else c.cells for name, c in known.items()})
    if isinstance(rows, SparseRows):
        starts, columns, values = (torch.from_numpy(part) for part in rows[:3])
        return sparse_rows(starts, columns, values, rows.width)
    return torch.from_numpy(rows).float()


def _inputs(table: Table, image: str, encoder: TableEncoder | None) -> Inputs:
    """Return what to learn from, of all rows of one table: encoded, or the images that a column names."""
    if encoder is not None:
        return encode_rows(table, encoder)
    path, cells = table.path, table[image].cells
    for row, file in enumerate(cells, start=1):
        if not isinstance(file, str):
            about = f'Column "{image}" of "{path}"'
            raise InputError(about, "name an image in every row", f"{file!r} in row {row}")
    files = [path.parent / file for file in cells]
    check_files_exist(files, listed_in=str(path))
    return ImageFiles(files)
