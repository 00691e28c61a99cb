"""What every output space can do, the sphere and its baselines alike, and what spaces made of tasks
share.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_output_width, check_tensor, nearest_name
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.losses import Reduction, can_read, reduce_rows
from hyperproto.prototypes import Prototypes
from hyperproto.sphere import working_dtype
from hyperproto.tasks import Task
from hyperproto.tasks.head import Head

T = TypeVar("T")
UNNAMED = "target"  # what a task without a name is called where everything has one

Targets: TypeAlias = Tensor | Mapping[str, Tensor]
"""One tensor where there is one unnamed task, otherwise a tensor for each task's name."""


def by_name(values: T | Mapping[str, T]) -> dict[str, T]:
    """Return what a space takes or gives by the names of its tasks, the one form inside."""
    return dict(values) if isinstance(values, Mapping) else {UNNAMED: values}


class OutputSpace(nn.Module, ABC):
    """Where a network's outputs live, how wrong they are, and what they mean.

    A comparison swaps this object and nothing else. A subclass writes :meth:`losses` and
    :meth:`predict`, on bare tensors or on dicts by task name, as its data come. Training optimizes
    the parameters of the network *and* of the space (a sphere has none), and calls the two hooks,
    which do nothing by default.
    """

    dim: int
    """Width of the network's output."""

    on_sphere: ClassVar[bool] = False
    """Whether outputs are points on a sphere, and scores cosines."""

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name; where there are none, the dtype of predictions says what they are."""
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
            terms = list(by_name(self.losses(z, targets, **options)).values())
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

    def label_counts(self, targets: Targets) -> dict[str, Tensor]:
        """Return how much each task's mean is a mean of: the number of labels, or the sum of their
        weights.
        """
        return {name: given.new_tensor(len(given)) for name, given in by_name(targets).items()}

    def metric_name(self, task: str, metric: str) -> str:
        """Return what a metric of a task is called: ``"digit/accuracy"``, or ``"accuracy"`` of one
        unnamed task.
        """
        return metric if task == UNNAMED else f"{task}/{metric}"

    @property
    def prototypes(self) -> dict[str, Prototypes] | Prototypes:
        """The prototypes of each class task, or of the one unnamed task; only a sphere has any."""
        return {}

    def to_dict(self) -> dict[str, Any] | None:
        """Describe a space of ours by plain values for a run's config; None for a user's own."""
        return None


class TaskSpace(OutputSpace):
    """Tasks by name on one output, one head for each. One unnamed task takes and gives bare
    tensors.
    """

    heads: nn.ModuleList

    def __init__(self, dim: int, heads: Mapping[str, Head], *, bare: bool, **options: Any) -> None:
        super().__init__()
        self.dim = int(dim)
        self.names = tuple(heads)
        # not a ModuleDict: a task may have any name, dots included
        self.heads = nn.ModuleList(heads.values())
        self._bare = bare
        # what else the constructor takes, as plain values for a run's config
        self.options = options

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
            "bare": self._bare,
            "tasks": tasks,
            **self.options,
        }

    def extra_repr(self) -> str:
        """Describe the sphere or output."""
        return f"dim={self.dim}"

    @property
    def point_dim(self) -> int:
        """Width of points on a sphere; of outputs without one."""
        return self.dim

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name; one unnamed task is called "target"."""
        return {name: head.task for name, head in self.named_heads().items()}

    def named_heads(self) -> dict[str, Any]:
        """Return the head of each task by name."""
        return dict(zip(self.names, self.heads, strict=True))

    def metric_name(self, task: str, metric: str) -> str:
        """Return what a metric of a task is called."""
        return metric if self._bare else f"{task}/{metric}"

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
        rows = flatten_rows(z, self.dim)
        named, sample_weight = self._check_targets(z, targets, sample_weight)
        losses = {}
        for name, head in self.named_heads().items():
            task = head.task
            target = task.check_form(named[name], rows.shape[0], name)
            # where every weight is seen to be 1 there are none, and nothing is multiplied: the
            # usual batch
            weights = None
            complete = len(target) > 0 and can_read(target) and task.checks_values(target, name)
            if not complete or sample_weight is not None or head.weighted:
                weights = head.weights(target)
                weights = weights if sample_weight is None else weights * sample_weight
            ready = task.ready(target, working_dtype(z.dtype), complete=complete)
            loss = head.row_losses(rows, ready)
            if weights is not None:
                # a product, not a mask: a row that is not finite shows in the loss even where its
                # label is missing
                loss = loss * weights.to(loss.dtype)
            loss = loss if task.weight == 1 else loss * task.weight
            loss = loss if z.ndim == 2 else loss.reshape(z.shape[:-1])
            losses[name] = reduce_rows(loss, reduction, weights)
        return losses[UNNAMED] if isinstance(targets, Tensor) else losses

    def scores(self, z: Tensor) -> Targets:
        """Return what each decision is made on; for a sphere, cosines."""
        return self._ask(z, lambda head, rows: head.scores(rows))

    @torch.no_grad()
    def probabilities(self, z: Tensor) -> Targets:
        """Return the probability of each class, shape (n, num_classes), by the logits of the loss.

        A loss without logits, such as Equation 1, has its cosines at a scale that was fitted to
        held-out data, or 10. Of several tasks those with classes are in the dict.
        """
        return self._ask(z, lambda head, rows: head.probabilities(rows))

    @torch.no_grad()
    def predict(self, z: Tensor) -> Targets:
        """Return class ids and numbers. Raises on rows that are zero or not finite: they point
        nowhere.
        """
        return self._ask(z, lambda head, rows: head.predict(rows))

    @torch.no_grad()
    def check(self, targets: Targets) -> None:
        """Check the values of all targets once: ids and numbers within their ranges, missing ones
        allowed.
        """
        named = self._named(targets)
        for name, task in self.tasks.items():
            task.check(named[name], name)

    def balance(self, targets: Targets, sample_weight: Tensor | None = None) -> None:
        """Take from all training targets what tasks leave open: how rare classes are, with
        ``class_weight="balanced"``, and the units of an ``hp.Number()``, by the weight of each row.
        """
        named = self._named(targets)
        for name, head in self.named_heads().items():
            head.balance(named[name], sample_weight)

    def label_counts(self, targets: Targets) -> dict[str, Tensor]:
        """Return the weight each task's mean is taken over."""
        named = self._named(targets)
        return {name: head.weights(named[name]).sum() for name, head in self.named_heads().items()}

    def encode(self, values: Any) -> Targets:
        """Return tensors for class names and numbers as people write them; None
        is a missing one.
        """
        named, encoded = self._by_task(values), {}
        for name, task in self.tasks.items():
            encoded[name] = torch.from_numpy(task.encode(named[name], name))
        return self._as_given(encoded)

    def decode(self, predictions: Targets) -> Any:
        """Return names and numbers for what :meth:`predict` gave."""
        named = self._named(predictions)
        values = {}
        for name, task in self.tasks.items():
            task.check_scored(named[name], name)
            found = task.decode(named[name].numpy(force=True)).tolist()
            values[name] = [None if value != value else value for value in found]
        return self._as_given(values)

    def _ask(self, z: Tensor, question: Callable[[Head, Tensor], Tensor | None]) -> Targets:
        """Return what the heads that can say it say about outputs of shape (n, ..., dim)."""
        rows, found = flatten_rows(z, self.dim), {}
        for name, head in self.named_heads().items():
            told = question(head, rows)
            if told is not None:
                found[name] = told.reshape(*z.shape[:-1], *told.shape[1:])
        return self._as_given(found)

    def _as_given(self, named: dict[str, T]) -> T | dict[str, T]:
        """Return the value itself for one unnamed task, whose targets come by themselves."""
        return named[UNNAMED] if self._bare and named else named

    def _named(self, targets: Targets) -> dict[str, Tensor]:
        """Return targets or predictions by task name, or say which form is expected."""
        named = self._by_task(targets)
        for name, value in named.items():
            check_tensor(value, name, "Use torch.as_tensor for numbers, space.encode for names.")
        return named

    def _by_task(self, values: Any) -> dict[str, Any]:
        """Return values by the names of all tasks."""
        is_dict = isinstance(values, Mapping)
        if self._bare and not (is_dict and UNNAMED in values):
            return {UNNAMED: values}
        if not is_dict:
            rule = f"be a dict with keys {list(self.names)}"
            raise InputTypeError("targets", rule, _kind(values))
        if set(values) != set(self.names):
            raise InputError("targets", f"have the keys {list(self.names)}", list(values))
        return dict(values)

    def _check_targets(
        self, z: Tensor, targets: Targets, sample_weight: Tensor | None
    ) -> tuple[dict[str, Tensor], Tensor | None]:
        """Check the shapes of targets and weights next to outputs, and return them as rows; the
        form of each target is its task's to check.
        """
        named, shape = self._named(targets), z.shape[:-1]
        if sample_weight is not None and sample_weight.shape != shape:
            rule = f"have shape {tuple(shape)}"
            raise InputError("sample_weight", rule, tuple(sample_weight.shape))
        if z.ndim > 2:
            for name, target in named.items():
                if target.shape[: z.ndim - 1] != shape:
                    rule = f"have shape {tuple(shape)}, as `z`"
                    raise InputError(name, rule, tuple(target.shape))
            named = {name: target.flatten(0, z.ndim - 2) for name, target in named.items()}
            sample_weight = None if sample_weight is None else sample_weight.flatten()
        if sample_weight is not None and can_read(sample_weight):
            bad = (~(sample_weight >= 0)).nonzero().flatten()
            if len(bad):
                got = f"{float(sample_weight[bad[0]]):g} in row {int(bad[0])}"
                raise InputError("sample_weight", "be at least 0", got)
        return named, sample_weight


def flatten_rows(z: Tensor, dim: int) -> Tensor:
    """Return outputs of shape (n, ..., dim) as rows, shape (m, dim), or say that they are none."""
    check_tensor(z, "z")
    rows = z.flatten(0, -2) if z.ndim > 2 else z
    check_output_width(rows, dim)
    return rows


def parse_tasks(
    task: object, tasks: dict[str, Task], options: Iterable[str] = ()
) -> tuple[dict[str, Task], bool]:
    """Return tasks by name, and whether there is one unnamed task; from one task, a mapping, or
    keywords, of which one that is no task is taken for a misspelled option.
    """
    rule = "be a task such as hp.Classes(10) or hp.Number()"
    given = by_name(tasks if task is None else task)
    bare, named = task is not None and not isinstance(task, Mapping), {}
    for name, value in (given | tasks).items():
        if isinstance(value, Task):
            named[name] = value
        elif name in tasks:
            advice = nearest_name(name, options) or f"A task must {rule}."
            raise InputTypeError(f'Unknown option "{name}".', advice=advice)
        else:
            raise InputTypeError("A task" if bare else f'Task "{name}"', rule, _kind(value))
        if not isinstance(name, str):
            raise InputTypeError("Task names", "be strings", repr(name))
    if task is not None and tasks:
        raise InputError("task", "be left out where tasks are given by name", sorted(tasks))
    if not named:
        raise InputError("A space", f"have at least one task: {rule}")
    return named, bare


def _kind(value: object) -> str:
    return type(value).__name__
