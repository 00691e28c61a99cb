r"""Losses that forgive what is far away, for spheres with fewer dimensions than classes.

An uncertain network should point where the most probable class is nearest. Equation 1 does not lead there when
prototypes are crowded: a square grows fastest for the classes that are farthest, so that improbable ones pull the
output away from the probable one. Both losses here grow slowly with distance. :class:`PowerCosine` keeps the form of
Equation 1, looks at one prototype and costs the same for any number of classes; :class:`CauchySoftmax` lets the
classes compete.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto.sphere import normalize, working_dtype

__all__ = ["CauchySoftmax", "PowerCosine"]


@dataclass(frozen=True)
class PowerCosine:
    r"""Equation 1 with another exponent: the wish ``cos(z, p_y) = 1``, and how much a far miss counts.

    .. math:: \ell_i = \bigl(1 + \varepsilon - \cos\theta_{z_i,\,p_{y_i}}\bigr)^q

    Parameters
    ----------
    q : float, default 0.5
        2 is the paper (:class:`~hyperproto.spaces.losses.SquaredCosine` is the same, fused); the less, the less a far
        class counts. Its cost does not depend on the number of classes.
    floor : float, default 1e-4
        ε, which keeps the gradient of a root finite at the prototype.
    """

    q: float = 0.5
    floor: float = 1e-4

    name = "power_cosine"

    def __post_init__(self) -> None:
        check_finite_number(self.q, "q", above=0)
        check_finite_number(self.floor, "floor", at_least=0)
        if self.q < 1 and self.floor == 0:
            raise InputError(f"`floor` must be greater than 0 for q = {self.q:g}: a root is steep at 0. Try 1e-4.")

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        u = normalize(z.to(working_dtype(z.dtype)))
        cosine = (u * prototypes.index_select(0, labels).to(u.dtype)).sum(dim=1)
        return (1 + self.floor - cosine).clamp_min(self.floor) ** self.q


@dataclass(frozen=True)
class CauchySoftmax:
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
