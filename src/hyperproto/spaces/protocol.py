"""What every output space can do, the sphere and its baselines alike."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeAlias

from torch import Tensor, nn

from hyperproto.losses import Reduction

__all__ = ["OutputSpace", "Targets"]

Targets: TypeAlias = Tensor | Mapping[str, Tensor]
"""One tensor where there is one unnamed task, otherwise a tensor for each task's name."""


class OutputSpace(nn.Module, ABC):
    """Where a network's outputs live, how wrong they are, and what they mean.

    A comparison swaps this object and nothing else. Training optimises the parameters of the network *and* of the
    space (a sphere has none), and calls the two hooks, which do nothing by default.
    """

    dim: int
    """Width of the network's output."""

    @abstractmethod
    def losses(self, z: Tensor, targets: Targets, *, reduction: Reduction = "mean") -> Targets:
        """Return the loss of each task, in the form the targets have: one tensor, or one for each name."""

    @abstractmethod
    def predict(self, z: Tensor) -> Targets:
        """Return class ids (int64) or numbers (float), in the form the targets have."""

    def loss(self, z: Tensor, targets: Targets, *, reduction: Reduction = "mean") -> Tensor:
        """Return what training minimises: the sum of the losses of the tasks."""
        losses = self.losses(z, targets, reduction=reduction)
        if isinstance(losses, Tensor):
            return losses
        return sum(losses.values(), start=z.new_zeros(()))

    def counts(self, targets: Targets) -> Targets:
        """Return how much each task's mean is a mean of: the number of labels, or the sum of their weights."""
        if isinstance(targets, Tensor):
            return targets.new_tensor(len(targets))
        return {name: target.new_tensor(len(target)) for name, target in targets.items()}

    def check(self, targets: Targets) -> None:
        """Look at the values of all targets of a data set once; raise a sentence where one cannot be right."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare for an epoch; for spaces that learn from data."""

    def observe(self, z: Tensor, targets: Targets) -> None:
        """Look at a training batch after its step; for spaces that learn from data."""
