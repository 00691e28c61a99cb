"""Weights of classes and of rows, for a training loop that has none."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.errors import InputTypeError
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.losses import Reduction
from hyperproto.spaces import OutputSpace, Space, Targets

__all__ = ["WEIGHT", "WeightedSpace", "weigh_classes"]

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

    def check(self, targets: Targets) -> None:
        """Check what the sphere takes."""
        assert isinstance(targets, Mapping)
        self.space.check({name: target for name, target in targets.items() if name != WEIGHT})


def weigh_classes(class_weight: Any, classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each label by its class, shape (n,).

    Parameters
    ----------
    class_weight : "balanced" or dict
        "balanced" weighs every class the same altogether; of a dict, classes that are not in it weigh 1.
    classes : array, shape (num_classes,)
        Sorted.
    labels : array, shape (n,)
        Each among the classes.

    Examples
    --------
    >>> weigh_classes("balanced", np.array(["a", "b"]), np.array(["a", "a", "a", "b"])).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    ids = np.searchsorted(classes, labels)
    if isinstance(class_weight, str):
        choose(class_weight, {"balanced": 0}, what="class weight")
        counts = np.bincount(ids, minlength=len(classes))
        even: NDArray[np.float64] = len(labels) / ((counts > 0).sum() * np.maximum(counts, 1))
        return even[ids]
    if not isinstance(class_weight, Mapping):
        raise InputTypeError("class_weight", 'be "balanced", a dict or None', repr(class_weight))
    known = classes.tolist()
    for name in class_weight:
        if name not in known:
            raise unknown_choice(str(name), map(str, known), what="class in `class_weight`")
    weights: NDArray[np.float64] = np.array([float(class_weight.get(name, 1)) for name in known])
    return weights[ids]
