r"""NTCE and NONL: a prototype attracts the outputs of its class against the other rows of the batch.

In a softmax an output is compared with all prototypes; here the prototype of a row's class is
compared with all rows, so that a step costs :math:`M^2 D` for M rows, whatever the number of
classes:

.. math:: \ell_i = \log \sum_{j \in A_i} e^{p_{y_i} \cdot u_j / \tau} - p_{y_i} \cdot u_i / \tau

with A all rows for NTCE, and those of other classes for NONL. Their authors learn the class
vectors [1]_ (:mod:`~reproduction.learned`); on prototypes the loss is the same.

.. [1] Koromilas, Giannakopoulos, Nicolaou, Panagakis. "Neural Collapse by Design: Learning Class
   Prototypes on the Hypersphere." ICML 2026. ``losses.py`` of github.com/pakoromilas/nc_by_design,
   ``symmetric=True``.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto.losses import ClassLoss
from hyperproto.sphere import normalize, working_dtype


@dataclass(frozen=True)
class NTCE(ClassLoss):
    """Every row of the batch is compared with, those of the same class too.

    Parameters
    ----------
    temperature : float, default 0.1
        τ; their authors take 0.1 to 0.2, and batches of 256 to 512.

    Examples
    --------
    >>> z, prototypes = torch.eye(2), torch.eye(2)
    >>> NTCE(temperature=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1 + 1/e)
    tensor([0.3133, 0.3133])
    """

    temperature: float = 0.1

    name = "ntce"

    def __post_init__(self) -> None:
        check_finite_number(self.temperature, "temperature", above=0)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        if labels.is_floating_point():
            raise InputError("Targets of a loss over a batch", "be class ids", "probabilities")
        u = normalize(z.to(working_dtype(z.dtype)))
        rows = prototypes.index_select(0, labels).to(u.dtype)
        pairs = rows @ u.mT / self.temperature  # (n, n): of a row's prototype with each output
        return torch.logsumexp(self._compared(pairs, labels), dim=1) - pairs.diagonal()

    def _compared(self, pairs: Tensor, labels: Tensor) -> Tensor:
        """Return the pairs in the denominator; others are -inf."""
        return pairs

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return cosines over the temperature."""
        return normalize(z) @ prototypes.mT / self.temperature


@dataclass(frozen=True)
class NONL(NTCE):
    """Only rows of other classes are compared with. A batch of one class has them all in place of
    none, as NTCE has.

    Examples
    --------
    >>> z, prototypes = torch.eye(2), torch.eye(2)
    >>> NONL(temperature=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1/e)
    tensor([-1., -1.])
    """

    name = "nonl"

    def _compared(self, pairs: Tensor, labels: Tensor) -> Tensor:
        same = labels.unsqueeze(1) == labels
        alone = same.all(dim=1, keepdim=True)
        return pairs.masked_fill(same & ~alone, -torch.inf)
