"""Weights of rows, for a training loop that has none."""

from collections.abc import Mapping

from torch import Tensor

from hyperproto.losses import Reduction
from hyperproto.spaces import OutputSpace, Space, Targets

WEIGHT = "\0weight"  # among the targets; no task of an estimator has this name


class WeightedSpace(OutputSpace):
    """A sphere whose targets come with a weight for every row.

    The mean is over rows, not over weights: a batch of heavy rows takes a longer step, as if rows were repeated.
    """

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space, self.dim = space, space.dim

    def losses(self, z: Tensor, targets: Targets, *, reduction: Reduction = "mean") -> Targets:
        """Return the loss of each task, rows by their weights."""
        assert isinstance(targets, Mapping)
        weight = targets[WEIGHT].to(z.dtype)
        own = {name: target for name, target in targets.items() if name != WEIGHT}
        losses = self.space.losses_by_task(
            z, own, reduction="sum" if reduction == "mean" else reduction, sample_weight=weight
        )
        return {name: loss / len(z) for name, loss in losses.items()} if reduction == "mean" else losses

    def predict(self, z: Tensor) -> Targets:
        """Return what the sphere predicts."""
        return self.space.predict(z)
