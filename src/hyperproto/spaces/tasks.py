"""What can be asked of an output: which class it is, or which number between two bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data.source import MISSING, Bounds, Labels
from hyperproto.losses import (
    LOSSES,
    AutoLoss,
    ClassLoss,
    SampledCosineSoftmax,
    SquaredCosine,
    check_labels,
    get_loss,
)
from hyperproto.prototypes import Prototypes
from hyperproto.prototypes.prototypes import parse_classes

EQUATION_1 = SquaredCosine()
BALANCED = "balanced"
ROUNDING = 1e-3  # by how much probabilities of half precision may fail to sum to 1


@dataclass(frozen=True, eq=False, init=False)
class Classes:
    """A classification task: the target ``cos(z, p_y) = 1``.

    Targets are ids of shape (n,), -1 where missing, or probabilities of shape (n, num_classes), a
    row of NaN where missing. Of the latter the loss is the expected one, too.

    Parameters
    ----------
    classes : int, sequence of str, nested dict, or Prototypes
        How many classes, their names, or prototypes placed already. A dict such as ``{"travel":
        ["book", "cancel"], "bank": ["pay"]}`` is a taxonomy: its ends are the classes, and those
        that are near in it are placed nearer.
    loss : ClassLoss or str, default SquaredCosine()
        A loss of :mod:`hyperproto.losses` or its name. The default is Equation 1, the paper's loss;
        "auto" lets the library choose one for the number of classes and axes
        (:func:`hyperproto.defaults.choose_loss`).
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    class_weight : sequence of float or "balanced", optional
        A weight for every class; the mean is then the weighted mean. "balanced" weighs classes by
        how rare they are in the data, as in scikit-learn, once :func:`hyperproto.fit` (or
        ``space.balance(targets)``) counts them. A row has the weight of its label, whatever is
        smoothed; for probabilities, the expected weight.
    label_smoothing : float, default 0.0
        ε, in [0, 1): the loss is the expected one where the class is drawn evenly from all K with
        probability ε, as in ``torch.nn.CrossEntropyLoss``; its cost grows with K whatever the loss.
    """

    classes: int | tuple[str, ...] | Mapping[str, Any] | Prototypes
    loss: ClassLoss
    weight: float
    class_weight: tuple[float, ...] | Literal["balanced"] | None
    label_smoothing: float

    kind = "classes"  # in stored files
    measure = "accuracy"  # how it is scored
    missing = MISSING  # the target of an example without a label

    def __init__(
        self,
        classes: int | Sequence[str] | Mapping[str, Any] | Prototypes,
        loss: ClassLoss | str = EQUATION_1,
        weight: float = 1.0,
        class_weight: Sequence[float] | Literal["balanced"] | None = None,
        label_smoothing: float = 0.0,
    ) -> None:
        check_finite_number(weight, "weight", above=0)
        if not 0 <= check_finite_number(label_smoothing, "label_smoothing") < 1:
            raise InputError("label_smoothing", "lie in [0, 1)", f"{label_smoothing:g}")
        built = get_loss(loss) if isinstance(loss, str) else loss
        if not isinstance(built, (*LOSSES.values(), AutoLoss)):
            listed = ", ".join(f"hp.losses.{kind.__name__}()" for kind in LOSSES.values())
            raise InputTypeError("loss", f"be one of {listed} or its name", repr(loss))
        if label_smoothing and isinstance(built, SampledCosineSoftmax):
            raise InputError(
                "label_smoothing",
                "be 0 with a loss over some of the classes",
                f"{label_smoothing:g}",
            )
        if isinstance(classes, Mapping):
            from hyperproto.priors.taxonomy import leaves

            parse_classes(leaves(classes) or classes)
        elif not isinstance(classes, Prototypes):
            num_classes, names = parse_classes(classes)
            classes = names or num_classes
        vars(self).update(
            classes=classes, loss=built, weight=weight, label_smoothing=float(label_smoothing)
        )
        if isinstance(class_weight, str):
            choose(class_weight, {BALANCED: 0}, what="class weight")
        elif class_weight is not None:
            class_weight = tuple(
                check_finite_number(float(value), "class_weight", at_least=0)
                for value in class_weight
            )
            if len(class_weight) != self.num_classes:
                raise InputError(
                    "class_weight",
                    f"have {self.num_classes} weights, one per class",
                    len(class_weight),
                )
        vars(self).update(class_weight=class_weight)

    @property
    def num_classes(self) -> int:
        """K."""
        if isinstance(self.classes, Prototypes):
            return self.classes.num_classes
        return self.classes if isinstance(self.classes, int) else len(self.names or ())

    @property
    def names(self) -> tuple[str, ...] | None:
        """The class names, where they were given."""
        if isinstance(self.classes, Prototypes):
            return self.classes.names
        if isinstance(self.classes, Mapping):
            from hyperproto.priors.taxonomy import leaves

            return leaves(self.classes)
        return None if isinstance(self.classes, int) else self.classes

    def with_loss_for(self, dim: int) -> "Classes":
        """Return the task with the loss that "auto" stands for on ``dim`` axes."""
        loss = self.loss
        return (
            replace(self, loss=loss.choose(self.num_classes, dim))
            if isinstance(loss, AutoLoss)
            else self
        )

    def balanced(self, targets: Tensor) -> "Classes":
        """Return the task with a weight n / (K count) for each class, K those with examples; 1 for
        one without.
        """
        labels = targets[self.present(targets)].cpu()
        if labels.is_floating_point():
            counts = labels.double().sum(dim=0)
        else:
            counts = torch.bincount(labels.long(), minlength=self.num_classes).double()
        weights = torch.where(
            counts > 0, counts.sum() / ((counts > 0).sum() * counts.clamp_min(1)), 1.0
        )
        return replace(self, class_weight=tuple(weights.tolist()))

    def present(self, targets: Tensor) -> Tensor:
        """Return which labels are there. Shape (n,), bool. Only -1 is missing: another negative id
        is a mistake.
        """
        return ~targets.isnan().any(dim=-1) if targets.is_floating_point() else targets != MISSING

    def is_complete(self, targets: Tensor) -> bool:
        """Return whether every label is there. Reads values."""
        return (
            bool(self.present(targets).all())
            if targets.is_floating_point()
            else targets.min().item() > MISSING
        )

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return what losses take: ids, 0 where missing; or probabilities of a dtype, 0 where
        missing, smoothed.
        """
        if targets.is_floating_point():
            shares = targets.to(dtype)
            shares = (
                shares if complete else shares.masked_fill(~self.present(targets).unsqueeze(-1), 0)
            )
        else:
            targets = targets if complete else targets.masked_fill(~self.present(targets), 0)
            if not self.label_smoothing:
                return targets
            shares = torch.nn.functional.one_hot(targets, self.num_classes).to(dtype)
        return shares * (1 - self.label_smoothing) + self.label_smoothing / self.num_classes

    def row_weights(self, targets: Tensor, class_weight: Tensor) -> Tensor:
        """Return the weight of each row: that of its class, expected for probabilities; any where
        missing.
        """
        if targets.is_floating_point():
            return targets.nan_to_num().to(class_weight.dtype) @ class_weight
        return class_weight[targets.clamp_min(0)]

    def check(self, targets: Tensor, name: str) -> None:
        """Check every label: in ``[0, num_classes)``, or -1 where it is missing; or a row of
        probabilities.
        """
        if targets.ndim > 1 and targets.is_floating_point():
            shares = self.check_form(targets, len(targets), name)
            wrong = ((shares.sum(dim=1) - 1).abs() > ROUNDING) | (shares < 0).any(dim=1)
            bad = (wrong & self.present(shares)).nonzero().flatten()
            if len(bad):
                rule = "be probabilities that sum to 1, or NaN where missing"
                raise InputError(
                    name,
                    rule,
                    _first(bad, f"a sum of {float(shares[bad[0]].sum()):g}", len(shares)),
                )
            return
        check_labels(targets, targets.numel(), name=name)
        labels = targets.long()  # of unsigned labels none is less than -1
        bad = ((labels < MISSING) | (labels >= self.num_classes)).nonzero().flatten()
        if len(bad):
            rule = f"be class ids in [0, {self.num_classes}), or {MISSING} where missing"
            raise InputError(name, rule, _first(bad, str(int(labels[bad[0]])), len(labels)))

    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check shape and dtype of labels; return ids as int64."""
        if targets.ndim > 1 and targets.is_floating_point():
            if targets.shape != (n, self.num_classes):
                rule = (
                    f"have shape ({n}, {self.num_classes}), a probability for each class, or ({n},)"
                )
                raise InputError(name, rule, tuple(targets.shape))
            if targets.requires_grad:
                raise InputError(
                    name, "be fixed", "a tensor that requires a gradient", "Detach it."
                )
            return targets
        check_labels(targets, n, name=name)
        return targets.long()

    def encode(self, values: Sequence[str | None]) -> Tensor:
        """Return the ids of class names, shape (n,); None is a missing label."""
        if self.names is None:
            raise InputError(
                "Classes without names",
                "be given by their ids",
                None,
                "Or build Classes from names.",
            )
        ids = {name: index for index, name in enumerate(self.names)}
        found = [MISSING if name is None else choose(name, ids, what="class") for name in values]
        return torch.tensor(found, dtype=torch.int64)

    def decode(self, targets: Tensor) -> list[str | int | None]:
        """Return the names of class ids, the ids themselves where there are no names, None where
        missing.
        """
        self.check(targets, "ids")
        names: Sequence[str | int] = (
            self.names if self.names is not None else range(self.num_classes)
        )
        return [None if index == MISSING else names[index] for index in targets.tolist()]

    def describe(self) -> str:
        """Return the number of classes, the first names and the loss."""
        names = ", ".join((self.names or ())[:5]) + (", ..." if self.num_classes > 5 else "")
        return f"{self.num_classes} classes{': ' + names if self.names else ''}; {self.loss}"

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain values for a run's config, without its prototypes."""
        return {
            "task": self.kind,
            "classes": self.num_classes if self.names is None else list(self.names),
            "loss": {"name": self.loss.name, **vars(self.loss)},
            "weight": self.weight,
            "class_weights": list(self.class_weight)
            if isinstance(self.class_weight, tuple)
            else self.class_weight,
            **({"label_smoothing": self.label_smoothing} if self.label_smoothing else {}),
        }


@dataclass(frozen=True)
class Range:
    """A regression task between two bounds: the target ``cos(z, p_upper) = r`` (Equation 7).

    .. math:: r = (1 - m) \\Bigl( 2\\,\\frac{y - v_l}{v_u - v_l} - 1 \\Bigr)

    Parameters
    ----------
    low, high : float
        The bounds v_l and v_u, typically the extremes of the training targets.
    margin : float, default 0.0
        m, in [0, 1): keeps targets away from the poles, where all that is not this number vanishes
        and a class direction is undefined. The paper has 0.
    outside : {"error", "clip"}, default "error"
        What a target beyond the bounds is: a mistake that ``check`` reports, or the bound itself.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    loss : {"squared", "absolute"}, default "squared"
        Of the difference between the cosine and r. The paper squares it; where the library chooses,
        it does not (:func:`hyperproto.defaults.choose_number_loss`).
    """

    low: float
    high: float
    margin: float = 0.0
    outside: Literal["error", "clip"] = "error"
    weight: float = 1.0
    loss: Literal["squared", "absolute"] = "squared"

    kind = "range"
    measure = "mae"
    missing = float("nan")
    class_weight = None

    def __post_init__(self) -> None:
        for name in (
            "low",
            "high",
            "margin",
            "weight",
        ):  # plain floats: they are written down with a run
            object.__setattr__(self, name, check_finite_number(getattr(self, name), name))
        if not self.low < self.high:
            raise InputError("low", "be less than `high`", f"{self.low:g} and {self.high:g}")
        if not (isfinite(self.high - self.low) and isfinite(2 / (self.high - self.low))):
            bounds = f"{self.low:g} and {self.high:g}"
            raise InputError(
                "high",
                "be at a distance from `low` that can be divided by",
                bounds,
                "Rescale the numbers.",
            )
        if not 0 <= self.margin < 1:
            raise InputError("margin", "lie in [0, 1)", f"{self.margin:g}")
        choose(self.outside, {"error": 0, "clip": 0}, what="rule for targets outside")
        choose(self.loss, {"squared": 0, "absolute": 0}, what="loss of a range")
        check_finite_number(self.weight, "weight", above=0)

    def present(self, targets: Tensor) -> Tensor:
        """Return which values are there. Shape (n,), bool."""
        return ~targets.isnan()

    def is_complete(self, targets: Tensor) -> bool:
        """Return whether every value is there. Reads values."""
        return not bool(targets.isnan().any())

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return what losses take, in the dtype it has: the lower bound where missing."""
        return targets if complete else targets.masked_fill(targets.isnan(), self.low)

    def check(self, targets: Tensor, name: str) -> None:
        """Check every value: within the bounds, or NaN where it is missing."""
        values = self.check_form(targets, targets.numel(), name)
        rule, advice = (
            f"lie in [{self.low:g}, {self.high:g}]",
            'Widen the range, or build it with outside="clip".',
        )
        bad = ((values < self.low) | (values > self.high)).nonzero().flatten()
        if self.outside == "clip":
            rule, advice = "be finite, or NaN where missing", "Remove those rows."
            bad = values.isinf().nonzero().flatten()
        if len(bad):
            raise InputError(
                name, rule, _first(bad, f"{float(values[bad[0]]):g}", len(values)), advice
            )

    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check shape and dtype of numbers; whole numbers become floating point."""
        if targets.dtype.is_complex or targets.dtype == torch.bool:
            raise InputTypeError(name, "be real numbers", targets.dtype)
        if targets.shape != (n,):
            raise InputError(name, f"have shape ({n},), one per row of `z`", tuple(targets.shape))
        if targets.requires_grad:
            raise InputError(name, "be fixed", "a tensor that requires a gradient", "Detach it.")
        return targets if targets.dtype.is_floating_point else targets.to(_widest(targets))

    def to_cosine(self, values: Tensor) -> Tensor:
        """Return r, the cosine each value stands for. Shape (n,), in the dtype of ``values`` if it
        is a float.
        """
        dtype = values.dtype if values.dtype.is_floating_point else torch.get_default_dtype()
        y = values.to(_widest(values))
        if self.outside == "clip":
            y = y.clamp(self.low, self.high)
        # ((y - l) - (u - y)) / (u - l) is 2 (y - l)/(u - l) - 1 with one rounding less
        r = ((y - self.low) - (self.high - y)) * ((1 - self.margin) / (self.high - self.low))
        return r.to(dtype)

    def from_cosine(self, cosine: Tensor) -> Tensor:
        """Return the value a cosine stands for, never beyond the bounds: the inverse of
        :meth:`to_cosine`.
        """
        wide = cosine.to(_widest(cosine))
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return (
            (middle + wide * (half / (1 - self.margin))).clamp(self.low, self.high).to(cosine.dtype)
        )

    def encode(self, values: Sequence[float | None]) -> Tensor:
        """Return numbers as a tensor, shape (n,); None is a missing one."""
        return torch.tensor([float("nan") if value is None else float(value) for value in values])

    def decode(self, targets: Tensor) -> list[float | None]:
        """Return a tensor as numbers, None where missing."""
        return [None if value != value else value for value in targets.tolist()]

    def describe(self) -> str:
        """Return the bounds, the margin, and a loss that is not the paper's."""
        loss = "" if self.loss == "squared" else f"; {self.loss} error"
        return f"{self.low:g} to {self.high:g}, margin={self.margin:g}{loss}"

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain values for a run's config."""
        return {"task": self.kind, **vars(self)}


Task: TypeAlias = Classes | Range


def class_tasks(tasks: Mapping[str, Task]) -> dict[str, Classes]:
    """Return those of some tasks that ask for a class."""
    return {name: task for name, task in tasks.items() if isinstance(task, Classes)}


def range_tasks(tasks: Mapping[str, Task]) -> dict[str, Range]:
    """Return those of some tasks that ask for a number."""
    return {name: task for name, task in tasks.items() if isinstance(task, Range)}


def tasks_for(targets: Mapping[str, Labels | Bounds]) -> dict[str, Task]:
    """Return the tasks of predicting what a data set has: classes for labels, ranges for numbers.

    Numbers beyond the bounds count as the nearer bound in training, and are scored as they are in
    testing.

    >>> tasks_for({"angle": Bounds(0, 180)})
    {'angle': Range(low=0.0, high=180.0, margin=0.0, outside='clip', weight=1.0, loss='squared')}
    """
    return {
        name: Classes(target.names)
        if isinstance(target, Labels)
        else Range(target.low, target.high, outside="clip")
        for name, target in targets.items()
    }


def task_from_dict(values: dict[str, Any], prototypes: Prototypes | None = None) -> Task:
    """Rebuild a task from its ``to_dict``, with its prototypes where it has any."""
    values = dict(values)
    kind = choose(values.pop("task"), {"classes": Classes, "range": Range}, what="task")
    if kind is Range:
        return Range(**values)
    classes = values.pop("classes")
    values["loss"], values["class_weight"] = (
        get_loss(**values["loss"]),
        values.pop("class_weights", None),
    )
    return Classes(prototypes or classes, **values)


def _first(bad: Tensor, value: str, n: int) -> str:
    """Return where the first bad value is and how many there are."""
    return f"{value} in row {int(bad[0])} ({len(bad)} of {n} rows)"


def _widest(values: Tensor) -> torch.dtype:
    return torch.float32 if values.device.type == "mps" else torch.float64  # MPS has no float64
