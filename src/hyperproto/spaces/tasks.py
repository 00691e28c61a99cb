"""What can be asked of an output: which class it is, or which number between two bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.data.source import MISSING, Bounds, Labels
from hyperproto.losses import LOSSES, ClassLoss, SquaredCosine
from hyperproto.losses.class_loss import check_labels
from hyperproto.prototypes import Prototypes
from hyperproto.prototypes.prototypes import parse_classes

__all__ = ["MISSING", "Classes", "Range", "Task", "check_numbers", "task_from_dict", "tasks_for"]


@dataclass(frozen=True, eq=False)
class Classes:
    """A classification task: the wish ``cos(z, p_y) = 1``.

    Parameters
    ----------
    classes : int, sequence of str, or Prototypes
        How many classes, their names, or prototypes placed already.
    loss : SquaredCosine, PowerCosine, FreeNormSoftmax, CosineSoftmax, CauchySoftmax or SampledCosineSoftmax
        Equation 1, or with another exponent, whose cost does not depend on the number of classes; or cross-entropy:
        over products with outputs of any length, over scaled cosines to all prototypes or some, or with heavy tails.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    class_weights : sequence of float, optional
        A weight for every class; the mean is then the weighted mean.
    """

    classes: int | Sequence[str] | Prototypes
    loss: ClassLoss = field(default_factory=SquaredCosine)
    weight: float = 1.0
    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_finite_number(self.weight, "weight", above=0)
        if not isinstance(self.loss, tuple(LOSSES.values())):
            known = ", ".join(f"hp.losses.{loss.__name__}()" for loss in LOSSES.values())
            raise InputTypeError(f"`loss` must be one of {known}; got {self.loss!r}.")
        if not isinstance(self.classes, Prototypes):
            num_classes, names = parse_classes(self.classes)
            object.__setattr__(self, "classes", names or num_classes)
        if self.class_weights is not None:
            weights = tuple(float(weight) for weight in self.class_weights)
            object.__setattr__(self, "class_weights", weights)
            if len(weights) != self.num_classes:
                raise InputError(
                    f"`class_weights` must hold {self.num_classes} weights, one per class; got {len(weights)}."
                )
            for weight in weights:
                check_finite_number(weight, "class_weights", at_least=0)

    @property
    def num_classes(self) -> int:
        """K."""
        if isinstance(self.classes, Prototypes):
            return self.classes.num_classes
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The class names, where they were given."""
        if isinstance(self.classes, Prototypes):
            return self.classes.names
        return None if isinstance(self.classes, int) else tuple(self.classes)

    def present(self, labels: Tensor) -> Tensor:
        """Return which labels are there. Shape (n,), bool. Only -1 is missing: another negative id is a mistake."""
        return labels != MISSING

    def check(self, labels: Tensor, name: str) -> None:
        """Check every label: in ``[0, num_classes)``, or -1 where it is missing."""
        check_labels(labels, labels.numel(), name=name)
        labels = labels.long()  # of unsigned labels none is less than -1
        bad = ((labels < MISSING) | (labels >= self.num_classes)).nonzero().flatten()
        if len(bad):
            raise InputError(
                f"`{name}` must be class ids in [0, {self.num_classes}), or {MISSING} where missing; "
                f"row {int(bad[0])} holds {int(labels[bad[0]])} ({len(bad)} of {len(labels)} rows)."
            )

    def encode(self, names: Sequence[str | None]) -> Tensor:
        """Return the ids of class names, shape (n,); None is a missing label."""
        if self.names is None:
            raise InputError("These classes have no names; give the ids themselves, or build Classes from names.")
        ids = {name: index for index, name in enumerate(self.names)}
        for name in names:
            if name is not None and name not in ids:
                raise unknown_choice(name, ids, what="class")
        return torch.tensor([MISSING if name is None else ids[name] for name in names], dtype=torch.int64)

    def decode(self, ids: Tensor) -> list[str | int | None]:
        """Return the names of class ids, the ids themselves where there are no names, None where missing."""
        self.check(ids, "ids")
        known: Sequence[str | int] = self.names if self.names is not None else range(self.num_classes)
        return [None if index == MISSING else known[index] for index in ids.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Describe the task for a run's config; prototypes are stored apart."""
        loss = {"name": self.loss.name, **vars(self.loss)}
        held: Any = {"classes": self.num_classes if self.names is None else list(self.names), "loss": loss}
        weights = None if self.class_weights is None else list(self.class_weights)
        return {"task": "classes", **held, "weight": self.weight, "class_weights": weights}


@dataclass(frozen=True)
class Range:
    """A regression task between two bounds: the wish ``cos(z, p_upper) = r`` (Equation 7).

    .. math:: r = (1 - m) \\Bigl( 2\\,\\frac{y - v_l}{v_u - v_l} - 1 \\Bigr)

    Parameters
    ----------
    low, high : float
        The bounds v_l and v_u, typically the extremes of the training targets.
    margin : float, default 0.0
        m, in [0, 1): keeps targets away from the poles, where all that is not this number vanishes and a class
        direction is undefined. The paper has 0.
    outside : {"error", "clip"}, default "error"
        What a target beyond the bounds is: a mistake that ``check`` reports, or the bound itself.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    """

    low: float
    high: float
    margin: float = 0.0
    outside: Literal["error", "clip"] = "error"
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("low", "high", "margin", "weight"):  # plain floats: they are written down with a run
            object.__setattr__(self, name, check_finite_number(getattr(self, name), name))
        low, high = self.low, self.high
        if not low < high:
            raise InputError(f"`low` must be less than `high`; got {low:g} and {high:g}.")
        if not 0 <= self.margin < 1:
            raise InputError(f"`margin` must lie in [0, 1); got {self.margin:g}.")
        choose(self.outside, {"error": 0, "clip": 0}, what="rule for targets outside")
        check_finite_number(self.weight, "weight", above=0)

    def present(self, values: Tensor) -> Tensor:
        """Return which values are there. Shape (n,), bool."""
        return ~values.isnan()

    def check(self, values: Tensor, name: str) -> None:
        """Check every value: within the bounds, or NaN where it is missing."""
        values = check_numbers(values, values.numel(), name=name)
        rule, advice = f"lie in [{self.low:g}, {self.high:g}]", 'Widen the range, or build it with outside="clip".'
        bad = ((values < self.low) | (values > self.high)).nonzero().flatten()
        if self.outside == "clip":
            rule, advice = "be finite, or NaN where missing", "Remove those rows."
            bad = values.isinf().nonzero().flatten()
        if len(bad):
            raise InputError(
                f"`{name}` must {rule}; row {int(bad[0])} holds {float(values[bad[0]]):g} "
                f"({len(bad)} of {len(values)} rows). {advice}"
            )

    def to_cosine(self, values: Tensor) -> Tensor:
        """Return r, the cosine each value stands for. Shape (n,), in the dtype of ``values`` if it is a float."""
        dtype = values.dtype if values.dtype.is_floating_point else torch.get_default_dtype()
        y = values.to(_widest(values))
        if self.outside == "clip":
            y = y.clamp(self.low, self.high)
        # ((y - l) - (u - y)) / (u - l) is 2 (y - l)/(u - l) - 1 with one rounding less
        r = ((y - self.low) - (self.high - y)) * ((1 - self.margin) / (self.high - self.low))
        return r.to(dtype)

    def from_cosine(self, cosine: Tensor) -> Tensor:
        """Return the value a cosine stands for, never beyond the bounds: the inverse of :meth:`to_cosine`."""
        wide = cosine.to(_widest(cosine))
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return (middle + wide * (half / (1 - self.margin))).clamp(self.low, self.high).to(cosine.dtype)

    def encode(self, values: Sequence[float | None]) -> Tensor:
        """Return numbers as a tensor, shape (n,); None is a missing one."""
        return torch.tensor([float("nan") if value is None else float(value) for value in values])

    def decode(self, values: Tensor) -> list[float | None]:
        """Return a tensor as numbers, None where missing."""
        return [None if value != value else value for value in values.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Describe the task for a run's config."""
        return {"task": "range", **vars(self)}


Task: TypeAlias = Classes | Range


def tasks_for(targets: Mapping[str, Labels | Bounds]) -> dict[str, Task]:
    """Return the tasks of predicting what a data set has: classes for labels, ranges for numbers.

    Numbers beyond the bounds count as the nearer bound in training, and are scored as they are in testing.

    >>> tasks_for({"angle": Bounds(0, 180)})
    {'angle': Range(low=0.0, high=180.0, margin=0.0, outside='clip', weight=1.0)}
    """
    return {
        name: Classes(found.names) if isinstance(found, Labels) else Range(found.low, found.high, outside="clip")
        for name, found in targets.items()
    }


def task_from_dict(values: dict[str, Any], prototypes: Prototypes | None = None) -> Task:
    """Rebuild a task from :meth:`to_dict`, with its prototypes where it has any."""
    values = dict(values)
    kind = choose(values.pop("task"), {"classes": Classes, "range": Range}, what="task")
    if kind is Range:
        return Range(**values)
    loss = dict(values.pop("loss"))
    values["loss"] = choose(loss.pop("name"), LOSSES, what="loss")(**loss)
    return Classes(prototypes or values.pop("classes"), **{k: v for k, v in values.items() if k != "classes"})


def check_numbers(values: Tensor, n: int, *, name: str) -> Tensor:
    """Check shape and dtype of numeric targets, not their values; whole numbers become floating point."""
    if values.dtype.is_complex or values.dtype == torch.bool:
        raise InputTypeError(f"`{name}` must be real numbers; got {values.dtype}.")
    if values.shape != (n,):
        raise InputError(f"`{name}` must have shape ({n},), one per row of `z`; got {tuple(values.shape)}.")
    return values if values.dtype.is_floating_point else values.to(_widest(values))


def _widest(values: Tensor) -> torch.dtype:
    return torch.float32 if values.device.type == "mps" else torch.float64  # MPS has no float64
