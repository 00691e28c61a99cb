"""A task's share of an output: which axes it reads, and its mathematics there."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto.prototypes import Prototypes
from hyperproto.tasks.task import Task
from hyperproto.tasks.top_k import TopK

MOVING = threading.Lock()


class Head(nn.Module, ABC):
    """One task on its axes of an output. Rows in, rows out."""

    task: Any  # a Task; a subclass says which
    axes: slice
    class_weight: Tensor | None
    anchored = False
    """Whether a constant axis is appended to its own, so that every output has a direction."""

    def __init__(self, task: Task, axes: slice) -> None:
        super().__init__()
        self.task, self.axes = task, axes
        given = task.class_weight
        weights = torch.tensor(given, dtype=torch.float64) if isinstance(given, tuple) else None
        self.register_buffer("class_weight", weights, persistent=False)

    def balance(self, targets: Tensor, weight: Tensor | None = None) -> None:
        """Take from all training targets what the task leaves open: how rare its classes are, or
        the units of its numbers.
        """
        if self.task.is_open:
            self.task = self.task.balanced(targets, weight)
            if self.weighted:
                weights = torch.tensor(self.task.class_weight, dtype=torch.float64)
                self.class_weight = weights.to(targets.device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Move buffers, and leave their dtype alone: ``half()`` must not blur prototypes."""
        device = fn(torch.empty(0)).device  # raises here where there is no such device
        dtype = torch.float32 if device.type == "mps" else None  # MPS has no float64

        def move(tensor: Tensor) -> Tensor:
            exact = any(tensor is buffer for buffer in self._buffers.values())
            return tensor.to(device, dtype) if exact else fn(tensor)

        with MOVING:  # another thread has the old buffers or the new ones
            super()._apply(move, recurse)  # type: ignore[no-untyped-call]
        return self

    def extra_repr(self) -> str:
        """Describe the task."""
        return self.task.describe()

    def part(self, z: Tensor) -> Tensor:
        """Return the axes it reads; the outputs themselves where those are all: a slice copies
        their gradient.
        """
        return z if self.axes == slice(0, z.shape[1]) else z[:, self.axes]

    @abstractmethod
    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row; every target is there. Shape (n,)."""

    @abstractmethod
    def scores(self, z: Tensor) -> Tensor:
        """Return what the decision is made on, shape (n, num_classes), or (n,) for a number."""

    @abstractmethod
    def predict(self, z: Tensor) -> Tensor:
        """Return predictions as targets are given: class ids, numbers, ..."""

    def best(self, z: Tensor, predicted: Tensor, k: int) -> TopK:
        """Return the k best classes of each output, the predicted one first, and their scores."""
        scores = self.scores(z)
        first = scores.scatter(1, predicted[:, None], torch.inf)  # whatever order equals have
        ids = first.topk(min(k, scores.shape[1]), dim=1).indices
        return TopK(scores.gather(1, ids), ids)

    def logits(self, z: Tensor) -> Tensor:
        """Return what a softmax makes probabilities of, shape (n, num_classes), for an index."""
        return self.scores(z)

    def probabilities(self, z: Tensor) -> Tensor | None:
        """Return the probability of each class, shape (n, num_classes); None for a number."""
        return self.logits(z).softmax(dim=1) if self.task.reads == "index" else None

    @property
    def outlier(self) -> str:
        """Which outlier score suits it; see ``hyperproto.evaluation.confidence``."""
        return "entropy"

    def strength(self, z: Tensor) -> Tensor:
        """Return how strongly each output points at its class: its largest logit. Shape (n,)."""
        return self.logits(z).amax(dim=1)

    @property
    def placed(self) -> Prototypes | None:
        """Its prototypes, where it has any."""
        return None

    @property
    def weighted(self) -> bool:
        """Whether classes have weights."""
        return self.task.class_weight is not None

    def weights(self, target: Tensor) -> Tensor:
        """Return the weight of each row: 0 where the target is missing, else 1 or its class's."""
        present: Tensor = self.task.present(target)
        if self.class_weight is not None:
            return self.task.row_weights(target, self.class_weight) * present
        if self.weighted:
            advice = "hp.fit counts the classes; elsewhere call space.balance(targets) first."
            rule = "be numbers before a loss is computed"
            raise InputError("class_weight", rule, '"balanced"', advice)
        return present
