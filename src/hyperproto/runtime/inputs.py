"""Inputs as people have them, to arrays as ``model.onnx`` takes them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.errors import InputError, InputTypeError
from .images import Allowance, center, decode
from .model import InputForm
from .tables import SparseRows, frame_columns, is_frame

IMAGES_AT_ONCE = 16  # what a cache holds is faster than more


def prepare_images(inputs: Any, form: InputForm, allowed: Allowance) -> Iterator[Array]:
    """Yield pixels, of paths or bytes of images, or as they are."""
    assert form.images is not None
    items = [inputs] if isinstance(inputs, str | Path | bytes) else inputs
    is_pixels = getattr(items, "dtype", None) == np.uint8
    if not is_pixels and (
        not isinstance(items, Sequence)
        or not all(isinstance(item, str | Path | bytes) for item in items)
    ):
        shape = ", ".join(map(str, form.shape))
        rule = f"be paths or bytes of images, or an array of shape (n, {shape}) of uint8"
        raise InputTypeError("inputs", rule, type(inputs).__name__)
    for start in range(0, len(items), IMAGES_AT_ONCE):
        some = items[start : start + IMAGES_AT_ONCE]
        if not is_pixels:
            sources = (item if isinstance(item, bytes) else Path(item) for item in some)
            stored = [decode(source, form.images, allowed=allowed) for source in sources]
            some = center(np.stack(stored), form.images.size)
        yield np.ascontiguousarray(some)


def prepare_rows(inputs: Any, form: InputForm, at_once: int) -> Iterator[Array]:
    """Yield rows of a table, texts, or arrays of numbers, some at a time; sparse rows become dense
    then.
    """
    rows = _read_rows(inputs, form)
    for start in range(0, rows.shape[0], at_once):
        part = rows[start : start + at_once]
        with np.errstate(over="ignore"):  # infinity is refused where it is run
            part = part.toarray() if hasattr(part, "toarray") else part
            yield np.ascontiguousarray(part, dtype=form.dtype)


def _read_rows(inputs: Any, form: InputForm) -> Any:
    """Return rows of numbers, shape (n, ...), sparse ones as they are; arrays are taken to be
    such.
    """
    columns = _read_columns(inputs, form)
    if columns is not None and form.encoder is not None:
        encoded = form.encoder.encode(columns)
        return _Dense(encoded) if isinstance(encoded, SparseRows) else encoded
    if columns is not None:
        absent = [name for name in form.columns if name not in columns]
        if absent:
            rule = f'have a column "{absent[0]}", as in training'
            raise InputError("inputs", rule, ", ".join(columns))
        inputs = _numbers([columns[name] for name in form.columns]).T
    rows = inputs.tocsr() if hasattr(inputs, "tocsr") else _numbers(inputs)
    if rows.shape[1:] != form.shape:
        raise InputError("inputs", f"have shape {('n', *form.shape)}".replace("'", ""), rows.shape)
    return rows


class _Dense:
    """Sparse rows of which some at a time are made dense."""

    def __init__(self, rows: SparseRows) -> None:
        self.rows, self.shape = rows, (len(rows.starts) - 1, rows.width)

    def __getitem__(self, part: slice) -> Array:
        starts = self.rows.starts[part.start : part.stop + 1]
        first, last = starts[0], starts[-1]
        columns, values = self.rows.columns[first:last], self.rows.values[first:last]
        return SparseRows(starts - first, columns, values, self.rows.width).to_dense()


def _read_columns(inputs: Any, form: InputForm) -> dict[str, Any] | None:
    """Return columns by name, of a DataFrame, of rows as dicts, or of texts; None for arrays."""
    names, is_text = form.columns, form.kind == "text"
    if is_frame(inputs):
        return frame_columns(inputs) if names else None
    rows: Any = [inputs] if isinstance(inputs, str | Mapping) else inputs
    if form.encoder is None or isinstance(inputs, np.ndarray):  # an array is encoded already
        if not names or not _are(rows, Mapping):
            return None
    elif is_text and _are(rows, str):
        return {names[0]: list(rows)}
    elif not _are(rows, Mapping):
        if isinstance(rows, Sequence) and not rows:
            raise InputError("inputs", "be at least one", "none")
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        what = "texts" if is_text else f"rows as dicts with {listed}"
        raise InputTypeError("inputs", f"be {what}, or a DataFrame", type(inputs).__name__)
    for place, row in enumerate(rows):
        absent = [name for name in names if name not in row]
        if absent:
            advice = "Give null, None in Python, where a cell is empty."
            raise InputError(f"Row {place + 1}", f'have a value for "{absent[0]}"', advice=advice)
    return {name: [row[name] for row in rows] for name in names}


def _are(rows: Any, kind: type) -> bool:
    """Whether these are some rows, all of a kind."""
    is_list = isinstance(rows, Sequence) and len(rows) > 0
    return is_list and all(isinstance(row, kind) for row in rows)


def _numbers(values: Any) -> Array:
    try:
        array = np.asarray(values)
        return array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("inputs", "be numbers", str(error).splitlines()[0]) from None
