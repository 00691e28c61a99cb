"""The one table of losses by name."""

from typing import Any

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, arg
from hyperproto._core.registry import choose
from hyperproto.losses.class_loss import ClassLoss
from hyperproto.losses.cosine import PowerCosine, SquaredCosine
from hyperproto.losses.sampled import SampledCosineSoftmax
from hyperproto.losses.softmax import CauchySoftmax, CosineSoftmax, FreeNormSoftmax

__all__ = ["LOSSES", "MANY_CLASSES", "default_loss", "get_loss"]

LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss
    for loss in (SquaredCosine, CosineSoftmax, FreeNormSoftmax, PowerCosine, CauchySoftmax, SampledCosineSoftmax)
}
MANY_CLASSES = 10_000  # from here on a sum over all classes costs more than a small network


def get_loss(name: str, *, num_classes: int | None = None, dim: int | None = None, **options: Any) -> ClassLoss:
    """Build a loss by its name.

    Parameters
    ----------
    name : str
        A key of ``LOSSES``, or "auto" for the one that the library chooses for the sizes given.
    num_classes, dim : int, optional
        K and D, the axes of the class task alone; "auto" needs them.
    **options
        Arguments of the loss.

    Examples
    --------
    >>> get_loss("cosine_softmax", scale=8), get_loss("auto", num_classes=100, dim=10)
    (CosineSoftmax(scale=8), FreeNormSoftmax(gain=1.0))
    """
    if name == "auto":
        if num_classes is None or dim is None:
            raise InputError("loss", f"be named where {arg('num_classes')} and {arg('dim')} are not known", '"auto"')
        name = default_loss(num_classes, dim).name
    return choose(name, LOSSES, what="loss")(**options)


def default_loss(num_classes: int, dim: int, *, bounded: bool | None = None) -> ClassLoss:
    """Return the loss for so many classes in so many dimensions.

    Parameters
    ----------
    num_classes, dim : int
        K and D, the axes of the class task alone.
    bounded : bool, optional
        Whether a step must cost the same for any number of classes; beyond 10,000 unless given.

    Examples
    --------
    >>> default_loss(100, 10)
    FreeNormSoftmax(gain=1.0)
    >>> default_loss(100, 100, bounded=True).name, default_loss(100, 10, bounded=True).name
    ('squared_cosine', 'power_cosine')
    """
    num_classes = check_integer(num_classes, "num_classes", at_least=1)
    dim = check_integer(dim, "dim", at_least=1)
    bounded = num_classes > MANY_CLASSES if bounded is None else bounded
    if not bounded:
        return FreeNormSoftmax()
    return SquaredCosine() if dim >= num_classes - 1 else PowerCosine()
