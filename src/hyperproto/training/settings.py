"""How to train, as plain values: the same for ``fit``, the command line, the estimators and the paper's tables."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.defaults import (
    MOMENTUM,
    OTHER_RATE,
    SCHEDULE,
    SUM_RATE,
    WEIGHT_DECAY,
    InputKind,
    choose_rate,
    choose_steps,
)
from hyperproto.spaces import Classes, CompositeSpace, OutputSpace, Range, Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training.schedule import SCHEDULES

REDUCTIONS, PRECISIONS = ("sum", "mean"), ("no", "bf16", "fp16")

__all__ = ["ResolvedSettings", "TrainSettings"]


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Stochastic gradient descent, in full. None lets :mod:`hyperproto.defaults` choose, by the space and the data.

    Attributes
    ----------
    epochs : int
        Passes over the training data.
    batch_size : int
        Examples per step, of all processes together: the number of processes does not change what is learned.
    lr, momentum, weight_decay : float
        In the paper 0.01, 0.9 and 1e-4; ``lr`` is the rate at the peak of the schedule.
    schedule : {"one-cycle", "paper", "constant"}
        How the rate changes; "paper" divides it by ten after 40 % and 80 % of training.
    reduction : {"sum", "mean"}
        How the losses of a batch become one; the paper's rate assumes "sum".
    seed : int
        Fixes the order of examples and all random numbers of training.
    accumulate : int
        Compute a batch in this many parts, one after the other, to save memory. The step is the same, except that
        batch normalization sees the parts.
    patience : int
        Stop after this many epochs without improvement on validation data; None does not stop early.
    monitor : str
        The validation measure that compares epochs, such as "digit/accuracy"; None is the first.
    mixed_precision : {"no", "bf16", "fp16"}
        As in Accelerate; None is what ``accelerate launch`` says.
    """

    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    momentum: float = MOMENTUM
    weight_decay: float = WEIGHT_DECAY
    schedule: str | None = None
    reduction: Literal["sum", "mean"] | None = None
    seed: int = 0
    accumulate: int = 1
    patience: int | None = None
    monitor: str | None = None
    mixed_precision: Literal["no", "bf16", "fp16"] | None = None

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("seed", 0), ("accumulate", 1), ("patience", 1)):
            self._keep(name, check_integer, at_least=least)
        self._keep("lr", check_finite_number, above=0)
        self._keep("momentum", check_finite_number, at_least=0)
        self._keep("weight_decay", check_finite_number, at_least=0)
        for name, known in (("schedule", SCHEDULES), ("reduction", REDUCTIONS), ("mixed_precision", PRECISIONS)):
            if getattr(self, name) is not None:
                choose(getattr(self, name), dict.fromkeys(known), what=name.replace("_", " "))

    def _keep(self, name: str, check: Any, **limits: float) -> None:
        """Check a number, and keep it as Python's own."""
        if getattr(self, name) is not None:
            object.__setattr__(self, name, check(getattr(self, name), name, **limits))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build settings from their names, which are those of :func:`~hyperproto.training.fit.fit`'s keywords."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise unknown_choice(name, known, what="setting of training")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a run's config holds them."""
        return asdict(self)

    def resolve(self, space: OutputSpace, num_examples: int, inputs: InputKind) -> "ResolvedSettings":
        """Return the settings with everything chosen: what is given stays, the rest follows from the data."""
        loss, num_classes, num_ranges = _loss_of(space)
        reduction, lr = choose_rate(loss, inputs, num_classes=num_classes, num_ranges=num_ranges)
        if self.reduction not in (None, reduction):
            reduction, lr = self.reduction, SUM_RATE if self.reduction == "sum" else OTHER_RATE
        epochs, batch_size = choose_steps(num_examples, inputs)
        chosen = {
            "epochs": epochs,
            "batch_size": batch_size,
            "lr": lr,
            "schedule": SCHEDULE,
            "reduction": reduction,
        }
        given = {name: value for name, value in self.to_dict().items() if value is not None}
        return ResolvedSettings(**{**chosen, **given})


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings(TrainSettings):
    """:class:`TrainSettings` in which nothing is left to choose."""

    epochs: int
    batch_size: int
    lr: float
    schedule: str
    reduction: Literal["sum", "mean"]

    @property
    def validation_batch_size(self) -> int:
        """How many examples are validated at once: more than gradients of fit into memory."""
        at_once = -(-self.batch_size // self.accumulate)
        return max(at_once, min(512, 4 * at_once))


def _loss_of(space: OutputSpace) -> tuple[str, int, int]:
    """Return what a space is trained with, the classes of its largest task, and how many numbers it predicts."""
    tasks = list(space.tasks.values()) if isinstance(space, TaskSpace) else []
    largest = max((task.num_classes for task in tasks if isinstance(task, Classes)), default=0)
    numbers = sum(isinstance(task, Range) for task in tasks)
    if isinstance(space, CompositeSpace):
        return "composite", largest, numbers
    if not isinstance(space, Space):
        return "conventional", largest, numbers
    names = {task.loss.name for task in tasks if isinstance(task, Classes)}
    return names.pop() if len(names) == 1 else "squared_cosine", largest, numbers
