r"""DL2PA: prototypes stay where they are, and classes move among them while a network learns.

A running direction :math:`q_k` is kept for every class. Before every epoch but the first, classes
are matched to prototypes so that the sum of :math:`q_k \cdot p_{\pi(k)}` is largest (the Hungarian
method); the loss is Equation 1 on the prototypes of that match [1]_.

After each batch :math:`q_k \leftarrow (1.9\, q_k + 0.1\, \bar u_k) / |\dots|`, the weights of its
authors' code, which adds nine tenths of :math:`q_k` to :math:`q_k`; with :math:`\bar u_k` the mean
direction of the outputs of class k in the batch, where their code has that of one of them. It
applies batch norm to outputs on long-tailed data only; on CIFAR-100 it does not.

.. [1] Saadabadi, Dabouei, Malakshan, Nasrabadi. "Hyperspherical Classification with Dynamic
   Label-to-Prototype Assignment." CVPR 2024. ``fixed.py``, ``train.py`` and
   ``Prototype_Estimation.py`` of github.com/msed-Ebrahimi/DL2PA_CVPR24.
"""

from collections.abc import Mapping

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hyperproto.spaces import Space, Targets
from hyperproto.spaces.output_space import by_name
from hyperproto.sphere import normalize
from hyperproto.tasks import Task
from hyperproto.tasks.prototype_head import PrototypeHead

KEPT, ADDED = 1.9, 0.1


class ReassignedSpace(Space):
    """A sphere with one class task, whose classes are matched to its prototypes again and again.

    Attributes
    ----------
    directions : Tensor, shape (num_classes, dim)
        The running direction of each class, zero before its first example; a buffer, as are the
        prototypes in the order of their classes.

    Examples
    --------
    >>> from hyperproto import Classes, Prototypes
    >>> space = ReassignedSpace(2, Classes(Prototypes.one_hot(2, 2), loss="paper"))
    >>> space.observe(torch.tensor([[0.0, 1.0], [1.0, 0.1]]), torch.tensor([0, 1]))
    >>> space.begin_epoch(1)
    >>> space.prototypes.vectors.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    kind = "reassigned"
    directions: Tensor

    def __init__(self, dim: int, task: Task | Mapping[str, Task]) -> None:
        super().__init__(dim, task, separate=False)
        self.register_buffer("directions", torch.zeros_like(self._class_head.prototypes))

    @property
    def _class_head(self) -> PrototypeHead:
        (head,) = self.named_heads().values()
        assert isinstance(head, PrototypeHead)
        return head

    def begin_epoch(self, epoch: int) -> None:
        """Match classes to prototypes by the directions so far."""
        if epoch > 0:
            head = self._class_head
            gains = (self.directions @ head.prototypes.mT).numpy(force=True)
            _, places = linear_sum_assignment(gains, maximize=True)
            head.prototypes = head.prototypes[torch.from_numpy(places).to(head.prototypes.device)]

    @torch.no_grad()
    def observe(self, z: Tensor, targets: Targets) -> None:
        """Turn the directions of the classes of a batch toward its outputs."""
        (labels,) = by_name(targets).values()
        known = labels >= 0
        u = normalize(z[known].to(self.directions.dtype))
        sums = torch.zeros_like(self.directions).index_add_(0, labels[known], u)
        seen = sums.abs().sum(dim=1, keepdim=True) > 0
        turned = normalize(KEPT * self.directions + ADDED * normalize(sums))
        self.directions = torch.where(seen, turned, self.directions)
