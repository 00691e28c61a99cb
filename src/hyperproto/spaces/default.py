r"""Which loss for K classes in D dimensions, for who does not choose: one rule, from measured short runs.

===================  ==============================  ====================================
dimensions           the loss                        where its cost must not grow with K
===================  ==============================  ====================================
D >= K - 1           :class:`FreeNormSoftmax`        Equation 1, :class:`SquaredCosine`
D < K - 1            :class:`FreeNormSoftmax`        :class:`PowerCosine`, q = 1/2
===================  ==============================  ====================================

Classes must compete, and an output must be able to say that it does not know: products with outputs of any length do
both, at every D. Where the other classes cannot be looked at, it matters how far they are. From D = K - 1 on
prototypes form a simplex, all others are equally far away, and Equation 1 will do; with fewer dimensions a far class
must not count for more than a near one. Beyond 10,000 classes the right column is taken. ``hyperproto reproduce
past-tuning`` compares losses on held-out images, and ``past-short-runs`` tests the rule. The paper's own loss is
:class:`SquaredCosine` at every size.
"""

import math

from hyperproto._core.checks import check_integer
from hyperproto.spaces.free_norm import FreeNormSoftmax
from hyperproto.spaces.heavy_tails import PowerCosine
from hyperproto.spaces.losses import ClassLoss, SquaredCosine

__all__ = ["MANY_CLASSES", "default_loss", "simplex_scale"]

MANY_CLASSES = 10_000  # from here on a sum over all classes costs more than a small network
DOUBT = 0.001  # what an output at its prototype may leave to the other classes


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


def simplex_scale(num_classes: int) -> float:
    r"""Return the least scale of cosines at which an output can be sure of its class, to one decimal.

    .. math:: s = \frac{K-1}{K} \ln \frac{(K-1)(1-e)}{e}, \qquad e = 0.001

    With a smaller one even a perfect output is told off for its doubt; an unscaled softmax over 100 cosines cannot
    give a class more than 2.7 %.

    >>> simplex_scale(100), simplex_scale(2), simplex_scale(1)
    (11.4, 3.5, 1.0)
    """
    if num_classes < 2:
        return 1.0
    others = num_classes - 1
    return round(others / num_classes * math.log(others * (1 - DOUBT) / DOUBT), 1)
