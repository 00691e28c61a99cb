"""A number, without bounds; and what it shares with a number that has some."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.defaults import NUMBER_AXES
from hyperproto.tasks.classes import first_row
from hyperproto.tasks.task import Axes, Task, Terms

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.tasks.number_head import NumberHead

LOSSES = {"auto": "auto", "paper": "squared", "squared": "squared", "absolute": "absolute"}


class NumericTask(Task):
    """A target that is a number, NaN where missing."""

    reads = "number"
    metric = "mae"
    higher_is_better = False
    missing = nan
    takes_pole = True

    unit_bounds: tuple[float, float] = (-inf, inf)
    """The least and the largest number in units of :meth:`to_units`."""

    @abstractmethod
    def to_units(self, values: Tensor) -> Tensor:
        """Return numbers on a scale that a network learns on, in the dtype of ``values``."""

    @abstractmethod
    def from_units(self, units: Tensor) -> Tensor:
        """Return the numbers that :meth:`to_units` made them of."""

    def encode(self, values: Any, about: str = "y", *, unseen: str = "error") -> NDArray[Any]:
        """Return numbers, shape (n,), NaN where missing."""
        return np.array(values, dtype=np.float64)

    def decode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return numbers, shape (n,), NaN where missing."""
        return np.asarray(targets, dtype=np.float64)

    def present(self, targets: Tensor) -> Tensor:
        """Return which values are there. Shape (n,), bool."""
        return ~targets.isnan()

    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check shape and dtype of numbers; whole numbers become floating point."""
        if targets.is_complex() or (
            targets.element_size() == 1 and str(targets.dtype)[6:] == "bool"
        ):
            raise InputTypeError(name, "be real numbers", targets.dtype)
        if targets.shape != (n,):
            rule = f"have shape ({n},), one per row of `z`"
            raise InputError(name, rule, tuple(targets.shape))
        if targets.requires_grad:
            got = "a tensor that requires a gradient"
            raise InputError(name, "be fixed", got, "Detach it.")
        return targets if targets.is_floating_point() else targets.to(widest(targets))

    @property
    def allowed(self) -> tuple[float, float]:
        """The least and the largest number that a target may be; none may be infinite."""
        return -inf, inf

    def checks_values(self, targets: Tensor, name: str) -> bool:
        """Return whether every value is there, and raise where one is not allowed."""
        least, most = (end.item() for end in targets.aminmax())
        lowest, highest = self.allowed
        if not (lowest <= least <= most <= highest and isfinite(least) and isfinite(most)):
            self.check(targets, name)  # also where one is NaN, which hides what the others are
        return bool(least == least)

    def check(self, targets: Tensor, name: str) -> None:
        """Check every value: among those allowed, or NaN where it is missing."""
        values, (lowest, highest) = self.check_form(targets, targets.numel(), name), self.allowed
        outside = (values < lowest) | (values > highest) | values.isinf()
        if len(bad := outside.nonzero().flatten()):
            rule, advice = "be finite, or NaN where missing", "Remove those rows."
            if isfinite(lowest):
                rule = f"lie in [{lowest:g}, {highest:g}]"
                advice = 'Widen the range, or build it with outside="clip".'
            got = first_row(bad, f"{float(values[bad[0]]):g}", len(values))
            raise InputError(name, rule, got, advice)

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return the sum of absolute errors, and how many values there are."""
        from hyperproto.metrics import absolute_error_terms

        return {"mae": absolute_error_terms(predicted, self.aligned(targets, predicted))}

    @staticmethod
    def extremes(parts: Mapping[str, Tensor]) -> Plain:
        """Return the least and the largest number of each part, and how many are missing."""
        found = {}
        for part, values in parts.items():
            known = values[~values.isnan()]
            ends = [float(end) for end in known.aminmax()] if len(known) else [nan, nan]
            found[part] = {"least": ends[0], "most": ends[1], "missing": len(values) - len(known)}
        return found

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the median."""
        return targets.nanmedian().expand(len(targets))

    @property
    def axes(self) -> Axes:
        """Eight by itself: the others let an output say how sure it is."""
        return Axes(2, NUMBER_AXES)

    def describe_loss(self) -> str:
        """Return what a ``repr`` says of a loss that is not the paper's."""
        return "" if self.loss == "squared" else f"; {self.loss} error"


@dataclass(frozen=True)
class Number(NumericTask):
    r"""A regression task without bounds: the tangent of a latitude, in robust units.

    .. math:: y = c + s \, \frac{z_0}{\sqrt{z_1^2 + \dots + z_{D-1}^2 + 1}}

    The output and one constant axis together are a point on a hemisphere of S^D, projected from
    its center onto a plane (a gnomonic projection). A linear network stays linear where it leaves
    the other axes alone; they let it express doubt by shrinking the number toward the median. On a
    sphere that it shares with classes or other numbers it is read like a :class:`Range`, off one
    axis of its own and all later ones; the constant axis is no part of the output.

    Parameters
    ----------
    center, scale : float, optional
        c and s: by default the median and the interquartile range of the training targets, which
        :func:`hyperproto.fit` (or ``space.balance(targets)``) finds.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    loss : {"auto", "squared", "absolute"}, default "auto"
        Of the error in units of s. "auto" is the absolute error, unless a class beside it has a
        loss of its own.

    Examples
    --------
    >>> import torch, hyperproto as hp
    >>> space = hp.Space(3, hp.Number(center=20, scale=5))
    >>> space.predict(torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 0.0, 3.0**0.5]]))
    tensor([20., 30., 25.])
    """

    center: float | None = None
    scale: float | None = None
    weight: float = 1.0
    loss: Literal["auto", "paper", "squared", "absolute"] = "auto"

    kind = "number"

    def __post_init__(self) -> None:
        if (self.center is None) != (self.scale is None):
            got = f"{self.center} and {self.scale}"
            raise InputError("center", "be given together with `scale`", got)
        for name in ("center", "scale", "weight"):  # plain floats: a run stores them
            if getattr(self, name) is not None:
                above = {} if name == "center" else {"above": 0}
                number = check_finite_number(getattr(self, name), name, **above)
                object.__setattr__(self, name, number)
        object.__setattr__(self, "loss", choose(self.loss, LOSSES, what="loss of a number"))

    @classmethod
    def fit(
        cls,
        values: Any,
        about: str = "y",
        *,
        weight: NDArray[Any] | None = None,
        constant: Literal["error", "widen"] = "error",
        **options: Any,
    ) -> Self:
        """Return the number with the median and the interquartile range of some values.

        Where half of them are equal, twice their mean distance from the median takes its place. One
        value alone has no scale: that is an error, or 1.
        """
        weights = np.ones(np.shape(values)) if weight is None else weight
        numbers, weights = present_numbers(values, about, weights)
        low, center, high = np.quantile(
            numbers, (0.25, 0.5, 0.75), weights=weights, method="inverted_cdf"
        ).tolist()
        scale = high - low or 2 * float(np.average(np.abs(numbers - center), weights=weights))
        if scale == 0 and constant == "error":
            got = f"{center:g} in all of {len(numbers)} rows"
            raise InputError(about, "vary in the training data", got, "Leave it out.")
        return cls(center, scale or 1.0, **options)

    @property
    def known_values(self) -> list[Any]:
        """The center and the scale."""
        return [self.center, self.scale]

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return the center and the scale, and for each part its extremes."""
        known = {"kind": self.kind, "center": self.center, "scale": self.scale}
        return {**known, **self.extremes(parts)}

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return the numbers in the dtype they have: the center where missing."""
        return targets if complete else targets.masked_fill(targets.isnan(), self.center or 0.0)

    @property
    def is_open(self) -> bool:
        """Whether the training targets are still to say what its units are."""
        return self.scale is None

    def balanced(self, targets: Tensor, weight: Tensor | None = None) -> Number:
        """Return the task with the median and the interquartile range of the targets."""
        weights = None if weight is None else weight.numpy(force=True)
        found = Number.fit(targets.numpy(force=True), "targets", weight=weights, constant="widen")
        return replace(self, center=found.center, scale=found.scale)

    def to_units(self, values: Tensor) -> Tensor:
        """Return (y - c) / s."""
        center, scale = self._units()
        units = (values.to(widest(values)) - center) / scale
        return units.to(values.dtype) if values.is_floating_point() else units.float()

    def from_units(self, units: Tensor) -> Tensor:
        """Return c + s u."""
        center, scale = self._units()
        return (center + scale * units.to(widest(units))).to(units.dtype)

    def _units(self) -> tuple[float, float]:
        if self.center is None or self.scale is None:
            advice = "hp.fit finds them; elsewhere call space.balance(targets) first."
            rule = f"have a center and a {arg('scale')} before it is used"
            raise InputError("A number", rule, "none", advice)
        return self.center, self.scale

    def head(self, axes: slice, dim: int) -> NumberHead:
        """Read the number off the first of the axes."""
        from hyperproto.tasks.number_head import NumberHead

        return NumberHead(self, axes)

    def resolved(self, **chosen: Any) -> Self:
        """Return the task with the loss that "auto" stands for."""
        return replace(self, loss=chosen["number_loss"]) if self.loss == "auto" else self

    def describe(self) -> str:
        """Return the center, the scale and a loss that is not the paper's."""
        known = (
            "in units to be found" if self.scale is None else f"{self.center:g} ± {self.scale:g}"
        )
        return known + self.describe_loss()


def present_numbers(
    values: Any, about: str, weight: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the numbers that are there, one at least, and their weights."""
    numbers = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(numbers) & (weight > 0)
    if not present.any():
        rule = "hold numbers in the training data"
        raise InputError(about, rule, "empty cells only", "Leave it out.")
    return numbers[present], weight[present]


def widest(values: Tensor) -> torch.dtype:
    """Return float64, or float32 on MPS, which has no float64."""
    import torch

    return torch.float32 if values.device.type == "mps" else torch.float64
