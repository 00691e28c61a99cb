r"""Cross-entropy in which the length of an output says how sure it is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto.sphere import working_dtype

__all__ = ["FreeNormSoftmax"]


@dataclass(frozen=True)
class FreeNormSoftmax:
    r"""Cross-entropy over the products of an output, of any length, with all prototypes.

    .. math:: p(k \mid z) = \frac{\exp(g \, z \cdot p_k)}{\sum_j \exp(g \, z \cdot p_j)}

    Since :math:`z \cdot p_k = |z| \cos\theta_{z,k}` this is :class:`~hyperproto.spaces.losses.CosineSoftmax` with
    the length as the scale of each output: short where the network is in doubt, long where it is sure. A cosine has
    no way to say "I do not know". The class is still the nearest prototype by angle, and nothing in the output layer
    is learned. The cost grows with the number of classes.

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
