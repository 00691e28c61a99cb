"""A number between two bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.defaults import NUMBER_AXES
from hyperproto.tasks.classes import first_row
from hyperproto.tasks.task import Axes, Task, Terms

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto.tasks.pole_head import PoleHead

LOSSES = {"auto": "auto", "paper": "squared", "squared": "squared", "absolute": "absolute"}


@dataclass(frozen=True)
class Range(Task):
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
    reads = "number"
    metric = "mae"
    higher_is_better = False
    missing = nan
    takes_pole = True

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
        numbers = np.asarray(values, dtype=np.float64)
        present = numbers[~np.isnan(numbers)]
        if not len(present):
            rule = "hold numbers in the training data"
            raise InputError(about, rule, "empty cells only", "Leave it out.")
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

    def encode(self, values: Any, about: str = "y", *, unseen: str = "error") -> NDArray[Any]:
        """Return numbers, shape (n,), NaN where missing."""
        return np.array(values, dtype=np.float64)

    def decode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return numbers, shape (n,), NaN where missing."""
        return np.asarray(targets, dtype=np.float64)

    def describe_values(self, parts: Mapping[str, Tensor]) -> dict[str, Any]:
        """Return the bounds, and for each part how many numbers are beyond them."""
        found: dict[str, Any] = {"kind": self.kind, "low": self.low, "high": self.high}
        for part, values in parts.items():
            beyond = int(((values < self.low) | (values > self.high)).sum())
            found[part] = {"beyond": beyond, "missing": int(values.isnan().sum())}
        return found

    # -- targets -------------------------------------------------------------------------------

    def present(self, targets: Tensor) -> Tensor:
        """Return which values are there. Shape (n,), bool."""
        return ~targets.isnan()

    def checks_values(self, targets: Tensor, name: str) -> bool:
        """Return whether every value is there, and raise where one is outside."""
        least, most = targets.aminmax()
        low, high = least.item(), most.item()
        if self.outside == "error" and (low < self.low or high > self.high):
            self.check(targets, name)
        if low == low:
            return True
        if self.outside == "error":
            self.check(targets, name)
        return False

    def check(self, targets: Tensor, name: str) -> None:
        """Check every value: within the bounds, or NaN where it is missing."""
        values = self.check_form(targets, targets.numel(), name)
        rule = f"lie in [{self.low:g}, {self.high:g}]"
        advice = 'Widen the range, or build it with outside="clip".'
        bad = ((values < self.low) | (values > self.high)).nonzero().flatten()
        if self.outside == "clip":
            rule, advice = "be finite, or NaN where missing", "Remove those rows."
            bad = values.isinf().nonzero().flatten()
        if len(bad):
            got = first_row(bad, f"{float(values[bad[0]]):g}", len(values))
            raise InputError(name, rule, got, advice)

    def check_scored(self, targets: Tensor, name: str) -> None:
        """Check numbers that are only scored, which may be out of bounds."""
        replace(self, outside="clip").check(targets, name)

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

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return the numbers in the dtype they have: the lower bound where missing."""
        return targets if complete else targets.masked_fill(targets.isnan(), self.low)

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return the sum of absolute errors, and how many values there are."""
        from hyperproto.metrics import absolute_error_terms

        return {"mae": absolute_error_terms(predicted, targets)}

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the median."""
        return targets.nanmedian().expand(len(targets))

    # -- the sphere ----------------------------------------------------------------------------

    def to_cosine(self, values: Tensor) -> Tensor:
        """Return r, the cosine each value stands for. Shape (n,), in the dtype of ``values`` if it
        is a float.
        """
        y = values.to(widest(values))
        if self.outside == "clip":
            y = y.clamp(self.low, self.high)
        # ((y - l) - (u - y)) / (u - l) is 2 (y - l)/(u - l) - 1 with one rounding less
        r = ((y - self.low) - (self.high - y)) * (self._reach / (self.high - self.low))
        return r.to(values.dtype) if values.is_floating_point() else r.float()

    def from_cosine(self, cosine: Tensor) -> Tensor:
        """Return the value a cosine stands for, never beyond the bounds: the inverse of
        :meth:`to_cosine`.
        """
        wide = cosine.to(widest(cosine))
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        value = (middle + wide * (half / self._reach)).clamp(self.low, self.high)
        return value.to(cosine.dtype)

    @property
    def _reach(self) -> float:
        """The largest cosine of a target, 1 - m."""
        return 1.0 if self.margin == "auto" else 1 - self.margin

    @property
    def axes(self) -> Axes:
        """Eight by itself: on a circle an output on the wrong side cannot get around the poles."""
        return Axes(2, NUMBER_AXES)

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
        loss = "" if self.loss == "squared" else f"; {self.loss} error"
        return f"{self.low:g} to {self.high:g}, margin={self.margin}{loss}"


def widest(values: Tensor) -> torch.dtype:
    """Return float64, or float32 on MPS, which has no float64."""
    import torch

    return torch.float32 if values.device.type == "mps" else torch.float64
