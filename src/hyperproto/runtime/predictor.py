"""Predict with an exported model: inputs as people have them in, answers out."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from .._core.arrays import Array
from .._core.checks import check_integer, choose
from .._core.errors import InputError, InputTypeError, arg, require
from .conformal import ConformalInterval, ConformalSets
from .images import Allowance, center, decode
from .model import GRAPH, PROTOTYPES, InputForm, Model, ModelError, TaskForm, read_model
from .tables import SparseRows, frame_columns, is_frame

T = TypeVar("T", ConformalSets, ConformalInterval)
INPUT, POINT = "input", "point"  # of the graph
AT_ONCE = 2**22  # numbers of inputs, or scores, that are computed at a time: 16 MB
IMAGES_AT_ONCE = 16  # what a cache holds is faster than more
# The key "location" of a tensor in another file, as protobuf has it: field 1, 8 bytes, in any
# length of varints.
ELSEWHERE = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")


class TopK(NamedTuple):
    """The k best classes of each input, best first.

    Attributes
    ----------
    values : array, shape (n, k)
        Cosines, or the scores of another space.
    names : array, shape (n, k)
    """

    values: Array
    names: Array


class Predictor:
    """A model that ``hyperproto export`` wrote, ready to predict. Several threads may use one at
    the same time.

    Inputs are what the model was trained on, several at a time or one by itself: paths of images or
    their bytes; rows of a table as dicts, or a DataFrame; texts; or an array, dense or sparse.
    Answers are arrays with one entry for each input, where the model has several tasks a dict of
    them by name.

    Parameters
    ----------
    folder : path
    threads : int, optional
        How many threads compute one prediction (default: one for each core).
    most_pixels : int, default 2**26
        Larger images are refused before they are decoded.

    Attributes
    ----------
    model : Model
        What ``model.json`` says: tasks, classes, bounds, measures, versions.

    Examples
    --------
    >>> predictor = Predictor("model/")  # doctest: +SKIP
    >>> predictor.predict([{"age": 39, "job": "clerk"}, {"age": 50, "job": None}])  # doctest: +SKIP
    array(['<=50K', '>50K'], dtype='<U5')
    """

    def __init__(
        self, folder: str | Path, *, threads: int | None = None, most_pixels: int = 2**26
    ) -> None:
        self.model, graph = read_model(folder)
        self._folder = Path(folder)
        self._session = _open(graph, self._folder, threads)
        self._allowed = Allowance(check_integer(most_pixels, "most_pixels", at_least=1))
        _check_graph(self._session, self.model, self._folder)
        self._labels = {
            task.name: _label_array(task.classes) for task in self.model.tasks if task.classes
        }
        for name in self._placed:
            self.prototypes(name, [0])

    def __repr__(self) -> str:
        tasks = ", ".join(
            f"{task.name}: {len(task.classes)} classes"
            if task.classes
            else f"{task.name}: a number"
            for task in self.model.tasks
        )
        return f"<Predictor: {self.model.inputs.kind} to {tasks}>"

    def predict(self, inputs: Any) -> Any:
        """Return class names, tuples of labels and numbers, shape (n,); what is rejected gets the
        answer for unknown inputs.
        """
        wanted = [part for task in self.model.tasks for part in self._decision(task)]
        found = self.run(inputs, wanted)
        return self._in_form({task.name: self.decided(task, found) for task in self.model.tasks})

    def predict_proba(self, inputs: Any) -> Any:
        """Return the probability of each class, shape (n, num_classes)."""
        return self._read(inputs, "probabilities", self._class_tasks("predict_proba"))

    def scores(self, inputs: Any) -> Any:
        """Return the cosine to the prototype of each class, or the score of another space. Shape
        (n, num_classes).
        """
        return self._read(inputs, "scores", self._class_tasks("scores"))

    def outlier_score(self, inputs: Any) -> Any:
        """Return how unusual inputs are, larger for more unusual ones. Shape (n,)."""
        return self._read(inputs, "outlier", self._class_tasks("outlier_score"))

    def top_k(self, inputs: Any, k: int = 5) -> Any:
        """Return the k best classes of each input; all of them where a task has no more."""
        k = check_integer(k, "k", at_least=1)

        def best(name: str, scores: Array) -> TopK:
            values, ids = rank(scores, k)
            return TopK(values, self._labels[name][ids])

        return self._read(inputs, "scores", self._class_tasks("top_k"), best)

    def conformal_sets(self, inputs: Any, coverage: float | None = None) -> Any:
        """Return which classes to expect, shape (n, num_classes): the true one is among them as
        often as stated.

        ``coverage`` is one that was fitted when the model was exported (default: the first of
        them).
        """
        tasks = self._class_tasks("conformal_sets")
        fitted = {task.name: _choose(task.sets, coverage, task) for task in tasks}
        return self._read(inputs, "probabilities", tasks, lambda n, found: fitted[n].sets(found))

    def intervals(self, inputs: Any, coverage: float | None = None) -> Any:
        """Return the ends of intervals, shape (n, 2), that contain the true number as often as
        stated.
        """
        tasks = [task for task in self.model.tasks if not task.classes]
        if not tasks:
            raise InputError("A model for intervals", "predict numbers", "only classes")
        fitted = {task.name: _choose(task.intervals, coverage, task) for task in tasks}
        return self._read(inputs, "value", tasks, lambda n, found: fitted[n].intervals(found))

    def transform(self, inputs: Any) -> Array:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        if not self.model.point:
            raise InputError(
                "A model for transform", "have a sphere", str(self.model.space.get("kind"))
            )
        return self.run(inputs, [POINT])[POINT]

    def answer(self, inputs: Any, *, top: int = 3) -> list[dict[str, Any]]:
        """Return everything about each input as plain values, such as a server sends.

        Each is ``{"predictions": {task: ...}, "point": [...]}``. A class task's prediction has
        "name", "cosine" (or "score"), "probability", "calibrated", "outlier", the ``top`` best
        classes in "top", the names in its "set" where one was fitted, and "unknown" where inputs
        may be rejected; a number's has "value", and "low" and "high" where an interval was fitted.
        "point" is where the input lies on the sphere, None without one.
        """
        return self.describe(self.run(inputs, self.outputs), top=top)

    def describe(self, found: Mapping[str, Array], *, top: int = 3) -> list[dict[str, Any]]:
        """Return what :meth:`answer` says about inputs, given all :attr:`outputs` of ``model.onnx``
        for them.
        """
        top = check_integer(top, "top", at_least=1)
        columns = {
            task.name: self._describe_classes(task, found, top)
            if task.classes
            else _describe_numbers(task, found)
            for task in self.model.tasks
        }
        count = len(next(iter(columns.values())))
        points = found[POINT].tolist() if self.model.point else [None] * count
        return [
            {
                "predictions": {name: column[row] for name, column in columns.items()},
                "point": points[row],
            }
            for row in range(count)
        ]

    def prepare(self, inputs: Any) -> Iterator[Array]:
        """Yield inputs as ``model.onnx`` takes them, some at a time."""
        form = self.model.inputs
        if form.kind == "images":
            yield from self._prepare_images(inputs)
            return
        rows = _prepare_rows(inputs, form)
        for start in range(0, rows.shape[0], self.rows_at_once):
            part = rows[start : start + self.rows_at_once]
            with np.errstate(over="ignore"):  # infinity is refused where it is run
                yield np.ascontiguousarray(
                    part.toarray() if hasattr(part, "toarray") else part, dtype=form.dtype
                )

    def run(self, inputs: Any, outputs: Sequence[str]) -> dict[str, Array]:
        """Return some outputs of ``model.onnx`` by name for inputs of any number."""
        names = list(dict.fromkeys(outputs))
        parts = [self.run_prepared(prepared, names) for prepared in self.prepare(inputs)]
        if not parts:
            raise InputError("inputs", "be at least one", "none")
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    def run_prepared(self, prepared: Array, outputs: Sequence[str]) -> dict[str, Array]:
        """Return some outputs of ``model.onnx`` by name, for inputs of its shape and dtype."""
        self.check_prepared(prepared)
        checked = [*outputs, POINT] if self.model.point and POINT not in outputs else list(outputs)
        try:
            values = self._session.run(checked, {INPUT: prepared})
        except Exception as error:  # onnxruntime's, which have no common base
            raise InputError(f"{GRAPH} could not be run ({_first_line(error)}).") from None
        found = dict(zip(checked, values, strict=True))
        self._check_found(found, len(prepared))
        if (
            self.model.point and not (np.linalg.norm(found[POINT], axis=1) > 0.5).all()
        ):  # NaN is not
            raise InputError(
                "inputs", "have a direction on the sphere", "outputs that are zero or not finite"
            )
        return {name: found[name] for name in outputs}

    def _check_found(self, found: Mapping[str, Array], count: int) -> None:
        """Raise where the graph did not give one answer for each input, or a class there is not."""
        wanted = _wanted(self.model)
        for name, values in found.items():
            if values.shape != (count, *wanted[name][1]):
                rule = f'give "{name}" of shape {(count, *wanted[name][1])}'
                raise ModelError(GRAPH, rule, values.shape)
        for task in self.model.tasks:
            ids = found.get(f"{task.name}/prediction", np.zeros(0))
            most = 2 if task.reads == "mask" else len(task.classes)
            wrong = ids[(ids < 0) | (ids >= most)]
            if len(wrong):
                raise ModelError(GRAPH, f"predict classes below {most}", wrong[0])

    def check_prepared(self, prepared: Array) -> None:
        """Raise where inputs are not of the shape and dtype that ``model.onnx`` takes, or not
        finite.
        """
        form = self.model.inputs
        if prepared.shape[1:] != form.shape or prepared.dtype != form.dtype:
            rule = f"have shape {('n', *form.shape)} of {form.dtype}".replace("'", "")
            raise InputError("Prepared inputs", rule, f"{prepared.shape} of {prepared.dtype}")
        if prepared.dtype.kind == "f" and not np.isfinite(prepared).all():
            bad = np.flatnonzero(~np.isfinite(prepared.reshape(len(prepared), -1)).all(axis=1))
            got = f"NaN or infinity in {len(bad)} of {len(prepared)} rows (first: row {bad[0]})"
            raise InputError("inputs", "be finite", got)

    @property
    def outputs(self) -> list[str]:
        """What ``model.onnx`` gives: all about each task, and the point on the sphere where there
        is one.
        """
        named = [name for task in self.model.tasks for name in task.outputs]
        return [*named, POINT] if self.model.point else named

    @property
    def rows_at_once(self) -> int:
        """How many inputs are computed at a time."""
        if self.model.inputs.kind == "images":
            return IMAGES_AT_ONCE
        widest = max(
            math.prod(self.model.inputs.shape), *(len(task.classes) for task in self.model.tasks)
        )
        return max(1, AT_ONCE // widest)

    def prototypes(self, task: str, ids: Sequence[int]) -> Array:
        """Return the prototypes of some classes of a task, shape (len(ids), dim of the task); no
        others are read.
        """
        count, path = (
            choose(task, self._placed, what="task with prototypes"),
            self._folder / PROTOTYPES,
        )
        if not len(ids) or any(check_integer(index, "ids", at_least=0) >= count for index in ids):
            raise InputError("ids", f"be from 0 to {count - 1}, at least one", list(ids))
        found: Array = np.zeros(0)
        try:
            with safe_open(path, "numpy") as file:
                stored = file.get_slice(task)
                shape, dtype = stored.get_shape(), stored.get_dtype()
                if (
                    len(shape) == 2
                    and shape[0] >= count  # labels have one more, for none of them
                    and shape[1] <= self.model.dim
                    and dtype in ("F32", "F64")
                ):
                    found = np.stack([stored[index] for index in ids])
        except (OSError, SafetensorError) as error:
            raise ModelError(
                f'"{path}"', f"be readable prototypes ({_first_line(error)})"
            ) from None
        with np.errstate(over="ignore"):
            if (
                found.ndim != 2 or not (abs(np.linalg.norm(found, axis=1) - 1) < 1e-3).all()
            ):  # NaN is not
                rule = f'hold a unit vector for each of the {count:,} classes of "{task}"'
                raise ModelError(f'"{path}"', rule, "something else", "Export the model again.")
        return found

    def _prepare_images(self, inputs: Any) -> Iterator[Array]:
        form = self.model.inputs
        assert form.images is not None
        if isinstance(inputs, np.ndarray) and inputs.dtype == np.uint8:
            for start in range(0, len(inputs), IMAGES_AT_ONCE):
                yield np.ascontiguousarray(inputs[start : start + IMAGES_AT_ONCE])
            return
        items = [inputs] if isinstance(inputs, str | Path | bytes) else inputs
        if not isinstance(items, Sequence) or any(
            not isinstance(item, str | Path | bytes) for item in items
        ):
            rule = (
                "be paths or bytes of images, or an array of shape (n, "
                f"{', '.join(map(str, form.shape))}) of uint8"
            )
            raise InputTypeError("inputs", rule, type(inputs).__name__)
        for start in range(0, len(items), IMAGES_AT_ONCE):
            sources = (
                item if isinstance(item, bytes) else Path(item)
                for item in items[start : start + IMAGES_AT_ONCE]
            )
            stored = np.stack(
                [decode(source, form.images, allowed=self._allowed) for source in sources]
            )
            yield np.ascontiguousarray(center(stored, form.images.size))

    @property
    def _placed(self) -> dict[str, int]:
        """How many classes each task has whose classes have prototypes."""
        return {
            task.name: len(task.classes)
            for task in self.model.tasks
            if task.classes and task.score == "cosine"
        }

    def _decision(self, task: TaskForm) -> list[str]:
        if not task.classes:
            return [f"{task.name}/value"]
        return [f"{task.name}/prediction", *([f"{task.name}/outlier"] if task.rejection else [])]

    def decided(self, task: TaskForm, found: Mapping[str, Array]) -> Array:
        """Return what :meth:`predict` says about one task, given outputs of ``model.onnx``."""
        if not task.classes:
            return found[f"{task.name}/value"]
        names, predicted = self._labels[task.name], found[f"{task.name}/prediction"]
        if task.reads == "mask":
            return _names_in(predicted, names)
        labels: Array = names[predicted]
        if task.rejection is None:
            return labels
        return with_unknown(labels, _accepted(task, found[f"{task.name}/outlier"]), task.unknown)

    def _read(
        self,
        inputs: Any,
        part: str,
        tasks: Sequence[TaskForm],
        say: Callable[[str, Array], Any] = lambda name, found: found,
    ) -> Any:
        """Return what is said of one output of some tasks, given its name and its values."""
        found = self.run(inputs, [f"{task.name}/{part}" for task in tasks])
        return self._in_form({t.name: say(t.name, found[f"{t.name}/{part}"]) for t in tasks})

    def _class_tasks(self, what: str) -> list[TaskForm]:
        tasks = [task for task in self.model.tasks if task.classes]
        if not tasks:
            raise InputError(
                f"A model for {what}",
                "have classes",
                "only numbers",
                "`predict` answers with those.",
            )
        return tasks

    def _in_form(self, named: dict[str, Any]) -> Any:
        return next(iter(named.values())) if self.model.bare else named

    def _describe_classes(
        self, task: TaskForm, found: Mapping[str, Array], top: int
    ) -> list[dict[str, Any]]:
        scores, probabilities = found[f"{task.name}/scores"], found[f"{task.name}/probabilities"]
        values, ids = rank(scores, top)
        outliers = found[f"{task.name}/outlier"]
        more: dict[str, list[Any]] = {"calibrated": [task.calibrated] * len(ids)}
        more["outlier"] = outliers.tolist()
        if task.reads == "mask":
            more["labels"] = list(map(list, self.decided(task, found)))
            more["name"] = ["; ".join(map(str, labels)) for labels in more["labels"]]
        return describe_classes(
            self._labels[task.name],
            ids,
            {task.score: values, "probability": np.take_along_axis(probabilities, ids, axis=1)},
            more,
            task.sets[0].members(probabilities) if task.sets else None,
            None if task.rejection is None else _accepted(task, outliers),
            task.unknown,
        )


def describe_classes(
    names: Array,
    ids: Array,
    about: Mapping[str, Array],
    more: Mapping[str, Sequence[Any]],
    sets: Iterable[Array] | None = None,
    accepted: Array | None = None,
    unknown: Any = "unknown",
) -> list[dict[str, Any]]:
    """Return what is said about inputs as plain values: each has its best class, all of its best in
    "top", and more.

    Parameters
    ----------
    names : array, shape (num_classes,)
    ids : array of int64, shape (n, k)
        The k best classes of each input, best first.
    about : mapping of arrays, shape (n, k)
        What is said about each of them, such as its "cosine".
    more : mapping of sequences, shape (n,)
        What is said about each input.
    sets : iterable of arrays of int64, optional
        The classes in the "set" of each input.
    accepted : array of bool, shape (n,), optional
        Others are "unknown", and so is their name.
    """
    columns = {"name": names[ids].tolist()} | {
        key: values.tolist() for key, values in about.items()
    }
    rows: list[dict[str, Any]] = []
    for row in range(len(ids)):
        cells = zip(*(values[row] for values in columns.values()), strict=True)
        classes = [dict(zip(columns, cell, strict=True)) for cell in cells]
        rows.append(
            {**classes[0], **{key: values[row] for key, values in more.items()}, "top": classes}
        )
    for answer, members in zip(rows, () if sets is None else sets, strict=sets is not None):
        answer["set"] = names[members].tolist()
    for answer, known in zip(
        rows, () if accepted is None else accepted.tolist(), strict=accepted is not None
    ):
        answer |= {"unknown": not known, "name": answer["name"] if known else unknown}
    return rows


def _names_in(masks: Array, names: Array) -> Array:
    """Return the names in each set, shape (n,), as tuples."""
    sets = np.empty(len(masks), dtype=object)
    sets[:] = [tuple(names[mask > 0].tolist()) for mask in masks]
    return sets


def with_unknown(labels: Array, accepted: NDArray[np.bool_], unknown: Any) -> Array:
    """Return labels with ``unknown`` in place of those that are not accepted, shape (n,).

    Where it is of another kind than the labels, the array holds objects, so that no label changes.

    >>> with_unknown(np.array(["cat", "dog"]), np.array([True, False]), "unknown").tolist()
    ['cat', 'unknown']
    """
    same_kind = labels.dtype.kind == np.asarray(unknown).dtype.kind and labels.dtype.kind in "ifU"
    return np.where(accepted, labels if same_kind else labels.astype(object), unknown)


def _describe_numbers(task: TaskForm, found: Mapping[str, Array]) -> list[dict[str, Any]]:
    values = found[f"{task.name}/value"]
    rows: list[dict[str, Any]] = [{"value": value} for value in values.tolist()]
    if task.intervals:
        for row, (low, high) in zip(
            rows, task.intervals[0].intervals(values).tolist(), strict=True
        ):
            row |= {"low": low, "high": high}
    return rows


def _open(graph: bytes, folder: Path, threads: int | None) -> Any:
    onnxruntime = require(
        "onnxruntime", extra="runtime", purpose="Predicting with an exported model"
    )
    if ELSEWHERE.search(graph):  # unoptimized, onnxruntime reads files from the working directory
        raise ModelError(
            f'"{folder / GRAPH}"', "hold all of its numbers itself", "a tensor in another file"
        )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, too
    if threads is not None:
        options.intra_op_num_threads = check_integer(threads, "threads", at_least=1)
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], enable_fallback=0
        )
    except Exception as error:  # which have no common base
        raise ModelError(
            f'"{folder / GRAPH}"', f"be a model that onnxruntime can load ({_first_line(error)})"
        ) from None


def _wanted(model: Model) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the type and the width of each output that a graph must give."""
    wanted: dict[str, tuple[str, tuple[int, ...]]] = {}
    if model.point:
        wanted[POINT] = ("float", (model.dim,))
    for task in model.tasks:
        for name in task.outputs:
            part = name.rpartition("/")[2]
            wide = ("scores", "probabilities", *(("prediction",) * (task.reads == "mask")))
            width = (len(task.classes),) if part in wide else ()
            wanted[name] = ("tensor(int64)" if part == "prediction" else "float", width)
    return wanted


def _check_graph(session: Any, model: Model, folder: Path) -> None:
    """Raise where a graph does not take and give what ``model.json`` says."""
    types = {"uint8": "tensor(uint8)", "float32": "tensor(float)", "float64": "tensor(double)"}
    taken, given = session.get_inputs(), {output.name: output for output in session.get_outputs()}
    form, wrong = model.inputs, ""
    if [node.name for node in taken] != [INPUT]:
        wrong = f'take one input called "{INPUT}"'
    elif taken[0].type != types[form.dtype] or tuple(taken[0].shape[1:]) != form.shape:
        wrong = f"take inputs of shape {form.shape} of {form.dtype}"
    for name, (kind, width) in _wanted(model).items():
        node = given.get(name)
        floats = ("tensor(float)", "tensor(double)") if kind == "float" else (kind,)
        if node is None or node.type not in floats or tuple(node.shape[1:]) != width:
            wrong = wrong or f'give "{name}" of shape {("n", *width)}'.replace("'", "")
    if wrong:
        raise ModelError(f'"{folder / GRAPH}"', wrong, "something else", "Export the model again.")


def check_one_source(paths: Sequence[Any], texts: Sequence[str]) -> None:
    """Raise unless there are either files to predict or texts."""
    if bool(paths) == bool(texts):
        got = f"{len(paths)} files and {len(texts)} texts"
        raise InputError("paths", "be at least one file, or be left out for texts", got)


def _prepare_rows(inputs: Any, form: InputForm) -> Any:
    """Return rows as the graph takes them, shape (n, ...), sparse ones as they are; arrays are
    taken to be such.
    """
    if form.kind == "text" and isinstance(inputs, str):
        inputs = [inputs]
    if isinstance(inputs, Mapping) and not is_frame(inputs):
        inputs = [inputs]
    if form.encoder is not None and not isinstance(
        inputs, np.ndarray
    ):  # an array is encoded already
        encoded = form.encoder.encode(
            _columns(inputs, form.encoder.names, texts=form.kind == "text")
        )
        return _Dense(encoded) if isinstance(encoded, SparseRows) else encoded
    if form.names is not None and (is_frame(inputs) or _are_dicts(inputs)):
        columns = _columns(inputs, form.names, texts=False)
        inputs = [columns[name] for name in form.names]
        inputs = _numbers(inputs).T
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
        return SparseRows(
            starts - first,
            self.rows.columns[first:last],
            self.rows.values[first:last],
            self.rows.width,
        ).to_dense()


def _are_dicts(inputs: Any) -> bool:
    return (
        isinstance(inputs, Sequence)
        and len(inputs) > 0
        and all(isinstance(row, Mapping) for row in inputs)
    )


def _columns(inputs: Any, names: Sequence[str], *, texts: bool) -> dict[str, Any]:
    """Return columns by name, for a DataFrame, for rows as dicts, or for texts."""
    if is_frame(inputs):
        return frame_columns(inputs)
    if texts and isinstance(inputs, Sequence) and all(isinstance(row, str) for row in inputs):
        return {names[0]: list(inputs)}
    if not _are_dicts(inputs):
        if isinstance(inputs, Sequence) and not isinstance(inputs, str) and not inputs:
            raise InputError("inputs", "be at least one", "none")
        what = (
            "texts"
            if texts
            else f"rows as dicts with {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
        )
        raise InputTypeError("inputs", f"be {what}, or a DataFrame", type(inputs).__name__)
    for place, row in enumerate(inputs):
        absent = [name for name in names if name not in row]
        if absent:
            advice = "Give null, None in Python, where a cell is empty."
            raise InputError(f"Row {place + 1}", f'have a value for "{absent[0]}"', advice=advice)
    return {name: [row[name] for row in inputs] for name in names}


def _numbers(values: Any) -> Array:
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype.kind not in "biuf" else array
    except (TypeError, ValueError) as error:
        raise InputTypeError("inputs", "be numbers", str(error).splitlines()[0]) from None
    return array


def _label_array(classes: Sequence[Any]) -> Array:
    kinds = {type(name) for name in classes}
    return np.array(classes) if len(kinds) == 1 else np.array(classes, dtype=object)


def rank(scores: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest scores of each row and where they are, best first,
    equals by their ids.
    """
    k = min(k, scores.shape[1])
    ids = (
        np.argpartition(-scores, k - 1, axis=1)[:, :k]
        if k < scores.shape[1]
        else np.arange(k)[None].repeat(len(scores), 0)
    )
    ids.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, ids, axis=1), axis=1, kind="stable")
    ids = np.take_along_axis(ids, order, axis=1)
    return np.take_along_axis(scores, ids, axis=1), ids


def _choose(fitted: Sequence[T], coverage: float | None, task: TaskForm) -> T:
    """Return what was fitted for a coverage, or for the first."""
    if not fitted:
        advice = (
            f"Calibrate before exporting: hyperproto calibrate RUN, or {arg('calibrate', True)} of "
            "an estimator."
        )
        raise InputError(
            f'Task "{task.name}"',
            "have sets or intervals that were fitted to held-out data",
            "none",
            advice,
        )
    for value in fitted:
        if coverage is None or abs(value.coverage - coverage) < 1e-9:
            return value
    listed = ", ".join(f"{value.coverage:g}" for value in fitted)
    raise InputError("coverage", f"be one that the model was exported with: {listed}", coverage)


def _accepted(task: TaskForm, outliers: Array) -> NDArray[np.bool_]:
    """Return which inputs are accepted. The threshold is the score of an input, which single
    precision may exceed.
    """
    assert task.rejection is not None
    return task.rejection.accept(outliers, rounding=1e-6)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
