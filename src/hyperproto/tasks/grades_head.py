"""Classes in order, on an arc of the sphere."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hyperproto.prototypes import Prototypes
from hyperproto.tasks.grades import Grades, arc
from hyperproto.tasks.prototype_head import PrototypeHead


class GradesHead(PrototypeHead):
    """Prototypes along an arc, and the median of the probabilities as the prediction."""

    task: Grades

    def predict(self, z: Tensor) -> Tensor:
        """Return the first grade at which half of the probability is reached."""
        below = self.logits(z).softmax(dim=1).cumsum(dim=1) < 0.5
        return below.sum(dim=1).clamp_max(self.task.num_classes - 1)


def place_grades(num_classes: int, dim: int, names: Sequence[str] | None) -> Prototypes:
    """Return the prototypes of grades, with their names."""
    vectors = torch.from_numpy(arc(num_classes, dim))
    return Prototypes.from_tensor(vectors, names=names, method="grades")
