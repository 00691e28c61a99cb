r"""Cross-entropy over prototypes: classes compete, at a cost that grows with their number unless they are sampled."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import check_finite_number, check_integer
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


class SoftmaxLoss(ClassLoss):
    """Cross-entropy over logits of all classes; a subclass says what the logits are."""

    @abstractmethod
    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return the logits, shape (n, num_classes), of outputs and prototypes in one precision."""

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return functional.cross_entropy(self.logits(wide, prototypes.to(wide.dtype)), labels, reduction="none")


@dataclass(frozen=True)
class CosineSoftmax(SoftmaxLoss):
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

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return scaled cosines."""
        return (self.cosine_scale(len(prototypes)) * normalize(z)) @ prototypes.mT


@dataclass(frozen=True)
class FreeNormSoftmax(SoftmaxLoss):
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

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return products."""
        return (self.gain * z) @ prototypes.mT


@dataclass(frozen=True)
class CauchySoftmax(SoftmaxLoss):
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

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return the logarithms of the likelihoods."""
        cosines = normalize(z) @ prototypes.mT
        return -self.power * torch.log((1 + self.width - cosines).clamp_min(self.width))


@dataclass(frozen=True)
class SampledCosineSoftmax(ClassLoss):
    r"""Cross-entropy over scaled cosines to the classes of the batch and some others, for all that there are.

    .. math:: \ell_i = -\log \frac{e^{s \cos\theta_{i,y_i}}}{\sum_{k \in B \cup N} w_{ik} e^{s \cos\theta_{i,k}}}

    with B the distinct classes of the batch and N the others. All rows share both, so that the cost is one small
    matrix product whatever the number of classes. The weights w make the sum an estimate of the full one of
    :class:`CosineSoftmax`: the sampled classes share the weight of all that are left out, and a row's own class has
    weight 1.

    Parameters
    ----------
    scale : float, optional
        s (default: that of :class:`CosineSoftmax` for the number of classes).
    negatives : int, default 0
        How many others to draw in each step, from torch's generator; 0 compares the classes of the batch only.

    Examples
    --------
    >>> z, prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> SampledCosineSoftmax(scale=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1 + 2/e)
    tensor([0.5514, 0.5514])
    """

    scale: float | None = None
    negatives: int = 0

    name = "sampled_cosine_softmax"

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_finite_number(self.scale, "scale", above=0)
        check_integer(self.negatives, "negatives", at_least=0)

    def cosine_scale(self, num_classes: int) -> float:
        """Return the scale, or the one that fits the number of classes."""
        return simplex_scale(num_classes) if self.scale is None else float(self.scale)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide, num_classes = z.to(working_dtype(z.dtype)), len(prototypes)
        batch, column = torch.unique(labels, return_inverse=True)
        others = self._draw_others(batch, num_classes)
        rows = prototypes.index_select(0, torch.cat([batch, others])).to(wide.dtype)  # (|B| + |N|, dim)
        weights = rows.new_zeros(len(rows))  # logarithms of w for the rows of other classes
        if len(others):
            weights[len(batch) :] = math.log((num_classes - len(batch)) / len(others))
        elif self.negatives == 0 and len(batch) > 1:
            weights[:] = math.log((num_classes - 1) / (len(batch) - 1))
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.cosine_scale(num_classes) * normalize(wide)) @ rows.mT
            logits = logits + weights.repeat(len(z), 1).scatter_(1, column.unsqueeze(1), 0)
            return functional.cross_entropy(logits, column, reduction="none")

    def _draw_others(self, batch: Tensor, num_classes: int) -> Tensor:
        """Return the ids of distinct classes that are not in the batch."""
        if self.negatives >= num_classes:
            drawn = torch.arange(num_classes, device=batch.device)
        else:  # on the CPU: the same classes on every device, and a stored run holds the state of that generator
            drawn = torch.randint(num_classes, (self.negatives,)).to(batch.device)
        distinct: Tensor = torch.unique(drawn)
        position = torch.searchsorted(batch, distinct).clamp_max(len(batch) - 1)  # both are sorted; isin takes longer
        return distinct[batch[position] != distinct]
