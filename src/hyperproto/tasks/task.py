"""What can be asked of an output: the one description of a target that everything else uses.

A task finds itself in raw values, encodes and decodes them, says how many axes of the sphere it
wants and how its predictions are read and measured, and describes itself by plain values. Its
:class:`~hyperproto.tasks.head.Head` holds the mathematics on its block of the output. What a task
is in values imports no torch: reading data stays light.

A new kind of target is one file with a task and its head, and one entry in
:data:`hyperproto.tasks.KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf, nan
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto.tasks import KINDS

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.tasks.head import Head

Terms = dict[str, tuple[float, int]]
"""Of each metric its sum and its count, so that parts of a data set can be added up."""


@dataclass(frozen=True)
class Axes:
    """How much of an output a task wants.

    Attributes
    ----------
    least, enough : int
        It cannot do with fewer axes; more than enough gain little.
    fixed : bool
        It takes exactly so many, as prototypes do that are placed already.
    """

    least: int
    enough: int
    fixed: bool = False


class Task(ABC):
    """One target. Subclasses are frozen dataclasses of plain values.

    Attributes
    ----------
    kind : str
        What stored files and :data:`KINDS` call it.
    reads : {"index", "mask", "number"}
        How a prediction is read: as an index into :attr:`names`, as a mask over them, or as a
        number. This is all that the runtime knows of a task.
    metric : str
        How it is scored.
    higher_is_better : bool
        Whether a larger value of the metric is better.
    missing : int or float
        The target of an example without a label.
    takes_pole : bool
        Whether it owns one axis of a sphere that it shares, and reads all later ones.
    has_prototypes : bool
        Whether it is stored with prototypes, of which :meth:`from_dict` rebuilds it.
    places_itself : bool
        Whether it knows where its prototypes belong, so that data should not place them.
    """

    kind: ClassVar[str]
    reads: ClassVar[Literal["index", "mask", "number"]]
    metric: ClassVar[str]
    higher_is_better: ClassVar[bool]
    missing: ClassVar[float]
    takes_pole: ClassVar[bool] = False
    has_prototypes: ClassVar[bool] = False
    places_itself: ClassVar[bool] = False

    weight: float = 1.0
    loss: Any = "auto"
    class_weight: Any = None

    # -- values, as people have them ----------------------------------------------------------

    @classmethod
    @abstractmethod
    def fit(cls, values: Any, about: str = "y", **options: Any) -> Self:
        """Return the task that raw values ask for, or say why they cannot be predicted.

        ``about`` is what errors call the values.
        """

    @classmethod
    def read_option(cls, text: str) -> dict[str, Any]:
        """Return the options of :meth:`fit` that stand behind ``COLUMN=`` on the command line."""
        if text:
            raise InputError(cls.kind, "be the name of a column", f'"={text}" behind it')
        return {}

    @abstractmethod
    def encode(self, values: Any, about: str = "y", *, unseen: str = "error") -> NDArray[Any]:
        """Return targets for values, shape (n, ...); None is a missing one.

        What the task has never seen is an error, or with ``unseen="missing"`` a missing target.
        """

    @abstractmethod
    def decode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return values for targets or predictions, in the dtype the user gave."""

    @property
    @abstractmethod
    def known_values(self) -> list[Any]:
        """What it found in the values of training: a run that goes on must find the same."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that it predicts, for a number."""
        return -inf, inf

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return what ``hyperproto data check`` says about targets, for each part of the data."""
        missing = {name: {"missing": int((~self.present(t)).sum())} for name, t in parts.items()}
        return {"kind": self.kind, **missing}

    @property
    def names(self) -> tuple[str, ...] | None:
        """What an index or a mask is about; None where there are no names, or nothing to name."""
        return None

    @property
    def num_classes(self) -> int:
        """K, how many prototypes it has; 0 where it has none."""
        return 0

    @property
    def is_open(self) -> bool:
        """Whether it takes something from all training targets that nobody gave it yet."""
        return False

    def with_prototypes(
        self, placed: Any, former: Sequence[int] | None = None, labels: Any = None
    ) -> Self:
        """Return the task around other prototypes, where it has any.

        Where its classes change, class j was class ``former[j]``, those after them are new, and
        ``labels`` are its classes where they are no strings.
        """
        return self

    def balanced(self, targets: Tensor, weight: Tensor | None = None) -> Task:
        """Return the task with what it takes from all training targets, by the weight of each."""
        return self

    # -- targets, as tensors -------------------------------------------------------------------

    @abstractmethod
    def check(self, targets: Tensor, name: str) -> None:
        """Check the values of all targets; missing ones are allowed."""

    def check_scored(self, targets: Tensor, name: str) -> None:
        """Check targets that are only scored, which may be out of bounds."""
        self.check(targets, name)

    @abstractmethod
    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check shape and dtype, and return targets as losses take them."""

    @abstractmethod
    def present(self, targets: Tensor) -> Tensor:
        """Return which targets are there. Shape (n,), bool."""

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return what row losses take: something harmless where a target is missing."""
        return targets

    def checks_values(self, targets: Tensor, name: str) -> bool:
        """Return whether every target is there, and raise where one cannot be. Reads values."""
        return bool(self.present(targets).all())

    @abstractmethod
    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return the sum and count of each metric, :attr:`metric` first."""

    def errors(self, predicted: Tensor, targets: Tensor) -> Tensor:
        """Return how wrong each prediction is: the distance of numbers, else 0 where it is right,
        1 where it is wrong, and the share of names that are wrong; NaN without a target. Shape
        (n,).
        """
        from hyperproto.metrics import most_likely

        if self.reads == "number":
            wrong = (predicted.double() - self.aligned(targets, predicted).double()).abs()
        else:
            wrong = predicted != (most_likely(targets) if self.reads == "index" else targets)
        shares = wrong.double().reshape(len(targets), -1).mean(dim=1)
        return shares.masked_fill(~self.present(targets), nan)

    def aligned(self, targets: Tensor, predicted: Tensor) -> Tensor:
        """Return targets whose difference from predictions is the error: of what wraps around, the
        nearest of all that mean the same.
        """
        return targets

    def whole_metrics(self, predicted: Tensor, targets: Tensor) -> dict[str, float]:
        """Return the metrics that are no mean over examples, once for all of them."""
        return {}

    @abstractmethod
    def baseline(self, targets: Tensor) -> Tensor:
        """Return the best prediction that is the same for every example, shape (n, ...)."""

    # -- the sphere ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def axes(self) -> Axes:
        """How many axes of the sphere it wants for itself."""

    @abstractmethod
    def head(self, axes: slice, dim: int) -> Head:
        """Return its share of an output of ``dim`` axes, laid out on some of them."""

    def resolved(self, **chosen: Any) -> Self:
        """Return the task with what it leaves open chosen, by :mod:`hyperproto.defaults`."""
        return self

    def weighed(self, weight: float) -> Self:
        """Return the task with another weight in the sum."""
        return replace(cast(Any, self), weight=weight)

    # -- stored --------------------------------------------------------------------------------

    @abstractmethod
    def describe(self) -> str:
        """Return what it is in a few words, for a ``repr``."""

    def to_dict(self) -> Plain:
        """Return plain values for a run's config, "task" with its kind among them."""
        return {"task": self.kind, **vars(self)}

    @classmethod
    def from_dict(cls, values: Plain, prototypes: Any = None) -> Self:
        """Rebuild what :meth:`to_dict` described, with its prototypes where it has any."""
        return cls(**values)


def task_kind(kind: str) -> type[Task]:
    """Return the task of a kind, by :data:`KINDS`."""
    home, name = choose(kind, KINDS, what="task").split(":")
    found: type[Task] = getattr(import_module(home), name)
    return found


def task_from_dict(values: Plain, prototypes: Any = None) -> Task:
    """Rebuild a task from its ``to_dict``, with its prototypes where it has any."""
    values = dict(values)
    return task_kind(values.pop("task")).from_dict(values, prototypes)


def indexed(tasks: Mapping[str, Task]) -> dict[str, Any]:
    """Return those of some tasks whose prediction is one of several names."""
    return {name: task for name, task in tasks.items() if task.reads == "index"}


def numeric(tasks: Mapping[str, Task]) -> dict[str, Any]:
    """Return those of some tasks whose prediction is a number."""
    return {name: task for name, task in tasks.items() if task.reads == "number"}


def higher_is_better(metric: str) -> bool:
    """Return whether 1 is the best value of a metric, by its name; of all others 0 is.

    >>> higher_is_better("digit/accuracy"), higher_is_better("age/mae")
    (True, False)
    """
    return metric.endswith(("accuracy", "f1", "kappa"))


def to_array(values: Any) -> NDArray[Any]:
    """Return values as an array of their own dtype, of objects where they differ or are missing."""
    if isinstance(values, np.ndarray):
        return values
    values = list(values)
    kinds = {type(value) for value in values}
    return np.array(values, dtype=None if len(kinds) == 1 else object)
