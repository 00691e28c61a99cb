"""What every output space can do, the sphere and its baselines alike, and what spaces made of tasks
share.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_output_width, choose, nearest_name
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.losses import REDUCTIONS, Reduction, can_read
from hyperproto.prototypes import Prototypes
from hyperproto.sphere import working_dtype
from hyperproto.tasks import Task, indexed
from hyperproto.tasks.head import Head

T = TypeVar("T")
UNNAMED = "target"  # what a task without a name is called where everything has one

Targets: TypeAlias = Tensor | Mapping[str, Tensor]
"""One tensor where there is one unnamed task, otherwise a tensor for each task's name."""


class OutputSpace(nn.Module, ABC):
    """Where a network's outputs live, how wrong they are, and what they mean.

    A comparison swaps this object and nothing else. A subclass writes :meth:`losses` and
    :meth:`predict`, on bare tensors or on dicts by task name, as its data come. Training optimizes
    the parameters of the network *and* of the space (a sphere has none), and calls the two hooks,
    which do nothing by default. The library itself only ever uses dicts: :meth:`by_task`,
    :meth:`losses_by_task`, :meth:`predict_by_task` and :meth:`counts_by_task`.
    """

    dim: int
    """Width of the network's output."""

    on_sphere: ClassVar[bool] = False
    """Whether outputs are points on a sphere, and scores cosines."""

    bare: bool = True
    """Whether a task called "target", where it is the only one, is given and returned as a bare
    tensor.
    """

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name, where the space is made of any."""
        return {}

    @abstractmethod
    def losses(self, z: Tensor, targets: Targets, *, reduction: Reduction = "mean") -> Targets:
        """Return the loss of each task, in the form the targets have: one tensor, or one for each
        name.
        """

    @abstractmethod
    def predict(self, z: Tensor) -> Targets:
        """Return class ids (int64) or numbers (float), in the form the targets have."""

    def loss(self, z: Tensor, targets: Targets, **options: Any) -> Tensor:
        """Return what training minimizes: the sum of the losses of the tasks; options are those of
        :meth:`losses`.
        """
        try:
            terms = list(self.losses_by_task(z, self.by_task(targets), **options).values())
        except IndexError:  # of a class id, which is looked up without being compared first
            self.check(targets)
            raise
        return terms[0] if len(terms) == 1 else torch.stack(terms).sum(dim=0)

    def forward(self, z: Tensor, targets: Targets, **options: Any) -> Tensor:
        """Return :meth:`loss`, so that a space works wherever a PyTorch criterion does."""
        return self.loss(z, targets, **options)

    def check(self, targets: Targets) -> None:
        """Check the values of all targets of a data set once; raise an error where one cannot be
        right.
        """

    def balance(self, targets: Targets) -> None:
        """Weigh the classes of tasks with ``class_weight="balanced"`` by how rare they are in all
        these targets.
        """

    def begin_epoch(self, epoch: int) -> None:
        """Prepare for an epoch; for spaces that learn from data."""

    def observe(self, z: Tensor, targets: Targets) -> None:
        """See a training batch after its step; for spaces that learn from data."""

    def by_task(self, values: Targets) -> dict[str, Tensor]:
        """Return targets, losses or predictions by task name, whatever form they came in."""
        return {UNNAMED: values} if isinstance(values, Tensor) else dict(values)

    def in_user_form(self, named: Mapping[str, T]) -> T | dict[str, T]:
        """Return values by task name in the form that users see: the value itself for one unnamed
        task.
        """
        return named[UNNAMED] if self.bare and set(named) == {UNNAMED} else dict(named)

    def prefix(self, task: str) -> str:
        """Return what the measures of a task start with: ``"digit/"``, or nothing for one unnamed
        task.
        """
        return "" if self.bare and task == UNNAMED else f"{task}/"

    def losses_by_task(
        self,
        z: Tensor,
        targets: Mapping[str, Tensor],
        *,
        reduction: Reduction = "mean",
        sample_weight: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the loss of each task by name, for targets by name."""
        options: Any = {} if sample_weight is None else {"sample_weight": sample_weight}
        given = self.in_user_form(targets)
        return self.by_task(self.losses(z, given, reduction=reduction, **options))

    def predict_by_task(self, z: Tensor) -> dict[str, Tensor]:
        """Return class ids or numbers by task name."""
        return self.by_task(self.predict(z))

    def prototypes_by_task(self) -> dict[str, Prototypes]:
        """Return the prototypes of each class task by name; only a sphere has any."""
        return {}

    def to_dict(self) -> dict[str, Any] | None:
        """Describe a space of ours by plain values for a run's config; None for a user's own."""
        return None

    def counts_by_task(self, targets: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return how much each task's mean is a mean of: the number of labels, or the sum of their
        weights.
        """
        return {name: target.new_tensor(len(target)) for name, target in targets.items()}


class TaskSpace(OutputSpace):
    """Tasks by name on one output, one head for each. One unnamed task takes and gives bare
    tensors.
    """

    heads: nn.ModuleList

    def __init__(self, dim: int, heads: Mapping[str, Head], *, bare: bool, **options: Any) -> None:
        super().__init__()
        self.dim = int(dim)
        self.names = tuple(heads)
        self.heads = nn.ModuleList(
            heads.values()
        )  # not a ModuleDict: a task may have any name, dots included
        self.bare = bare
        self.options = (
            options  # what else the constructor takes, as plain values for a run's config
        )

    @property
    @abstractmethod
    def kind(self) -> str:
        """What stored files call this kind of space."""

    def to_dict(self) -> dict[str, Any] | None:
        """Return the arguments as plain values; prototypes go into files of their own."""
        if not type(self).__module__.startswith("hyperproto."):
            return None
        tasks = [{"name": name, **task.to_dict()} for name, task in self.tasks.items()]
        return {
            "kind": self.kind,
            "dim": self.dim,
            "bare": self.bare,
            "tasks": tasks,
            **self.options,
        }

    def extra_repr(self) -> str:
        """Describe the sphere or output."""
        return f"dim={self.dim}"

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name; one unnamed task is called "target"."""
        return {name: head.task for name, head in self.named_heads().items()}

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
        z : Tensor, shape (n, dim), or (n, ..., dim) with targets of shape (n, ...)
        targets : Tensor of shape (n,), or one for each task's name
            Class ids, -1 where missing, or probabilities, shape (n, num_classes), a row of NaN
            where missing; numbers, NaN where missing. Missing labels give no loss and no gradient.
        reduction : {"mean", "sum", "none"}
            The mean is over the labels that are there, each task by itself; "none" keeps the rows,
            shape (n,).
        sample_weight : Tensor, shape (n,), optional
            Weight of each row; the mean is then the weighted mean.
        """
        named = self.losses_by_task(
            z, self.by_task(targets), reduction=reduction, sample_weight=sample_weight
        )
        return self.in_user_form(named)

    def scores(self, z: Tensor) -> Targets:
        """Return what each decision is made on; for a sphere, cosines."""
        return self.in_user_form(self.scores_by_task(z))

    @torch.no_grad()
    def probabilities(self, z: Tensor) -> Targets:
        """Return the probability of each class, shape (n, num_classes), by the logits of the loss.

        A loss without logits, such as Equation 1, has its cosines at a scale that was fitted to
        held-out data, or 10. Of several tasks those with classes are in the dict.
        """
        return self.in_user_form(
            {name: found.softmax(dim=-1) for name, found in self.logits_by_task(z).items()}
        )

    def predict(self, z: Tensor) -> Targets:
        """Return class ids and numbers. Raises on rows that are zero or not finite: they point
        nowhere.
        """
        return self.in_user_form(self.predict_by_task(z))

    @torch.no_grad()
    def check(self, targets: Targets) -> None:
        """Check the values of all targets once: ids and numbers within their ranges, missing ones
        allowed.
        """
        named = self.by_task(targets)
        for name, task in self.tasks.items():
            task.check(named[name], name)

    def balance(self, targets: Targets) -> None:
        """Weigh the classes of tasks with ``class_weight="balanced"`` by how rare they are in all
        these targets.
        """
        named = self.by_task(targets)
        for name, head in self.named_heads().items():
            head.balance(named[name])

    def encode(self, values: Any) -> Targets:
        """Return tensors for class names and numbers as people write them; None
        is a missing one.
        """
        named = {UNNAMED: values} if self.bare else self._check_keys(values)
        tasks = self.tasks.items()
        return self.in_user_form(
            {name: torch.from_numpy(task.encode(named[name], name)) for name, task in tasks}
        )

    def decode(self, predictions: Targets) -> Any:
        """Return names and numbers for what :meth:`predict` gave."""
        named = self.by_task(predictions)
        for name, task in self.tasks.items():
            task.check_scored(named[name], name)
        values = {
            name: task.decode(named[name].numpy(force=True)).tolist()
            for name, task in self.tasks.items()
        }
        missing = {name: [None if v != v else v for v in row] for name, row in values.items()}
        return self.in_user_form(missing)

    def by_task(self, values: Targets) -> dict[str, Tensor]:
        """Return targets or predictions by task name, or say which form is expected."""
        if self.bare:
            if not isinstance(values, Tensor):
                advice = "Use torch.as_tensor for numbers, space.encode for names."
                raise InputTypeError(
                    "targets", "be one tensor, as the space has one task", _kind(values), advice
                )
            return {UNNAMED: values}
        named = self._check_keys(values)
        for name, value in named.items():
            if not isinstance(value, Tensor):
                raise InputTypeError(
                    name, "be a tensor", _kind(value), "Wrap it in torch.as_tensor."
                )
        return named

    def losses_by_task(
        self,
        z: Tensor,
        targets: Mapping[str, Tensor],
        *,
        reduction: Reduction = "mean",
        sample_weight: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the weighted loss of each task by name, for targets by name;
        see :meth:`losses`.
        """
        shape = z.shape[:-1]
        z, targets, sample_weight = self._check_batch(z, targets, reduction, sample_weight)
        losses = {}
        head: Any
        for name, head in zip(self.names, self.heads, strict=True):
            task = head.task
            target = task.check_form(targets[name], z.shape[0], name)
            # where every weight is seen to be 1 there are none, and nothing is multiplied: the
            # usual batch
            weights = None
            complete = len(target) > 0 and can_read(target) and task.checks_values(target, name)
            if not complete or sample_weight is not None or head.weighted:
                weights = head.weights(target)
                weights = weights if sample_weight is None else weights * sample_weight
            rows = head.row_losses(z, task.ready(target, working_dtype(z.dtype), complete=complete))
            if weights is not None:
                # a product, not a mask: a row that is not finite shows in the loss even where its
                # label is missing
                rows = rows * weights.to(rows.dtype)
            rows = rows if task.weight == 1 else rows * task.weight
            losses[name] = reduce_rows(rows, weights, reduction, shape)
        return losses

    def scores_by_task(self, z: Tensor) -> dict[str, Tensor]:
        """Return what each decision is made on, by task name."""
        rows = flatten_rows(z, self.dim)
        return {
            name: head.scores(rows).unflatten(0, z.shape[:-1])
            for name, head in self.named_heads().items()
        }

    def logits_by_task(self, z: Tensor) -> dict[str, Tensor]:
        """Return the logits of each task that has classes."""
        rows, heads = flatten_rows(z, self.dim), self.named_heads()
        return {
            name: heads[name].logits(rows).unflatten(0, z.shape[:-1])
            for name in indexed(self.tasks)
        }

    @torch.no_grad()
    def predict_by_task(self, z: Tensor) -> dict[str, Tensor]:
        """Return class ids and numbers by task name."""
        rows = flatten_rows(z, self.dim)
        return {
            name: head.predict(rows).unflatten(0, z.shape[:-1])
            for name, head in self.named_heads().items()
        }

    def counts_by_task(self, targets: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weight each task's mean is taken over."""
        return {
            name: head.weights(targets[name]).sum() for name, head in self.named_heads().items()
        }

    def named_heads(self) -> dict[str, Any]:
        """Return the head of each task by name."""
        return dict(zip(self.names, self.heads, strict=True))

    def _check_batch(
        self, z: Tensor, targets: Mapping[str, Tensor], reduction: str, sample_weight: Tensor | None
    ) -> tuple[Tensor, Mapping[str, Tensor], Tensor | None]:
        """Check outputs and weights, and return all as rows; the form of each target is its task's
        to check.
        """
        choose(reduction, REDUCTIONS, what="reduction")
        rows = flatten_rows(z, self.dim)
        if sample_weight is not None and sample_weight.shape != z.shape[:-1]:
            raise InputError(
                "sample_weight", f"have shape {tuple(z.shape[:-1])}", tuple(sample_weight.shape)
            )
        if z.ndim > 2:
            for name, target in targets.items():
                if target.shape[: z.ndim - 1] != z.shape[:-1]:
                    raise InputError(
                        name, f"have shape {tuple(z.shape[:-1])}, as `z`", tuple(target.shape)
                    )
            targets = {name: target.flatten(0, z.ndim - 2) for name, target in targets.items()}
            sample_weight = None if sample_weight is None else sample_weight.flatten()
        if sample_weight is not None and can_read(sample_weight):
            bad = (~(sample_weight >= 0)).nonzero().flatten()
            if len(bad):
                got = f"{float(sample_weight[bad[0]]):g} in row {int(bad[0])}"
                raise InputError("sample_weight", "be at least 0", got)
        return rows, targets, sample_weight

    def _check_keys(self, values: Any) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise InputTypeError(
                "targets", f"be a dict with keys {list(self.names)}", _kind(values)
            )
        if set(values) != set(self.names):
            raise InputError("targets", f"have the keys {list(self.names)}", list(values))
        return dict(values)


def flatten_rows(z: Tensor, dim: int) -> Tensor:
    """Return outputs of shape (n, ..., dim) as rows, shape (m, dim), or say that they are none."""
    rows = z.flatten(0, -2) if isinstance(z, Tensor) and z.ndim > 2 else z
    check_output_width(rows, dim)
    return rows


def reduce_rows(
    rows: Tensor, weights: Tensor | None, reduction: str, shape: tuple[int, ...]
) -> Tensor:
    """Return weighted losses in a shape, their sum, or their mean by weight: 0, not NaN, where no
    label is there.
    """
    if reduction == "none":
        return rows.reshape(shape)
    if reduction == "sum":
        return rows.sum()
    if weights is None:
        return rows.mean()
    return rows.sum() / weights.sum(dtype=rows.dtype).clamp_min(torch.finfo(rows.dtype).tiny)


def parse_tasks(
    task: Any, tasks: Mapping[str, Any], options: Iterable[str] = ()
) -> tuple[dict[str, Task], bool]:
    """Return tasks by name, and whether there is one unnamed task; from one task, a mapping, or
    keywords, of which one that is no task is taken for a misspelled option.
    """
    rule = "be a task such as hp.Classes(10) or hp.Range(0, 1)"
    for name, value in tasks.items():
        if not isinstance(value, Task):
            advice = nearest_name(name, options) or f"A task must {rule}."
            raise InputTypeError(f'Unknown option "{name}".', advice=advice)
    if task is not None and tasks:
        raise InputError("task", "be left out where tasks are given by name", sorted(tasks))
    bare = isinstance(task, Task)
    named = {UNNAMED: task} if bare else dict(task if isinstance(task, Mapping) else tasks)
    if task is not None and not bare and not isinstance(task, Mapping):
        raise InputTypeError("A task", rule, _kind(task))
    if not named:
        raise InputError("A space", f"have at least one task: {rule}")
    for name, value in named.items():
        if not isinstance(name, str):
            raise InputTypeError("Task names", "be strings", repr(name))
        if not isinstance(value, Task):
            raise InputTypeError(f'Task "{name}"', rule, _kind(value))
    return named, bare


def _kind(value: object) -> str:
    return type(value).__name__
