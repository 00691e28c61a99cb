"""Several tasks on one output: names, missing labels, weights and reductions, the same for every kind of space."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_output_width
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.losses import Reduction
from hyperproto.losses.class_loss import REDUCTIONS, check_labels
from hyperproto.spaces.protocol import OutputSpace, Targets
from hyperproto.spaces.tasks import Classes, Range, Task, check_numbers

__all__ = ["Head", "TaskSpace", "parse_tasks"]

T = TypeVar("T")


class Head(nn.Module):
    """One task's share of the output: which axes it reads, and its mathematics. Rows in, rows out."""

    task: Task
    class_weights: Tensor | None

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task
        self.stand_in = 0 if isinstance(task, Classes) else task.low  # computed with where a label is missing
        weights = task.class_weights if isinstance(task, Classes) else None
        held = None if weights is None else torch.tensor(weights, dtype=torch.float64)
        self.register_buffer("class_weights", held, persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Move buffers, and leave their dtype alone: ``half()`` must not blur prototypes or weights."""
        device = fn(torch.empty(0)).device  # raises here, before anything changed, where there is no such device
        exact = dict(self._buffers)
        self._buffers.clear()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, buffer in exact.items():
            dtype = torch.float32 if device.type == "mps" else None  # MPS has no float64
            self._buffers[name] = None if buffer is None else buffer.to(device, dtype)
        return self

    def extra_repr(self) -> str:
        """Say what is asked for."""
        task = self.task
        if isinstance(task, Range):
            return f"{task.low:g} to {task.high:g}, margin={task.margin:g}"
        names = (
            "" if task.names is None else ": " + ", ".join(task.names[:5]) + (", ..." if task.num_classes > 5 else "")
        )
        return f"{task.num_classes} classes{names}; {task.loss}"

    @abstractmethod
    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row; every target is there. Shape (n,)."""

    @abstractmethod
    def scores(self, z: Tensor) -> Tensor:
        """Return what the decision is made on: shape (n, num_classes) for classes, (n,) for a range."""

    @abstractmethod
    def predict(self, z: Tensor) -> Tensor:
        """Return class ids or numbers, shape (n,)."""

    def weights(self, target: Tensor) -> Tensor:
        """Return the weight of each row: 0 where the label is missing, else 1 or its class's weight. Shape (n,)."""
        present = self.task.present(target)
        if self.class_weights is None:
            return present
        return self.class_weights[target.clamp_min(0)] * present

    def forward(self, z: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the weighted loss and the weight of each row, both 0 where the label is missing. Shapes (n,)."""
        weights = self.weights(target)
        if sample_weight is not None:
            weights = weights * sample_weight
        rows = self.row_losses(z, target.masked_fill(~self.task.present(target), self.stand_in))
        # a product, not a mask: a row that is not finite shows in the loss even where its label is missing
        rows = rows * weights.to(rows.dtype)
        return rows if self.task.weight == 1 else rows * self.task.weight, weights


class TaskSpace(OutputSpace):
    """Tasks by name on one output. One unnamed task takes and gives bare tensors; named ones always dicts."""

    heads: nn.ModuleList

    def __init__(self, dim: int, names: Sequence[str], heads: Sequence[Head], *, bare: bool) -> None:
        super().__init__()
        self.dim = int(dim)
        self.names = tuple(names)
        self.heads = nn.ModuleList(heads)  # not a ModuleDict: a task may have any name, dots included
        self.bare = bare

    def extra_repr(self) -> str:
        """Say which sphere or output this is."""
        return f"dim={self.dim}"

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name; one unnamed task is called "target"."""
        return {name: head.task for name, head in self._named_heads()}

    def options(self) -> dict[str, Any]:
        """Return what the constructor was told besides the tasks, as plain values for a run's config."""
        return {}

    def losses(
        self,
        z: Tensor,
        targets: Targets,
        *,
        reduction: Reduction = "mean",
        sample_weight: Tensor | None = None,
    ) -> Targets:
        """Return the weighted loss of each task.

        Parameters
        ----------
        z : Tensor, shape (n, dim)
        targets : Tensor of shape (n,), or one for each task's name
            Class ids, -1 where missing; numbers, NaN where missing. Missing labels give no loss and no gradient.
        reduction : {"mean", "sum", "none"}
            The mean is over the labels that are there, each task by itself; "none" keeps the rows, shape (n,).
        sample_weight : Tensor, shape (n,), optional
            Weight of each row; the mean is then the weighted mean.
        """
        choose(reduction, REDUCTIONS, what="reduction")
        check_output_width(z, self.dim)
        targets = self._check_form(targets, len(z))
        if sample_weight is not None and sample_weight.shape != (len(z),):
            raise InputError(f"`sample_weight` must have shape ({len(z)},); got {tuple(sample_weight.shape)}.")

        def reduced(rows: Tensor, weights: Tensor) -> Tensor:
            if reduction == "none":
                return rows
            total = rows.sum()
            return total if reduction == "sum" else total / _at_least_tiny(weights.sum(dtype=rows.dtype))

        named = {name: reduced(*rows) for name, rows in self._weighted_rows(z, targets, sample_weight).items()}
        return named[self.names[0]] if self.bare else named

    def _weighted_rows(
        self, z: Tensor, targets: Mapping[str, Tensor], sample_weight: Tensor | None
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Return, for each task, the weighted loss and the weight of each row. Shapes (n,)."""
        return {name: head(z, targets[name], sample_weight) for name, head in self._named_heads()}

    def loss(
        self,
        z: Tensor,
        targets: Targets,
        *,
        reduction: Reduction = "mean",
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """Return the sum of the losses of the tasks; see :meth:`losses`."""
        losses = self.losses(z, targets, reduction=reduction, sample_weight=sample_weight)
        return losses if isinstance(losses, Tensor) else torch.stack(list(losses.values())).sum(dim=0)

    def counts(self, targets: Targets) -> Targets:
        """Return the weight each task's mean is taken over."""
        return self._per_task(lambda head, target: head.weights(target).sum(), self._by_name(targets))

    def scores(self, z: Tensor) -> Targets:
        """Return what each decision is made on; for a sphere, cosines."""
        check_output_width(z, self.dim)
        return self._per_task(lambda head: head.scores(z))

    @torch.no_grad()
    def predict(self, z: Tensor) -> Targets:
        """Return class ids and numbers. Raises on rows that are zero or not finite: they point nowhere."""
        check_output_width(z, self.dim)
        return self._per_task(lambda head: head.predict(z))

    @torch.no_grad()
    def check(self, targets: Targets) -> None:
        """Check the values of all targets once: ids and numbers within their ranges, missing ones allowed."""
        named = self._by_name(targets)
        for name, head in self._named_heads():
            head.task.check(named[name], name)

    def encode(self, values: Any) -> Targets:
        """Return tensors for class names and numbers as people write them; None is a missing one."""
        named = {self.names[0]: values} if self.bare else self._check_keys(values)
        return self._per_task(lambda head, value: head.task.encode(value), named)

    def decode(self, predictions: Targets) -> Any:
        """Return names and numbers for what :meth:`predict` gave."""
        named = self._by_name(predictions)
        decoded = {name: head.task.decode(named[name]) for name, head in self._named_heads()}
        return decoded[self.names[0]] if self.bare else decoded

    def _named_heads(self) -> list[tuple[str, Any]]:
        return list(zip(self.names, self.heads, strict=True))

    def _per_task(self, function: Callable[..., Tensor], *named: Mapping[str, Any]) -> Targets:
        results = {name: function(head, *(n[name] for n in named)) for name, head in self._named_heads()}
        return results[self.names[0]] if self.bare else results

    def _by_name(self, targets: Targets) -> Mapping[str, Tensor]:
        """Return targets by name whatever form they came in, or say which form is expected."""
        if self.bare:
            if not isinstance(targets, Tensor):
                raise InputTypeError(
                    f"Targets must be one tensor, as the space has one task; got {_kind(targets)}. "
                    "Use torch.as_tensor for numbers, space.encode for names."
                )
            return {self.names[0]: targets}
        named = self._check_keys(targets)
        for name, target in named.items():
            if not isinstance(target, Tensor):
                raise InputTypeError(f"`{name}` must be a tensor; got {_kind(target)}. Wrap it in torch.as_tensor.")
        return named

    def _check_keys(self, targets: Any) -> Mapping[str, Any]:
        if not isinstance(targets, Mapping):
            raise InputTypeError(f"Targets must be a dict with keys {list(self.names)}; got {_kind(targets)}.")
        if set(targets) != set(self.names):
            raise InputError(f"Targets must have the keys {list(self.names)}; got {list(targets)}.")
        return targets

    def _check_form(self, targets: Targets, n: int) -> Mapping[str, Tensor]:
        """Check shapes and dtypes, not values; class ids become int64."""
        named = dict(self._by_name(targets))
        for name, head in self._named_heads():
            if isinstance(head.task, Classes):
                check_labels(named[name], n, name=name)
                named[name] = named[name].long()
            else:
                named[name] = check_numbers(named[name], n, name=name)
        return named


def parse_tasks(task: Any, tasks: Mapping[str, Any]) -> tuple[dict[str, Task], bool]:
    """Return tasks by name, and whether there is one unnamed task; from one task, a mapping, or keywords."""
    if task is not None and tasks:
        raise InputError("Give one task, or a mapping, or keywords; got a positional argument and keywords.")
    bare = isinstance(task, Classes | Range)
    named = {"target": task} if bare else dict(task if isinstance(task, Mapping) else tasks)
    if task is not None and not bare and not isinstance(task, Mapping):
        raise InputTypeError(f"A task must be hp.Classes(...) or hp.Range(...); got {_kind(task)}.")
    if not named:
        raise InputError("A space needs at least one task, such as hp.Classes(10) or hp.Range(0, 1).")
    for name, value in named.items():
        if not isinstance(name, str):
            raise InputTypeError(f"Task names must be strings; got {name!r}.")
        if not isinstance(value, Classes | Range):
            raise InputTypeError(f'Task "{name}" must be hp.Classes(...) or hp.Range(...); got {_kind(value)}.')
    return named, bare


def _kind(value: object) -> str:
    return type(value).__name__


def _at_least_tiny(total: Tensor) -> Tensor:
    """Where no label is there the mean is 0/tiny = 0, not NaN."""
    return total.clamp_min(torch.finfo(total.dtype).tiny)
