"""Your own table as a data set: images, text or other cells to learn from, classes and numbers to
predict.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from hyperproto._core.arrays import Array, Numbers
from hyperproto._core.errors import InputError, InputTypeError, arg, require
from hyperproto.data.augment import Augment
from hyperproto.data.image_files import ImageFiles, check_files_exist, choose_preparation
from hyperproto.data.preprocessing import (
    Preprocessing,
    Standardizer,
    TablePreprocessing,
    is_sparse,
    sparse_rows,
)
from hyperproto.data.source import Inputs, Source, Split, Unseen, hold_out_rows, select
from hyperproto.data.table_files import (
    FEW,
    Column,
    Table,
    counts_rows,
    is_sentences,
    read_columns,
)
from hyperproto.defaults import HELD_OUT, choose_scaling
from hyperproto.runtime.tables import (
    Cells,
    ColumnCode,
    SparseRows,
    TableEncoder,
    are_numbers,
    column_kind,
)
from hyperproto.tasks import Task, indexed, numeric, task_kind

KINDS = {"number": "numbers", "categories": "categories", "date": "dates", "text": "words"}
NAMED = 10  # columns of a kind
SCARCE = 0.2  # classes by rows, up to which they need no warning
FEWEST_ROWS = 10  # of a table of which some are held out


def read_table(
    path: str | Path,
    *,
    image: str | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[str] = (),
    numbers: Sequence[str] = (),
    ranges: Sequence[str] = (),
    test: str | Path | None = None,
    held_out: float = HELD_OUT,
    seed: int = 0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    unseen: Unseen = "error",
    text: str | None = None,
    encoder: TableEncoder | None = None,
    targets: Mapping[str, Task] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Source:
    """Read a table (.csv, .tsv, .parquet) of images, of text or of other cells, with one target for
    each column.

    Parameters
    ----------
    path : str or Path
        The table, with a header.
    image : str, optional
        The column that names image files, relative to the table's folder.
    columns : sequence of str, optional
        Without ``image``: the columns to learn from (default: all that are not targets), of
        numbers, dates or words; :mod:`hyperproto.runtime.tables` says how they become numbers, and
        what becomes of empty cells.
    classes, numbers, ranges : sequence of str
        The columns to predict, as classes, as numbers, and as numbers between bounds (Equation 7).
        Empty cells are allowed: missing targets.
    test : str or Path, optional
        A table of the same columns to test on (default: ``held_out``, a share of the rows drawn by
        the ``seed``).
    bounds : mapping of str to (low, high), optional
        For columns of ``ranges`` (default: the extremes of the training data).
    unseen : {"error", "missing"}
        What a class in the test table is that is not in the training data.
    text : str, optional
        The one column to learn from, of free text: its words, weighted by TF-IDF (default: a column
        of sentences, where there is nothing else to learn from).
    encoder : TableEncoder, optional
        That of a trained model (default: fitted to the training rows).
    targets : mapping of str to Classes, Number or Range, optional
        Those of a trained model: class names and bounds are then its own, not those of the data,
        and ``unseen`` goes for the training part too.
    kinds : mapping of str to str, optional
        Columns to predict as other kinds of tasks, by the names in ``hyperproto.tasks.KINDS``;
        what such a task must know stands behind ``=``, as in ``{"wind": "angle=360"}``.

    Returns
    -------
    Source
        Class names are sorted; numbers beyond the bounds are scored as they are in testing.
    """
    table, known = read_columns(path), dict(targets or {})
    to_predict = [*classes, *numbers, *ranges, *(kinds or ())]
    names = _columns_to_learn_from(table, to_predict, image=image, text=text, columns=columns)
    others = {name: kind.partition("=") for name, kind in (kinds or {}).items()}
    asked = {
        **dict.fromkeys(classes, "classes"),
        **dict.fromkeys(numbers, "number"),
        **dict.fromkeys(ranges, "range"),
        **{name: kind for name, (kind, _, _) in others.items()},
    }
    limits = {name: {"bounds": given} for name, given in (bounds or {}).items()}
    more = limits | {name: task_kind(kind).read_option(t) for name, (kind, _, t) in others.items()}
    for name in limits:
        if name not in ranges:
            rule = f"be for columns of {arg('ranges')}"
            raise InputError("bounds", rule, f'"{name}"', "Add it there.")

    def fit(name: str, values: Sequence[object] | Array) -> Task:
        if name in known:
            return known[name]
        return task_kind(asked[name]).fit(values, f'"{name}"', **more.get(name, {}))

    tasks = {name: fit(name, _values(table[name], kind)) for name, kind in asked.items()}
    for name in classes if not known else ():
        _check_classes(name, table[name], tasks[name].num_classes)
    answers = _targets(table, asked, tasks, unseen=unseen if known else "error")
    kept, out = torch.arange(len(table[names[0]])), torch.arange(0)
    if test is None and held_out:
        # every class keeps a row in training, so the names are those of the training part
        labels = [answers[name] for name in indexed(tasks)]
        kept, out = hold_out_rows(labels, len(kept), share=held_out, seed=seed)
    if image is None and encoder is None:
        text = text or _only_text(table, names)
        encoder = _fit_encoder(table, [text] if text else names, kept, text=text is not None)
    whole = _whole(table, names[0], encoder, answers)
    if test is None and held_out and len(whole) < FEWEST_ROWS and not known:
        rule = f"have at least {FEWEST_ROWS} rows, to learn from some and measure on others"
        advice = f"Add rows, or learn from all of them by {arg('held_out', 0)}."
        raise InputError(f'"{path}"', rule, len(whole), advice)
    train, tested = (select(whole, kept), select(whole, out)) if len(out) else (whole, None)
    if test is not None:
        other = read_columns(test)
        tested = _whole(other, names[0], encoder, _targets(other, asked, tasks, unseen=unseen))
    for name in numeric(tasks):
        # bounds are those of the training rows; names are the same in all rows
        tasks[name] = fit(name, train.targets[name].numpy())
    for name in limits:
        _warn_beyond(name, train.targets[name], tasks[name])
    return Source(Path(path).stem, train, tested, tasks, *_preparation(train.inputs, encoder))


def _whole(
    table: Table, image: str, encoder: TableEncoder | None, answers: dict[str, Tensor]
) -> Split:
    """Return all rows of one table, with their targets and where they are from."""
    inputs = _inputs(table, image, encoder)
    return Split(inputs, answers, (table.path, torch.arange(len(inputs))))


def _preparation(
    inputs: Inputs, encoder: TableEncoder | None
) -> tuple[Preprocessing, Augment | None, str]:
    """Return how training inputs are prepared and varied, and a sentence that says so."""
    if encoder is None:
        return choose_preparation(inputs)
    how = choose_scaling("auto", sparse=is_sparse(inputs))
    note = f"Learns from {describe_encoder(encoder)}."
    return TablePreprocessing(encoder, Standardizer.fit(inputs, how=how)), None, note


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
    """Warn where classes have few examples each, and raise where they must be numbers."""
    rows = sum(cell is not None for cell in column.cells)
    if different <= max(FEW, SCARCE * rows):
        return
    advice, got = "Is it what to predict?", f"{different:,} different values in {rows:,} rows"
    if are_numbers(column.values):
        advice = f"{arg('numbers', name)} predicts it as a number."
        if different > rows / 2 and (column.numbers() % 1 > 0).any():
            raise InputError(f'"{name}"', "name classes, not amounts", got, advice)
    _warn(f'"{name}" has {got}, so that most classes have few examples to learn from.', advice)


def _warn(sentence: str, advice: str) -> None:
    warnings.warn(str(InputError(sentence, advice=advice)), stacklevel=4)


def _warn_beyond(name: str, values: Tensor, task: Task) -> None:
    beyond = task.describe_values({"train": values})["train"]["beyond"]
    if beyond:
        low, high = task.bounds
        warnings.warn(
            f'{beyond} of {int(task.present(values).sum())} values of "{name}" lie beyond its '
            f"bounds, {low:g} to {high:g}, and count as the nearer bound in training.",
            stacklevel=3,
        )


def _columns_to_learn_from(
    table: Table,
    to_predict: Sequence[str],
    *,
    image: str | None,
    text: str | None,
    columns: Sequence[str] | None,
) -> Sequence[str]:
    """Return the columns to learn from, where what was chosen can work."""
    if not to_predict:
        listed = ", ".join(f'"{name}"' for name in table)
        rule, advice = f"name a column to predict, or {arg('numbers')}", f"There are {listed}."
        raise InputError("classes", rule, "none in either", advice)
    ways = {"image": image and [image], "text": text and [text], "columns": columns}
    given = {way: names for way, names in ways.items() if names}
    if len(given) > 1:
        first, *_, last = given
        raise InputError(last, f"be left out with {arg(first)}: learn from either", "both")
    learned = next(iter(given.values()), [name for name in table if name not in to_predict])
    if not learned:
        listed = ", ".join(to_predict)
        raise InputError(f'"{table.path}"', f"have a column to learn from next to {listed}")
    chosen = [*learned, *to_predict]
    for name in chosen:
        if not isinstance(name, str):
            raise InputTypeError("The name of a column", "be text", name)
        table[name]  # or an error
        if chosen.count(name) > 1:
            raise InputError("A column", "be used once", f'"{name}" {chosen.count(name)} times')
    return learned


def _values(column: Column, kind: str) -> Numbers | list[str | None]:
    """Return the cells of a column as a kind of task takes them."""
    return column.numbers() if task_kind(kind).reads == "number" else column.class_names()


def _targets(
    table: Table, asked: Mapping[str, str], tasks: Mapping[str, Task], *, unseen: Unseen
) -> dict[str, Tensor]:
    """Return the targets of all rows of one table."""
    found = {}
    for name, kind in asked.items():
        cells, about = _values(table[name], kind), f'"{name}" in "{table.path}"'
        found[name] = torch.from_numpy(tasks[name].encode(cells, about, unseen=unseen))
    return found


def _fit_encoder(table: Table, names: Sequence[str], rows: Tensor, *, text: bool) -> TableEncoder:
    """Return what makes numbers of cells, as training rows have them."""
    kept = {name: table[name].take(rows.numpy()) for name in names}
    if text:
        return _fit_text(names[0], kept[names[0]])
    leave_out = (
        f"Leave it out where it only names the row: {arg('columns')} lists those to learn from."
    )
    for name, cells in kept.items():
        words = f"{arg('text', name)} learns from its words, and from nothing else."
        warn_useless(name, table[name].values, leave_out=leave_out, words=words)
        if all(cell is None or cell != cell for cell in cells):
            about = f'Column "{name}" of "{table.path}"'
            raise InputError(about, "hold a value", "empty cells only", "Leave it out.")
    return TableEncoder.fit(kept)


def _only_text(table: Table, names: Sequence[str]) -> str | None:
    """Return the column of sentences, where it is the only one that teaches anything."""
    useful = [name for name in names if not counts_rows(table[name].values)]
    sentences = [name for name in useful if is_sentences(table[name].values)]
    if not sentences or len(sentences) < len(useful):
        return None
    if len(sentences) > 1:
        listed = ", ".join(f'"{name}"' for name in sentences)
        rule = "name the column of sentences to learn from"
        raise InputError("text", rule, f"none, of {listed}", "Join them in one for all.")
    return sentences[0]


def warn_useless(name: str, values: Cells, *, leave_out: str, words: str) -> None:
    """Warn of a column that counts the rows, or that has other words in nearly each; the rest is
    advice.
    """
    if counts_rows(values):
        _warn(f'"{name}" counts the rows one by one.', leave_out)
    if column_kind(values) != "categories":
        return
    present = [str(cell) for cell in values if cell is not None]
    is_other = len(present) > FEW and len(set(present)) > 0.9 * len(present)
    if is_other or is_sentences(values):
        sentence = (
            f'"{name}" says something else in nearly every row, and as a category teaches nothing.'
        )
        _warn(sentence, words if is_sentences(values) else leave_out)


def _fit_text(name: str, cells: Cells) -> TableEncoder:
    """Look at one column of free text: scikit-learn's TF-IDF of its words."""
    text = require("sklearn.feature_extraction.text", extra="sklearn", purpose="A column of text")
    fitted = text.TfidfVectorizer(sublinear_tf=True).fit(
        "" if cell is None else str(cell) for cell in cells
    )
    words, weights = tuple(fitted.get_feature_names_out().tolist()), tuple(fitted.idf_.tolist())
    return TableEncoder((ColumnCode(name, "text", weights, categories=words),))


def encode_rows(table: Table, encoder: TableEncoder) -> Tensor:
    """Return the rows of a table as numbers, sparse where they are of text."""
    return encode_cells(
        {
            column.name: table[column.name].values
            if column.kind == "number"
            else table[column.name].cells
            for column in encoder.columns
        },
        encoder,
    )


def encode_cells(columns: Mapping[str, Cells], encoder: TableEncoder) -> Tensor:
    """Return the rows of columns of cells as numbers, sparse where they are of text."""
    rows = encoder.encode(columns)
    if isinstance(rows, SparseRows):
        starts, places, values = (torch.from_numpy(part) for part in rows[:3])
        return sparse_rows(starts, places, values, rows.width)
    return torch.from_numpy(rows).float()


def _inputs(table: Table, image: str, encoder: TableEncoder | None) -> Inputs:
    """Return what to learn from, of all rows of one table: encoded, or the images that a column
    names.
    """
    if encoder is not None:
        return encode_rows(table, encoder)
    files = table[image].class_names()
    if None in files:
        about = f'Column "{image}" of "{table.path}"'
        raise InputError(
            about, "name an image in every row", f"none in row {files.index(None) + 1}"
        )
    paths = [table.path.parent / str(file) for file in files]
    check_files_exist(paths, listed_in=str(table.path))
    return ImageFiles(paths)
