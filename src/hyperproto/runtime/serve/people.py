"""``/predict``, for people: an image, a row or a text in, and everything about it out."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._core.arrays import Array
from ..._core.errors import InputError
from ..answers import rank
from ..model import POINT, InputForm, Model
from ..predictor import Predictor
from .gate import JsonBounds, RefusedError
from .protocol import finite, to_array

NEAREST = 3  # classes that are shown on the sphere
MOST_SHOWN = 256  # categories of a column that the page suggests


def read_inputs(
    body: bytes, content_type: str, form: InputForm, most_rows: int, bounds: JsonBounds
) -> tuple[Any, bool]:
    """Return the inputs that a body holds, as :class:`Predictor` takes them, and whether it is one
    by itself.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if form.kind == "images":
        if kind == "application/json" or kind.startswith("text/"):
            raise RefusedError(
                415, "This model takes images: send the file itself, or a form with it."
            )
        return [body], True
    if kind == "text/plain" and form.kind == "text":
        try:
            return [body.decode()], True
        except UnicodeDecodeError:
            raise InputError("The text", "be in UTF-8") from None
    if kind not in (
        "",
        "application/json",
        "application/x-www-form-urlencoded",
    ):  # what curl says of its own accord
        raise RefusedError(415, f"This model takes {_wanted(form)} as application/json.")
    bounds.check(body)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, f"The request must be JSON: {_wanted(form)}.") from None
    inputs, single = _read_rows(value, form) if form.kind == "rows" else _read_cells(value, form)
    if len(inputs) > most_rows:
        raise InputError("The request", f"have at most {most_rows:,} rows", f"{len(inputs):,}")
    return inputs, single


def _read_cells(value: object, form: InputForm) -> tuple[list[Any], bool]:
    """Return texts, by themselves or as objects with their column, or rows of a table."""
    rows, single = (value, False) if isinstance(value, list) else ([value], True)
    one: type = dict
    if form.kind == "text":
        (column,), one = form.columns, str
        rows = [_text(row, column) for row in rows]
    return _all_of(rows, one, form), single


def _text(row: Any, column: str) -> Any:
    """Return the text of an object that has nothing but the column of texts, or what is none."""
    return row[column] if isinstance(row, dict) and row.keys() == {column} else row


def _read_rows(value: Any, form: InputForm) -> tuple[Any, bool]:
    """Return rows of numbers, as lists or as objects with their columns."""
    rows: list[Any]
    match value:
        case dict():
            rows = [value]
        case [dict(), *_]:
            rows = value
        case list():
            array = to_array(value, "FP64", "The row")
            single = array.ndim == len(form.shape)
            return array[None] if single else array, single
        case _:
            rows = []
    cells = [[row.get(name) for name in form.columns] for row in _all_of(rows, dict, form)]
    for row in cells:
        for name, cell in zip(form.columns, row, strict=True):
            if type(cell) not in (int, float):  # of JSON
                raise InputError("The row", f'have a number for "{name}"')
    return to_array(cells, "FP64", "The row"), rows is not value


def _all_of(rows: list[Any], kind: type, form: InputForm) -> list[Any]:
    """Return rows if there are some, and all are of a kind."""
    if not rows or any(not isinstance(row, kind) for row in rows):
        raise InputError("The request", f"be {_wanted(form)}, or a list of such")
    return rows


def _wanted(form: InputForm) -> str:
    if form.kind == "text":
        return "a text in quotes, or an object with its column"
    if form.encoder is not None:
        return "a row, as an object with its columns"
    return "a row, as a list of numbers" + (
        " or an object with its columns" if form.columns else ""
    )


def describe(
    predictor: Predictor, found: Mapping[str, Array], *, top: int, sphere: bool
) -> list[dict[str, Any]]:
    """Return everything about each input; infinity, which JSON does not have, is None."""
    answers = predictor.describe(found, top=top)
    for row, answer in enumerate(answers):
        for prediction in answer["predictions"].values():
            for end in prediction.keys() & {"low", "high", "outlier"}:
                (prediction[end],) = finite(np.array([prediction[end]]))
        if sphere:
            answer["sphere"] = sphere_view(
                predictor, {name: values[row] for name, values in found.items()}
            )
    return answers


def sphere_view(predictor: Predictor, found: Mapping[str, Array]) -> dict[str, Any] | None:
    """Return where an input and the classes nearest to it lie, in three dimensions; None without a
    sphere.

    On a circle or in three dimensions these are their coordinates. In more, they are seen in the
    space of the three nearest prototypes, from their middle: prototypes then lie on the sphere, and
    the input within it, as far as it points elsewhere.
    """
    model = predictor.model
    task = next((task for task in model.tasks if task.classes and task.score == "cosine"), None)
    if not model.point or (task is None and model.dim > 3):
        return None
    point, names, nearest = found[POINT].astype(np.float64), [], np.zeros((0, model.dim))
    if task is not None:
        (ids,) = rank(found[f"{task.name}/scores"][None], NEAREST)[1]
        nearest = predictor.prototypes(task.name, ids.tolist()).astype(np.float64)
        names = [task.classes[index] for index in ids]
        if nearest.shape[1] != model.dim:  # this task has some of the axes to itself
            return None
    axes = (
        np.eye(3, model.dim) if model.dim <= 3 else _axes([nearest.mean(axis=0), *nearest, point])
    )
    shown = np.round(np.vstack([point, nearest]) @ axes.T, 4).tolist()
    listed = [{"name": name, "at": at} for name, at in zip(names, shown[1:], strict=True)]
    return {"input": shown[0], "classes": listed, "exact": model.dim <= 3}


def _axes(vectors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return three directions at right angles that span the first vectors; the first of them comes
    last, as z.
    """
    found: list[NDArray[np.float64]] = []
    for vector in [*vectors, *np.eye(3, len(vectors[0]))]:
        rest = vector - sum((axis * (axis @ vector) for axis in found), np.zeros_like(vector))
        if len(found) < 3 and np.linalg.norm(rest) > 1e-6:
            found.append(rest / np.linalg.norm(rest))
    return np.array([found[1], found[2], found[0]])


def describe_model(model: Model, name: str) -> dict[str, Any]:
    """Return what the page needs to know about a model."""
    form = model.inputs
    columns = [
        {
            "name": c.name,
            "kind": c.kind,
            "categories": [w for w in c.categories if w is not None][:MOST_SHOWN],
        }
        for c in (form.encoder.columns if form.encoder is not None and form.kind == "table" else ())
    ]
    tasks = [
        {
            "name": task.name,
            "kind": task.kind,
            "classes": len(task.classes),
            "low": task.low,
            "high": task.high,
        }
        for task in model.tasks
    ]
    inputs = {
        "kind": form.kind,
        "shape": form.shape,
        "columns": columns or [{"name": n} for n in form.names or ()],
    }
    return {
        "name": name,
        "inputs": inputs,
        "tasks": tasks,
        "dim": model.dim,
        "versions": model.versions,
    }
