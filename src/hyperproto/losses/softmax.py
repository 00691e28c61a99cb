r"""Cross-entropy over all prototypes: classes compete, at a cost that grows with their number."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto.losses.cosine import ClassLoss
from hyperproto.sphere import normalize, working_dtype

DOUBT = 0.001  # what an output at its prototype may leave to the other classes


def simplex_scale(num_classes: int) -> float:
    r"""Return the smallest scale of cosines at which a perfect output is certain of its class, to one decimal.

    .. math:: s = \frac{K-1}{K} \ln \frac{(K-1)(1-e)}{e}, \qquad e = 0.001

    With a smaller scale even an output at its prototype has a large loss: an unscaled softmax over 100 cosines cannot
    give a class more than 2.7 %.

    >>> simplex_scale(100), simplex_scale(2), simplex_scale(1)
    (11.4, 3.5, 1.0)
    """
    if num_classes < 2:
        return 1.0
    others = num_classes - 1
    return round(others / num_classes * math.log(others * (1 - DOUBT) / DOUBT), 1)


@dataclass(frozen=True)
class CosineSoftmax(ClassLoss):
    """Cross-entropy over scaled cosines to all prototypes; learns faster, at a cost that grows with K.

    differs from paper: its own cosine softmax (55.5 % on CIFAR-100) has no scale, ``CosineSoftmax(scale=1)``.

    Parameters
    ----------
    scale : float, optional
        What cosines are multiplied by (default: :func:`simplex_scale` of the number of classes).
    """

    scale: float | None = None

    name = "cosine_softmax"

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_finite_number(self.scale, "scale", above=0)

    def cosine_scale(self, num_classes: int) -> float:
        """Return the scale, or the one that fits the number of classes."""
        return simplex_scale(num_classes) if self.scale is None else float(self.scale)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.cosine_scale(len(prototypes)) * normalize(wide)) @ prototypes.to(wide.dtype).mT
            return torch.nn.functional.cross_entropy(logits, labels, reduction="none")


@dataclass(frozen=True)
class FreeNormSoftmax(ClassLoss):
    r"""Cross-entropy over the products of an output, of any length, with all prototypes.

    .. math:: p(k \mid z) = \frac{\exp(g \, z \cdot p_k)}{\sum_j \exp(g \, z \cdot p_j)}

    Since :math:`z \cdot p_k = |z| \cos\theta_{z,k}` this is :class:`CosineSoftmax` with the length as the scale of
    each output: short where the network is in doubt, long where it is certain. A cosine has no way to say "I do not
    know". The class is still the nearest prototype by angle, and nothing in the output layer is learned. The cost
    grows with the number of classes.

    Parameters
    ----------
    gain : float, default 1.0
        g, by whose square the steps of the last layer grow.
    """

    gain: float = 1.0

    name = "free_norm_softmax"

    def __post_init__(self) -> None:
        check_finite_number(self.gain, "gain", above=0)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.gain * wide) @ prototypes.to(wide.dtype).mT
            return torch.nn.functional.cross_entropy(logits, labels, reduction="none")


@dataclass(frozen=True)
class CauchySoftmax(ClassLoss):
    r"""Cross-entropy of classes whose likelihood falls off as a power of the distance, as Cauchy's does.

    .. math:: p(k \mid z) = \frac{(1 + \varepsilon - \cos\theta_{z,k})^{-\beta}}
        {\sum_j (1 + \varepsilon - \cos\theta_{z,j})^{-\beta}}

    With :math:`\varepsilon = (1-\rho)^2 / 2\rho` and :math:`\beta = D - 1` these are the spherical Cauchy densities
    around the prototypes (Kato and McCullagh, 2020). Where cross-entropy over scaled cosines knows of a doubtful
    output only the mean of its prototypes, a power keeps the nearest ones and forgets the rest. The cost grows with
    the number of classes.

    Parameters
    ----------
    power : float, default 4.0
        β, how fast the likelihood falls.
    width : float, default 0.2
        ε, within which a class is flat.
    """

    power: float = 4.0
    width: float = 0.2

    name = "cauchy_softmax"

    def __post_init__(self) -> None:
        check_finite_number(self.power, "power", above=0)
        check_finite_number(self.width, "width", above=0)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            cosines = normalize(wide) @ prototypes.to(wide.dtype).mT
            logits = -self.power * torch.log((1 + self.width - cosines).clamp_min(self.width))
            return torch.nn.functional.cross_entropy(logits, labels, reduction="none")
