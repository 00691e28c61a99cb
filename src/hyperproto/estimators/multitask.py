"""Classes and numbers together, by one network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, assert_all_finite

from hyperproto._core.arrays import Array
from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto.defaults import COVERAGE
from hyperproto.estimators.changes import ClassChanges
from hyperproto.losses import ClassLoss
from hyperproto.tasks import KINDS, Number, Task, numeric, task_kind


@dataclass(kw_only=True, eq=False, repr=False)
class HypersphericalMultiTask(ClassChanges):
    """Several columns at once, of classes, numbers or any other task, by one network and without
    weights between them.

    Classes and numbers have a sphere for each column, ``hp.Space(..., separate=True)``; those of
    one kind share one.

    Parameters
    ----------
    tasks : "auto", or sequence of str or hp.Task
        What each column of ``y`` is: "classes", "number", "labels" or another of
        ``hyperproto.tasks.KINDS``, or a task itself. By "auto" floating-point columns are numbers,
        all others classes; in a table of objects, a column is one of numbers where all of its
        values are numbers and not all of them integers.
    dim : int or "auto"
        Axes of all of the output; "auto" is :func:`hyperproto.defaults.choose_dim`.
    loss : {"auto", "free_norm_softmax", "cosine_softmax", "squared_cosine", ...}, or a loss
        For the columns of classes; "auto" is :func:`hyperproto.defaults.choose_loss`.
    number_loss : {"auto", "absolute", "squared"}
        Error of the columns of numbers; "auto" is the absolute error, unless ``loss`` is given.
    class_weight : "balanced" or None
        Weigh the classes of each column by how rare they are.
    backbone, hidden, standardize, epochs, batch_size, lr, weight_decay
    early_stopping, validation_fraction, patience, random_state, verbose
        As in :class:`~hyperproto.estimators.HypersphericalClassifier`. Early stopping goes by all
        columns.
    calibrate : bool, default False
        Hold out a part: for temperatures, ``conformal_sets`` and ``predict_interval``.

    Attributes
    ----------
    names_ : list of str
        The columns: of a DataFrame its own, else "0", "1", ...
    classes_ : list
        For each column its classes, None for numbers.
    space_ : hyperproto.Space
    network_ : nn.Module
    history_ : list of dict

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = np.empty((200, 2), dtype=object)
    >>> y[:, 0], y[:, 1] = np.where(X[:, 0] > 0, "right", "left"), X[:, 1]
    >>> model = HypersphericalMultiTask(random_state=0).fit(X, y)
    >>> model.tasks_, model.score(X, y) > 0.8
    (['classes', 'number'], True)
    """

    tasks: str | Sequence[str | Task] = "auto"
    loss: str | ClassLoss = "auto"
    number_loss: Literal["auto", "absolute", "squared"] = "auto"
    class_weight: Literal["balanced"] | None = None

    @property
    def names_(self) -> list[str]:
        """The columns, in the order of ``y``."""
        return list(self.targets_)

    @property
    def tasks_(self) -> list[str]:
        """What each column is."""
        return [task.kind for task in self.targets_.values()]

    def predict(self, X: ArrayLike) -> Array:
        """Return the predictions, shape (n, columns): floats where all columns are numbers, else
        objects.
        """
        predictions = list(self._predictions(self._outputs(X)).values())
        alike = len({column.dtype.kind for column in predictions}) == 1
        dtype = np.result_type(*predictions) if alike else np.dtype(object)
        table = np.stack([column.astype(dtype) for column in predictions], axis=1)
        return table[:, 0] if self.flat_ else table

    def predict_proba(self, X: ArrayLike) -> Array | list[Array | None] | None:
        """Return a list with the probabilities of each column, shapes (n, num_classes), None for
        numbers.

        Where ``y`` had shape (n,), the probabilities of its one column alone.
        """
        z = self._outputs(X)
        logits, heads = self._logits(z), self.space_.named_heads()
        probabilities: list[Array | None] = []
        for name in self.names_:
            if name in logits:
                probabilities.append(self._calibration(name).probabilities(logits[name]))
            else:
                found = heads[name].probabilities(z)
                probabilities.append(None if found is None else found.numpy(force=True))
        return probabilities[0] if self.flat_ else probabilities

    def cosines(self, X: ArrayLike) -> list[Array]:
        """Return each column's cosines, shapes (n, num_classes) for classes and
        (n,) for numbers.
        """
        return list(self._scores(self._outputs(X)).values())

    def conformal_sets(
        self, X: ArrayLike, coverage: float = COVERAGE
    ) -> dict[str, NDArray[np.bool_]]:
        """Return, for each column of classes, which to expect, shape (n, num_classes), and for each
        of labels, which hold so large a share of an example's in expectation.
        """
        self._held_out()
        z, heads = self._outputs(X), self.space_.named_heads()
        logits = self._logits(z)
        found = {name: self._sets(name, logits[name], coverage) for name in self._class_columns}
        for name, task in self.targets_.items():
            if task.reads == "mask":
                shares = heads[name].probabilities(z).numpy(force=True)
                found[name] = self._label_sets(name, coverage).sets(shares)
        return found

    def predict_interval(self, X: ArrayLike, coverage: float = COVERAGE) -> dict[str, Array]:
        """Return, for each column of numbers, the ends of its intervals, shape (n, 2)."""
        self._held_out()
        predictions = self._predictions(self._outputs(X))
        return {
            name: self._conformal_interval(name, coverage).intervals(predictions[name])
            for name in numeric(self.targets_)
        }

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean over the columns of accuracy, for classes, R², for numbers, and for other
        tasks their own measure.
        """
        predictions, true = self._predictions(self._outputs(X)), self._read_y(y, reset=False)
        scores = []
        for name, task in self.targets_.items():
            if task.reads == "mask":
                told, known = (torch.from_numpy(task.encode(v[name])) for v in (predictions, true))
                total, count = task.terms(told, known)[task.metric]
                scores.append(total / max(count, 1))
            else:
                measure = accuracy_score if task.reads == "index" else r2_score
                scores.append(measure(true[name], predictions[name], sample_weight=sample_weight))
        return float(np.mean(scores))

    @property
    def classes_(self) -> list[Array | None]:
        """For each column its classes, None for numbers."""
        classes = self._class_columns
        return [classes[name].values if name in classes else None for name in self.targets_]

    def _read_y(
        self, y: ArrayLike, *, reset: bool, classes: ArrayLike | None = None
    ) -> dict[str, Array]:
        table = y if hasattr(y, "columns") else np.asarray(y)
        columns = _split_columns(table)
        if reset:
            self.flat_ = np.ndim(table) == 1
            names = [str(name) for name in getattr(table, "columns", range(len(columns)))]
            kinds = _choose_tasks(self.tasks, columns)
            self.targets_ = {
                name: self._task(kind, name, column)
                for name, kind, column in zip(names, kinds, columns, strict=True)
            }
        if len(columns) != len(self.targets_):
            raise InputError(
                "y", f"have {len(self.targets_)} columns, as in the first fit", len(columns)
            )
        return dict(zip(self.targets_, columns, strict=True))

    def _task(self, kind: str | Task, name: str, column: Array) -> Task:
        """Return the task that a column asks for."""
        if isinstance(kind, Task):
            return kind
        if kind == "number":
            return Number(loss=self.number_loss)
        of_classes = {"loss": self.loss, "class_weight": self.class_weight}
        options = of_classes if kind == "classes" else {}
        return task_kind(kind).fit(column, f'Column "{name}" of `y`', **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags()  # of its columns of classes
        return tags


def _split_columns(y: Any) -> list[Array]:
    """Return each column of a table or an array in its own dtype."""
    if hasattr(y, "columns"):
        columns = [np.asarray(y[name]) for name in y.columns]
    else:
        table = y[:, None] if y.ndim == 1 else y
        columns = [_own_dtype(table[:, index]) for index in range(table.shape[1])]
    for column in columns:
        assert_all_finite(column, input_name="y")
    return columns


def _own_dtype(column: Array) -> Array:
    """Return a column of a table of objects in the dtype its values have together."""
    if column.dtype.kind != "O":
        return column
    if any(np.ndim(value) for value in column.tolist()):  # lists of labels
        return column
    kinds = {np.asarray(value).dtype.kind for value in column.tolist()}
    alike = kinds in ({"U"}, {"b"}) or kinds <= {"i", "u", "f"}
    return np.array(column.tolist()) if alike else column


def _choose_tasks(tasks: str | Sequence[str | Task], columns: list[Array]) -> Sequence[str | Task]:
    """Return what each column is."""
    if isinstance(tasks, str):
        choose(tasks, {"auto": 0}, what="tasks")
        return ["number" if column.dtype.kind == "f" else "classes" for column in columns]
    if len(tasks) != len(columns):
        raise InputError(
            "tasks", f"say what each of the {len(columns)} columns is", f"{len(tasks)} of them"
        )
    for task in tasks:
        if not isinstance(task, Task):
            choose(task, KINDS, what="task")
    return tasks
