"""A number between two bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError
from hyperproto.tasks.number import LOSSES, NumericTask, present_numbers, widest

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.tasks.pole_head import PoleHead


@dataclass(frozen=True)
class Range(NumericTask):
    """A regression task between two bounds: the target ``cos(z, p_upper) = r`` (Equation 7).

    .. math:: r = (1 - m) \\Bigl( 2\\,\\frac{y - v_l}{v_u - v_l} - 1 \\Bigr)

    Parameters
    ----------
    low, high : float
        The bounds v_l and v_u, typically the extremes of the training targets.
    margin : float or "auto", default "auto"
        m, in [0, 1): keeps targets away from the poles, where all that is not this number vanishes
        and a class direction is undefined. The paper has 0; "auto" is
        :func:`hyperproto.defaults.choose_margin`.
    outside : {"error", "clip"}, default "error"
        What a target beyond the bounds is: a mistake, or the bound itself. On a CPU a mistake is
        raised where the loss is computed; elsewhere ``space.check(targets)`` finds it, since no
        step waits for a device.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    loss : {"auto", "paper", "squared", "absolute"}, default "auto"
        Of the difference between the cosine and r. The paper squares it; "auto" is the absolute
        error, unless a class beside it has a loss of its own (Equation 1 for one).
    """

    low: float
    high: float
    margin: float | Literal["auto"] = "auto"
    outside: Literal["error", "clip"] = "error"
    weight: float = 1.0
    loss: Literal["auto", "paper", "squared", "absolute"] = "auto"

    kind = "range"
    unit_bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("low", "high", "margin", "weight"):  # plain floats: a run stores them
            given = getattr(self, name)
            if name != "margin" or given != "auto":
                object.__setattr__(self, name, check_finite_number(given, name))
        if not self.low < self.high:
            raise InputError("low", "be less than `high`", f"{self.low:g} and {self.high:g}")
        if not (isfinite(self.high - self.low) and isfinite(2 / (self.high - self.low))):
            apart = f"{self.high - self.low:g}"
            advice = "Rescale the numbers."
            raise InputError("high", "be at a distance from `low` that floats hold", apart, advice)
        if self.margin != "auto" and not 0 <= self.margin < 1:
            raise InputError("margin", "lie in [0, 1)", f"{self.margin:g}")
        choose(self.outside, {"error": 0, "clip": 0}, what="rule for targets outside")
        object.__setattr__(self, "loss", choose(self.loss, LOSSES, what="loss of a range"))
        check_finite_number(self.weight, "weight", above=0)

    # -- values --------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        values: Any,
        about: str = "y",
        *,
        bounds: Any = None,
        constant: Literal["error", "widen"] = "error",
        **options: Any,
    ) -> Self:
        """Return the range from the least to the largest value, or between the bounds given.

        Numbers beyond count as the nearer bound in training, and are scored as they are. One value
        alone has no span: that is an error, or a range around it.
        """
        options = {"outside": "clip"} | options
        if bounds is not None:
            low, high = (check_finite_number(bound, "bounds") for bound in bounds)
            return cls(low, high, **options)
        present, _ = present_numbers(values, about, np.ones(np.shape(values)))
        low, high = float(present.min()), float(present.max())
        if low == high and constant == "widen":
            half = max(abs(low), 1.0) / 2
            return cls(low - half, high + half, **options)
        if low == high:
            advice = "A range needs two different bounds: give your own, or leave it out."
            got = f"{low:g} in all of {len(present)} rows"
            raise InputError(about, "vary in the training data", got, advice)
        return cls(low, high, **options)

    @property
    def known_values(self) -> list[Any]:
        """The bounds."""
        return [self.low, self.high]

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds."""
        return self.low, self.high

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return the bounds, and for each part how many numbers are beyond them."""
        found: Plain = {"kind": self.kind, "low": self.low, "high": self.high}
        for part, values in parts.items():
            beyond = int(((values < self.low) | (values > self.high)).sum())
            found[part] = {"beyond": beyond, "missing": int(values.isnan().sum())}
        return found

    # -- targets -------------------------------------------------------------------------------

    @property
    def allowed(self) -> tuple[float, float]:
        """The bounds, or all numbers where those outside are clipped."""
        return self.bounds if self.outside == "error" else super().allowed

    def check_scored(self, targets: Tensor, name: str) -> None:
        """Check numbers that are only scored, which may be out of bounds."""
        replace(self, outside="clip").check(targets, name)

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return the numbers in the dtype they have: the lower bound where missing."""
        return targets if complete else targets.masked_fill(targets.isnan(), self.low)

    # -- the sphere ----------------------------------------------------------------------------

    def to_cosine(self, values: Tensor) -> Tensor:
        """Return r, the cosine each value stands for. Shape (n,), in the dtype of ``values`` if it
        is a float.
        """
        return self._to_cosine(values, self._reach)

    def _to_cosine(self, values: Tensor, reach: float) -> Tensor:
        y = values.to(widest(values))
        if self.outside == "clip":
            y = y.clamp(self.low, self.high)
        # ((y - l) - (u - y)) / (u - l) is 2 (y - l)/(u - l) - 1 with one rounding less
        r = ((y - self.low) - (self.high - y)) * (reach / (self.high - self.low))
        return r.to(values.dtype) if values.is_floating_point() else r.float()

    def from_cosine(self, cosine: Tensor) -> Tensor:
        """Return the value a cosine stands for, never beyond the bounds: the inverse of
        :meth:`to_cosine`.
        """
        return self._from_cosine(cosine, self._reach)

    def _from_cosine(self, cosine: Tensor, reach: float) -> Tensor:
        wide = cosine.to(widest(cosine))
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        value = (middle + wide * (half / reach)).clamp(self.low, self.high)
        return value.to(cosine.dtype)

    def to_units(self, values: Tensor) -> Tensor:
        """Return where values lie between the bounds, which are 0 and 1."""
        return (1 + self._to_cosine(values, 1.0)) / 2

    def from_units(self, units: Tensor) -> Tensor:
        """Return the values, never beyond the bounds."""
        return self._from_cosine(2 * units - 1, 1.0)

    @property
    def _reach(self) -> float:
        """The largest cosine of a target, 1 - m."""
        return 1.0 if self.margin == "auto" else 1 - self.margin

    def head(self, axes: slice, dim: int) -> PoleHead:
        """Put the upper pole on the first of the axes."""
        from hyperproto.tasks.pole_head import PoleHead

        return PoleHead(self, axes, dim)

    def resolved(self, **chosen: Any) -> Self:
        """Return the task with the loss and the margin that "auto" stands for."""
        loss = chosen["number_loss"] if self.loss == "auto" else self.loss
        margin = chosen["margin"] if self.margin == "auto" else self.margin
        return replace(self, loss=loss, margin=margin)

    # -- stored --------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return the bounds, the margin, and a loss that is not the paper's."""
        return f"{self.low:g} to {self.high:g}, margin={self.margin}{self.describe_loss()}"
