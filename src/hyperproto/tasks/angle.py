"""A number that wraps around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hyperproto._core.checks import check_finite_number, choose
from hyperproto._core.errors import InputError
from hyperproto.tasks.number import NumericTask, present_numbers, widest
from hyperproto.tasks.task import Axes

if TYPE_CHECKING:
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.tasks.angle_head import AngleHead

LOSSES = {name: name for name in ("auto", "paper", "free_norm")}
STEPS = 720  # of a turn, in which the baseline is looked for


@dataclass(frozen=True)
class Angle(NumericTask):
    r"""What wraps around, such as a direction or an hour: a point on a circle of the sphere.

    .. math:: p(y) = (\cos \alpha, \sin \alpha, 0, \dots), \quad \alpha = 2 \pi y / T

    The target is a prototype that moves with the number. There is no seam: 359 degrees are as near
    to 1 as 3 are.

    Parameters
    ----------
    period : float, default 360
        T, after which numbers repeat: 360 for degrees, 24 for hours.
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    loss : {"auto", "paper", "free_norm"}, default "auto"
        "paper" is Equation 1, :math:`(1 - \cos)^2`. "free_norm" is the loss of
        :class:`~hyperproto.losses.FreeNormSoftmax` over all points of the circle in place of K
        prototypes, :math:`\log I_0(g |z|) - g z \cdot p(y)` with :math:`g = 3`: the likelihood of
        von Mises, in which a short output says that the network is in doubt. "auto" is that, unless
        a class beside it has a loss of its own.

    Examples
    --------
    >>> import torch, hyperproto as hp
    >>> space = hp.Space(2, hp.Angle(24))
    >>> space.predict(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    tensor([ 0.,  6., 18.])
    """

    period: float = 360.0
    weight: float = 1.0
    loss: Literal["auto", "paper", "free_norm"] = "auto"

    kind = "angle"
    takes_pole = False
    unit_bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("period", "weight"):  # plain floats: a run stores them
            number = check_finite_number(getattr(self, name), name, above=0)
            object.__setattr__(self, name, number)
        choose(self.loss, LOSSES, what="loss of an angle")

    @classmethod
    def fit(cls, values: Any, about: str = "y", **options: Any) -> Self:
        """Return the angle of a period, where there is a number at least."""
        present_numbers(values, about, np.ones(np.shape(values)))
        return cls(**options)

    @classmethod
    def read_option(cls, text: str) -> dict[str, Any]:
        """Return the period that stands behind a column on the command line."""
        try:
            return {"period": float(text)} if text else {}
        except ValueError:
            advice = "Write the column, =, and the number at which it starts again."
            raise InputError("period", "be a number", f'"{text}"', advice) from None

    @property
    def known_values(self) -> list[Any]:
        """The period."""
        return [self.period]

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return the period, and for each part its extremes."""
        return {"kind": self.kind, "period": self.period, **self.extremes(parts)}

    def ready(self, targets: Tensor, dtype: Any, *, complete: bool = False) -> Tensor:
        """Return the numbers in the dtype they have: 0 where missing."""
        return targets if complete else targets.masked_fill(targets.isnan(), 0.0)

    def aligned(self, targets: Tensor, predicted: Tensor) -> Tensor:
        """Return the numbers whole turns away that are nearest to the predictions."""
        true, told = targets.to(widest(targets)), predicted.to(widest(predicted))
        turns = ((told - true) / self.period).round()
        return true + self.period * turns

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the circular median, to half a degree of 360."""
        import torch

        cells = (self.to_units(targets[self.present(targets)]) * STEPS).long().clamp_max(STEPS - 1)
        counts = cells.bincount(minlength=STEPS).double()
        steps = torch.arange(STEPS, device=targets.device)
        apart = (steps - steps[:, None]).abs()
        errors = torch.minimum(apart, STEPS - apart).double() @ counts
        best = (errors.argmin() + 0.5) * (self.period / STEPS)
        return best.to(targets.dtype).expand(len(targets))

    def to_units(self, values: Tensor) -> Tensor:
        """Return shares of a turn, in [0, 1)."""
        turns = values.to(widest(values)) / self.period
        shares = turns - turns.floor()
        return shares.to(values.dtype) if values.is_floating_point() else shares.float()

    def from_units(self, units: Tensor) -> Tensor:
        """Return the numbers, at least 0 and less than the period."""
        turns = units.to(widest(units))
        values = ((turns - turns.floor()) * self.period).to(units.dtype)
        return values.where(values < self.period, 0.0)

    def head(self, axes: slice, dim: int) -> AngleHead:
        """Put the circle on the first two of the axes."""
        from hyperproto.tasks.angle_head import AngleHead

        return AngleHead(self, axes)

    def resolved(self, **chosen: Any) -> Self:
        """Return the task with the loss that "auto" stands for."""
        losses: dict[str, Any] = {"absolute": "free_norm", "squared": "paper"}
        return replace(self, loss=losses[chosen["number_loss"]]) if self.loss == "auto" else self

    def describe(self) -> str:
        """Return the period and the loss."""
        return f"period {self.period:g}; {self.loss}"

    @property
    def axes(self) -> Axes:
        """Two, of the circle."""
        return Axes(2, 2)
