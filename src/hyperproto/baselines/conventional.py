"""What the sphere is compared with: a logit per class, a number per range."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_finite_number, check_finite_rows, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto.losses import cross_entropy
from hyperproto.spaces.output_space import TaskSpace, parse_tasks
from hyperproto.sphere import working_dtype
from hyperproto.tasks import Classes, Task
from hyperproto.tasks.head import Head
from hyperproto.tasks.number import NumericTask

Clamp: TypeAlias = Literal["test", "train"]


class ConventionalSpace(TaskSpace):
    """Softmax cross-entropy for classes, an error for numbers, summed: the paper's multi-task
    baseline, if squared.

    The same tasks as in a :class:`~hyperproto.spaces.space.Space`, on an output that grows with the
    number of classes: one axis per class and one per number. One class task alone is ordinary
    softmax classification. The loss of a class and the margin of a number belong to the sphere and
    play no part; a number's ``loss`` and weights do.

    Parameters
    ----------
    task : Classes, Number, Range, or a mapping from names to those, optional
        One task by itself takes and gives bare tensors.
    clamp : {"test", "train"}, default "test"
        Numbers are kept within their bounds in prediction only, or in training too, where outputs
        beyond the bounds then have no gradient and may never come back.
    width : int, default 1
        Axes that each number is read from. More than one adds a linear layer from them to the
        number, which is trained with the network: the variant of Table 5 with at least as many
        parameters as the sphere of that dimension.
    **tasks : Classes, Number or Range
        Tasks by name. A mapping allows any name.

    Examples
    --------
    >>> from hyperproto.tasks import Range
    >>> ConventionalSpace(digit=Classes(5), angle=Range(0, 180)).dim
    6
    >>> ConventionalSpace(Range(1500, 1900), width=3).dim
    3
    """

    kind = "conventional"

    def __init__(
        self,
        task: Task | Mapping[str, Task] | None = None,
        *,
        clamp: Clamp = "test",
        width: int = 1,
        **tasks: Task,
    ) -> None:
        named, bare = parse_tasks(task, tasks, ("clamp", "width"))
        width = check_integer(width, "width", at_least=1)
        heads: dict[str, Head] = {}
        start = 0
        for name, asked in named.items():
            if isinstance(asked, Classes):
                heads[name] = LogitHead(asked, start)
            elif isinstance(asked, NumericTask):
                heads[name] = NumberHead(asked, start, clamp=clamp, width=width)
            else:
                rule = "be classes or numbers"
                raise InputError("Tasks without a sphere", rule, type(asked).__name__)
            start = heads[name].axes.stop
        super().__init__(start, heads, bare=bare, clamp=clamp, width=width)


class LogitHead(Head):
    """One logit per class, softmax cross-entropy."""

    def __init__(self, task: Classes, start: int) -> None:
        super().__init__(task, slice(start, start + task.num_classes))

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy of each row."""
        return cross_entropy(self.scores(z), target)

    def scores(self, z: Tensor) -> Tensor:
        """Return the logits, shape (n, num_classes)."""
        return z[:, self.axes].to(working_dtype(z.dtype))

    def predict(self, z: Tensor) -> Tensor:
        """Return the class of the largest logit."""
        check_finite_rows(z, "z", advice="Look for NaN in the inputs.")
        return self.scores(z).argmax(dim=1)


class NumberHead(Head):
    """One number in its task's units, with its error; read off one axis, or off several by a linear
    layer.
    """

    def __init__(
        self, task: NumericTask, axis: int, *, clamp: Clamp = "test", width: int = 1
    ) -> None:
        super().__init__(task, slice(axis, axis + width))
        self.clamped = choose(clamp, {"test": False, "train": True}, what="clamp")
        self.layer = nn.Linear(width, 1) if width > 1 else None

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the squared or absolute error of each row, on a scale where bounds are 0 and 1."""
        units, scores = self.task.to_units(target), self.scores(z)
        if self.clamped:
            scores = scores.clamp(*self.task.unit_bounds)
        error = units.to(working_dtype(z.dtype)) - scores
        return error.abs() if self.task.loss == "absolute" else torch.square(error)

    def scores(self, z: Tensor) -> Tensor:
        """Return the number as the network has it, not clamped, shape (n,)."""
        part = z[:, self.axes].to(working_dtype(z.dtype))
        if self.layer is None:
            return part.squeeze(1)
        with torch.autocast(z.device.type, enabled=False):
            return part @ self.layer.weight[0].to(part.dtype) + self.layer.bias.to(part.dtype)

    def predict(self, z: Tensor) -> Tensor:
        """Return the number on its own scale, within its bounds."""
        check_finite_rows(z, "z", advice="Look for NaN in the inputs.")
        return self.task.from_units(self.scores(z))


def weigh_tasks(tasks: Mapping[str, Task], weight: float) -> dict[str, Task]:
    r"""Return the tasks with weight w on every range and 1 - w on every class task, in place of
    their own.

    .. math:: \mathcal{L} = w\,\mathcal{L}_{regression} + (1 - w)\,\mathcal{L}_{classification}

    Table 6 varies w from 0.01 to 0.90, for the multi-task baseline and for the sphere, which needs
    no weight: its plain sum is w = 1/2 at twice the learning rate.

    Parameters
    ----------
    tasks : mapping from names to Classes or Range
        What a :class:`~hyperproto.spaces.Space` or a baseline takes.
    weight : float
        w, greater than 0 and less than 1.

    Examples
    --------
    >>> from hyperproto.tasks import Range
    >>> space = ConventionalSpace(weigh_tasks({"style": Classes(46), "year": Range(1000, 1932)},
    ...     0.25))
    >>> space.tasks["style"].weight, space.tasks["year"].weight
    (0.75, 0.25)
    """
    weight = check_finite_number(weight, "weight", above=0)
    if weight >= 1:
        raise InputError(
            "weight", "be less than 1", f"{weight:g}", "Leave a task out to give it no weight."
        )
    named, _ = parse_tasks(tasks, {})
    shares = {
        name: weight if task.reads == "number" else 1 - weight for name, task in named.items()
    }
    return {name: task.weighed(shares[name]) for name, task in named.items()}
