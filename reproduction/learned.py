r"""Class vectors that are learned with the network, and ArcFace and CosFace, which are usual on
them.

Both are cross-entropies over scaled cosines that make the own class harder by a margin m:

========  ========================================================================
ArcFace   :math:`s \cos(\theta_y + m)`, and :math:`s (\cos\theta_y - m \sin m)` beyond :math:`\pi - m` [1]_
CosFace   :math:`s (\cos\theta_y - m)` [2]_
========  ========================================================================

Scales and margins are the defaults of pytorch-metric-learning 2.9, whose losses are the same to
rounding; the cost of a step grows with the number of classes.

.. [1] Deng, Guo, Xue, Zafeiriou. "ArcFace: Additive Angular Margin Loss for Deep Face
   Recognition." CVPR 2019.
.. [2] Wang et al. "CosFace: Large Margin Cosine Loss for Deep Face Recognition." CVPR 2018.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_finite_number, check_finite_rows, check_integer
from hyperproto._core.errors import InputError
from hyperproto.losses import ClassLoss, SoftmaxLoss, cross_entropy
from hyperproto.spaces.output_space import TaskSpace, parse_tasks
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks import Classes, Task
from hyperproto.tasks.head import Head

EDGE = 1e-7  # cosines this near to 1 or -1 have no finite gradient of their angle


@dataclass(frozen=True)
class CosFace(SoftmaxLoss):
    """The cosine of the own class counts for less by a margin.

    Parameters
    ----------
    scale : float, default 64.0
        s.
    margin : float, default 0.35
        m.

    Examples
    --------
    >>> CosFace(scale=1.0)(torch.eye(2), torch.eye(2), torch.tensor([0, 1]))  # log(1 + e^-0.65)
    tensor([0.4201, 0.4201])
    """

    scale: float = 64.0
    margin: float = 0.35

    name = "cosface"

    def __post_init__(self) -> None:
        check_finite_number(self.scale, "scale", above=0)
        check_finite_number(self.margin, "margin", at_least=0)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        cosines = normalize(wide) @ prototypes.to(wide.dtype).mT
        places = labels.unsqueeze(1)
        own = self._harder(cosines.gather(1, places))
        return cross_entropy(self.scale * cosines.scatter(1, places, own), labels)

    def _harder(self, cosine: Tensor) -> Tensor:
        """Return what the cosine to the own class counts for."""
        return cosine - self.margin

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return scaled cosines, without a margin."""
        return self.scale * normalize(z) @ prototypes.mT


@dataclass(frozen=True)
class ArcFace(CosFace):
    """The angle to the own class counts for more by a margin, here in radians (default: 28.6°).

    Examples
    --------
    >>> ArcFace(scale=1.0)(torch.eye(2), torch.eye(2), torch.tensor([0, 1]))
    tensor([0.3476, 0.3476])
    """

    margin: float = math.radians(28.6)

    name = "arcface"

    def _harder(self, cosine: Tensor) -> Tensor:
        angle = cosine.clamp(EDGE - 1, 1 - EDGE).acos()
        behind = angle.cos() - self.margin * math.sin(self.margin)
        return torch.where(angle <= math.pi - self.margin, (angle + self.margin).cos(), behind)


class LearnedHead(Head):
    """A class task whose directions, ``vectors`` of shape (num_classes, dim), are parameters."""

    def __init__(self, task: Classes, dim: int, loss: ClassLoss) -> None:
        super().__init__(task, slice(0, dim))
        self.loss = loss
        self.vectors = nn.Parameter(torch.randn(task.num_classes, dim))

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row on the normalized vectors."""
        return self.loss(z, normalize(self.vectors), target)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to every class, shape (n, num_classes)."""
        return normalize(z) @ normalize(self.vectors).mT

    def predict(self, z: Tensor) -> Tensor:
        """Return the class whose vector is nearest."""
        check_finite_rows(z, "z", advice="Look for NaN in the inputs.")
        return self.scores(z).argmax(dim=1)


class LearnedClasses(TaskSpace):
    """A sphere whose class vectors are learned with the network, for any loss of prototypes.

    Parameters
    ----------
    dim : int
        Width of the network's output.
    task : Classes, or a mapping from a name to it
        The one class task.
    loss : ClassLoss
        A loss that gradients flow through into prototypes.

    Examples
    --------
    >>> space = LearnedClasses(2, Classes(3), CosFace())
    >>> [tuple(parameter.shape) for parameter in space.parameters()]
    [(3, 2)]
    """

    kind = "learned"

    def __init__(self, dim: int, task: Task | Mapping[str, Task], loss: ClassLoss) -> None:
        named, bare = parse_tasks(task, {})
        (name, classes), *others = named.items()
        if others or not isinstance(classes, Classes):
            got = ", ".join(map(repr, named.values()))
            raise InputError("Learned classes", "be one class task and no other", got)
        dim = check_integer(dim, "dim", at_least=2)
        super().__init__(dim, {name: LearnedHead(classes, dim, loss)}, bare=bare)
