"""What the sphere is compared with: a logit per class, a number per range."""

from collections.abc import Mapping

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_rows
from hyperproto.spaces.task_space import Head, TaskSpace, parse_tasks
from hyperproto.spaces.tasks import Classes, Range, Task
from hyperproto.sphere import working_dtype

__all__ = ["ConventionalSpace"]


class ConventionalSpace(TaskSpace):
    """Softmax cross-entropy for classes, squared error for numbers, summed: the paper's multi-task baseline.

    The same tasks as in a :class:`~hyperproto.spaces.space.Space`, on an output that grows with the number of
    classes: one axis per class and one per range. One class task alone is ordinary softmax classification. A task's
    ``loss`` and ``margin`` belong to the sphere and play no part; its ``weight`` does.

    Examples
    --------
    >>> ConventionalSpace(digit=Classes(5), angle=Range(0, 180)).dim
    6
    """

    def __init__(self, task: Task | Mapping[str, Task] | None = None, /, **tasks: Task) -> None:
        named, bare = parse_tasks(task, tasks)
        heads: list[Head] = []
        start = 0
        for value in named.values():
            heads.append(LogitHead(value, start) if isinstance(value, Classes) else NumberHead(value, start))
            start += value.num_classes if isinstance(value, Classes) else 1
        super().__init__(start, list(named), heads, bare=bare)


class LogitHead(Head):
    """One logit per class, softmax cross-entropy."""

    def __init__(self, task: Classes, start: int) -> None:
        super().__init__(task)
        self.axes = slice(start, start + task.num_classes)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy of each row."""
        return torch.nn.functional.cross_entropy(self.scores(z), target, reduction="none")

    def scores(self, z: Tensor) -> Tensor:
        """Return the logits, shape (n, num_classes)."""
        return z[:, self.axes].to(working_dtype(z.dtype))

    def predict(self, z: Tensor) -> Tensor:
        """Return the class of the largest logit."""
        check_finite_rows(z, what="`z`", hint="Look for NaN in the inputs.")
        return self.scores(z).argmax(dim=1)


class NumberHead(Head):
    """One number, the bounds at 0 and 1, squared error; clamped to the bounds in prediction only."""

    def __init__(self, task: Range, axis: int) -> None:
        super().__init__(task)
        self.axis = axis
        self.bounds = Range(task.low, task.high, outside=task.outside)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the squared error of each row, on a scale where the bounds are 0 and 1."""
        wished = (1 + self.bounds.to_cosine(target)) / 2
        return torch.square(wished.to(working_dtype(z.dtype)) - self.scores(z))

    def scores(self, z: Tensor) -> Tensor:
        """Return the output itself, shape (n,)."""
        return z[:, self.axis].to(working_dtype(z.dtype))

    def predict(self, z: Tensor) -> Tensor:
        """Return the number on its own scale, within the bounds."""
        check_finite_rows(z, what="`z`", hint="Look for NaN in the inputs.")
        return self.bounds.from_cosine(2 * self.scores(z) - 1)
