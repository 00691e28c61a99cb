"""Shelf 4: the losses of a class task, and the one table of their names."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hyperproto._core.checks import choose
from hyperproto.defaults import choose_loss
from hyperproto.losses.cosine import (
    ClassLoss,
    PowerCosine,
    Reduction,
    SquaredCosine,
    cosine_loss,
    squared_cosine_grad,
    squared_cosine_loss,
)
from hyperproto.losses.softmax import CauchySoftmax, CosineSoftmax, FreeNormSoftmax, SampledCosineSoftmax

__all__ = [
    "LOSSES",
    "AutoLoss",
    "CauchySoftmax",
    "ClassLoss",
    "CosineSoftmax",
    "FreeNormSoftmax",
    "PowerCosine",
    "Reduction",
    "SampledCosineSoftmax",
    "SquaredCosine",
    "cosine_loss",
    "get_loss",
    "squared_cosine_grad",
    "squared_cosine_loss",
]

LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss
    for loss in (SquaredCosine, CosineSoftmax, FreeNormSoftmax, PowerCosine, CauchySoftmax, SampledCosineSoftmax)
}


@dataclass(frozen=True)
class AutoLoss(ClassLoss):
    """The loss that the library chooses once the number of classes and of axes is known."""

    name = "auto"

    def choose(self, num_classes: int, dim: int) -> ClassLoss:
        """Return the loss for K classes on D axes, by :func:`hyperproto.defaults.choose_loss`."""
        return LOSSES[choose_loss(num_classes, dim)]()

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        return self.choose(*prototypes.shape)(z, prototypes, labels)


def get_loss(name: str, **options: Any) -> ClassLoss:
    """Build a loss by its name.

    Parameters
    ----------
    name : str
        A key of ``LOSSES``, or "auto": :func:`hyperproto.defaults.choose_loss` chooses once there are prototypes.
    **options
        Arguments of the loss.

    Examples
    --------
    >>> get_loss("cosine_softmax", scale=8), get_loss("auto").choose(num_classes=100, dim=10)
    (CosineSoftmax(scale=8), FreeNormSoftmax(gain=1.0))
    """
    return choose(name, LOSSES | {"auto": AutoLoss}, what="loss")(**options)
