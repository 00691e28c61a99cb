"""Predict with an exported model: inputs as people have them in, answers out."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from .._core.arrays import Array
from .._core.checks import check_integer, choose
from .._core.errors import InputError, arg
from .answers import TopK, describe_classes, names_in, rank, with_unknown
from .conformal import ConformalInterval, ConformalSets
from .images import Allowance
from .inputs import IMAGES_AT_ONCE, prepare_images, prepare_rows
from .model import POINT, PROTOTYPES, ModelError, TaskForm, read_model
from .session import Session, first_line

T = TypeVar("T", ConformalSets, ConformalInterval)
AT_ONCE = 2**22  # numbers of inputs, or scores, that are computed at a time: 16 MB


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
        self._session = Session(graph, self.model, self._folder, threads)
        self._allowed = Allowance(check_integer(most_pixels, "most_pixels", at_least=1))
        self._labels = {task.name: _label_array(task.classes) for task in self.model.class_tasks}
        for name in self.model.placed:
            self.prototypes(name, [0])

    def __repr__(self) -> str:
        counts = {task.name: len(task.classes) for task in self.model.tasks}
        tasks = (f"{name}: {f'{n} classes' if n else 'a number'}" for name, n in counts.items())
        return f"<Predictor: {self.model.inputs.kind} to {', '.join(tasks)}>"

    def predict(self, inputs: object) -> Any:
        """Return class names, tuples of labels and numbers, shape (n,); what is rejected gets the
        answer for unknown inputs.
        """
        wanted = [part for task in self.model.tasks for part in task.decision]
        found = self.run(inputs, wanted)
        return self._in_form({task.name: self.decided(task, found) for task in self.model.tasks})

    def predict_proba(self, inputs: object) -> Any:
        """Return the probability of each class, shape (n, num_classes)."""
        return self._read(inputs, "probabilities", self._class_tasks("predict_proba"))

    def scores(self, inputs: object) -> Any:
        """Return the cosine to the prototype of each class, or the score of another space. Shape
        (n, num_classes).
        """
        return self._read(inputs, "scores", self._class_tasks("scores"))

    def outlier_score(self, inputs: object) -> Any:
        """Return how unusual inputs are, larger for more unusual ones. Shape (n,)."""
        return self._read(inputs, "outlier", self._class_tasks("outlier_score"))

    def top_k(self, inputs: object, k: int = 5) -> Any:
        """Return the k best classes of each input; all of them where a task has no more."""
        k = check_integer(k, "k", at_least=1)

        def best(name: str, scores: Array) -> TopK:
            values, ids = rank(scores, k)
            return TopK(values, self._labels[name][ids])

        return self._read(inputs, "scores", self._class_tasks("top_k"), best)

    def conformal_sets(self, inputs: object, coverage: float | None = None) -> Any:
        """Return which classes to expect, shape (n, num_classes): the true one is among them as
        often as stated.

        ``coverage`` is one that was fitted when the model was exported (default: the first of
        them).
        """
        tasks = self._class_tasks("conformal_sets")
        fitted = {task.name: _choose(task.sets, coverage, task) for task in tasks}
        return self._read(inputs, "probabilities", tasks, lambda n, found: fitted[n].sets(found))

    def intervals(self, inputs: object, coverage: float | None = None) -> Any:
        """Return the ends of intervals, shape (n, 2), that contain the true number as often as
        stated.
        """
        tasks = [task for task in self.model.tasks if not task.classes]
        if not tasks:
            raise InputError("A model for intervals", "predict numbers", "only classes")
        fitted = {task.name: _choose(task.intervals, coverage, task) for task in tasks}
        return self._read(inputs, "value", tasks, lambda n, found: fitted[n].intervals(found))

    def transform(self, inputs: object) -> Array:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        if not self.model.point:
            raise InputError(
                "A model for transform", "have a sphere", str(self.model.space.get("kind"))
            )
        return self.run(inputs, [POINT])[POINT]

    def answer(self, inputs: object, *, top: int = 3) -> list[dict[str, Any]]:
        """Return everything about each input as plain values, such as a server sends.

        Each is ``{"predictions": {task: ...}, "point": [...]}``. A class task's prediction has
        "name", "cosine" (or "score"), "probability", "calibrated", "outlier", the ``top`` best
        classes in "top", the names in its "set" where one was fitted, and "unknown" where inputs
        may be rejected; a number's has "value", and "low" and "high" where an interval was fitted.
        "point" is where the input lies on the sphere, None without one.
        """
        return self.describe(self.run(inputs, list(self.model.outputs)), top=top)

    def describe(self, found: Mapping[str, Array], *, top: int = 3) -> list[dict[str, Any]]:
        """Return what :meth:`answer` says about inputs, given all outputs of ``model.onnx`` for
        them.
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

    def prepare(self, inputs: object) -> Iterator[Array]:
        """Yield inputs as ``model.onnx`` takes them, some at a time."""
        form = self.model.inputs
        if form.kind == "images":
            return prepare_images(inputs, form, self._allowed)
        return prepare_rows(inputs, form, self.rows_at_once)

    def run(self, inputs: object, outputs: Sequence[str]) -> dict[str, Array]:
        """Return some outputs of ``model.onnx`` by name for inputs of any number."""
        names = list(dict.fromkeys(outputs))
        parts = [self.run_prepared(prepared, names) for prepared in self.prepare(inputs)]
        if not parts:
            raise InputError("inputs", "be at least one", "none")
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    def run_prepared(self, prepared: Array, outputs: Sequence[str]) -> dict[str, Array]:
        """Return some outputs of ``model.onnx`` by name, for inputs of its shape and dtype."""
        return self._session.run(prepared, outputs)

    def check_prepared(self, prepared: Array) -> None:
        """Raise where inputs are not of the shape and dtype that ``model.onnx`` takes, or not
        finite.
        """
        self._session.check(prepared)

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
        count = choose(task, self.model.placed, what="task with prototypes")
        if not len(ids) or any(check_integer(index, "ids", at_least=0) >= count for index in ids):
            raise InputError("ids", f"be from 0 to {count - 1}, at least one", list(ids))
        about, found = f'"{self._folder / PROTOTYPES}"', np.zeros((1, 1), dtype=np.float32)
        try:
            with safe_open(self._folder / PROTOTYPES, "numpy") as file:
                stored = file.get_slice(task)
                shape, is_float = stored.get_shape(), stored.get_dtype() in ("F32", "F64")
                # labels have one more, for none of them
                fits = len(shape) == 2 and shape[0] >= count and shape[1] <= self.model.dim
                if fits and is_float:
                    found = np.stack([stored[index] for index in ids])
        except (OSError, SafetensorError) as error:
            rule = f"be readable prototypes ({first_line(error)})"
            raise ModelError(about, rule) from None
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(found, axis=1)
        if not (abs(lengths - 1) < 1e-3).all():  # NaN is not
            rule = f'hold a unit vector for each of the {count:,} classes of "{task}"'
            raise ModelError(about, rule, "something else", "Export the model again.")
        return found

    def decided(self, task: TaskForm, found: Mapping[str, Array]) -> Array:
        """Return what :meth:`predict` says about one task, given outputs of ``model.onnx``."""
        if not task.classes:
            return found[f"{task.name}/value"]
        names, predicted = self._labels[task.name], found[f"{task.name}/prediction"]
        if task.reads == "mask":
            return names_in(predicted, names)
        labels: Array = names[predicted]
        if task.rejection is None:
            return labels
        return with_unknown(labels, _accepted(task, found[f"{task.name}/outlier"]), task.unknown)

    def _read(
        self,
        inputs: object,
        part: str,
        tasks: Sequence[TaskForm],
        say: Callable[[str, Array], Any] = lambda name, found: found,
    ) -> Any:
        """Return what is said of one output of some tasks, given its name and its values."""
        found = self.run(inputs, [f"{task.name}/{part}" for task in tasks])
        return self._in_form({t.name: say(t.name, found[f"{t.name}/{part}"]) for t in tasks})

    def _class_tasks(self, what: str) -> list[TaskForm]:
        if not self.model.class_tasks:
            advice = "`predict` answers with those."
            raise InputError(f"A model for {what}", "have classes", "only numbers", advice)
        return self.model.class_tasks

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


def _describe_numbers(task: TaskForm, found: Mapping[str, Array]) -> list[dict[str, Any]]:
    values = found[f"{task.name}/value"]
    rows: list[dict[str, Any]] = [{"value": value} for value in values.tolist()]
    if task.intervals:
        for row, (low, high) in zip(
            rows, task.intervals[0].intervals(values).tolist(), strict=True
        ):
            row |= {"low": low, "high": high}
    return rows


def check_one_source(paths: Sequence[Any], texts: Sequence[str]) -> None:
    """Raise unless there are either files to predict or texts."""
    if bool(paths) == bool(texts):
        got = f"{len(paths)} files and {len(texts)} texts"
        raise InputError("paths", "be at least one file, or be left out for texts", got)


def _label_array(classes: Sequence[Any]) -> Array:
    kinds = {type(name) for name in classes}
    return np.array(classes) if len(kinds) == 1 else np.array(classes, dtype=object)


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
