"""A loss that was tried beyond the paper: no default chooses it, and records of it remain."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto.losses import SoftmaxLoss
from hyperproto.sphere import normalize


@dataclass(frozen=True)
class CauchySoftmax(SoftmaxLoss):
    r"""Cross-entropy of classes whose likelihood falls off as a power of the distance, as Cauchy's
    does.

    .. math:: p(k \mid z) = \frac{(1 + \varepsilon - \cos\theta_{z,k})^{-\beta}}
        {\sum_j (1 + \varepsilon - \cos\theta_{z,j})^{-\beta}}

    With :math:`\varepsilon = (1-\rho)^2 / 2\rho` and :math:`\beta = D - 1` these are the spherical
    Cauchy densities around the prototypes (Kato and McCullagh, 2020). Where cross-entropy over
    scaled cosines knows of a doubtful output only the mean of its prototypes, a power keeps the
    nearest ones and forgets the rest. The cost grows with the number of classes.

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

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return the logarithms of the likelihoods."""
        cosines = normalize(z) @ prototypes.mT
        return -self.power * torch.log((1 + self.width - cosines).clamp_min(self.width))
