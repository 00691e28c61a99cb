"""What every loss of a class task can do, and the reductions and checks they share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose

__all__ = ["REDUCTIONS", "ClassLoss", "Reduction", "check_labels", "reduce"]

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"mean": torch.mean, "sum": torch.sum, "none": torch.Tensor.clone}


class ClassLoss(ABC):
    """How wrong outputs are about their classes, given fixed prototypes. Losses are frozen dataclasses of numbers."""

    name: ClassVar[str]
    """What options and stored files call it."""

    @abstractmethod
    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,), for outputs (n, dim), unit prototypes (K, dim) and ids (n,)."""

    def cosine_scale(self, num_classes: int) -> float | None:
        """Return what the loss multiplies cosines by in its softmax, None for a loss that does not."""
        return None


def reduce(values: Tensor, reduction: str) -> Tensor:
    """Return the mean, the sum, or the values themselves."""
    return choose(reduction, REDUCTIONS, what="reduction")(values)


def check_labels(labels: Tensor, n: int, *, name: str = "labels") -> None:
    """Check shape and dtype of class labels, not their values."""
    if labels.dtype.is_floating_point or labels.dtype in (torch.bool, torch.complex64, torch.complex128):
        raise InputTypeError(name, "be class ids of an integer dtype", labels.dtype)
    if labels.shape != (n,):
        raise InputError(name, f"have shape ({n},), one per row of `z`", tuple(labels.shape))
