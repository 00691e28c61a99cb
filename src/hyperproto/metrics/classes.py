"""Where a classifier is right and what it takes for what, class by class, without a matrix over all pairs."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["ClassCounts", "confusion_pairs", "count_classes", "top_accuracy"]


class ClassCounts(NamedTuple):
    """Counts for each class, shape (num_classes,) of int64."""

    support: Tensor
    """How many labels name it."""

    predicted: Tensor
    """How often it was predicted where a label is there."""

    right: Tensor
    """How often rightly."""

    @property
    def recall(self) -> Tensor:
        """The share of its examples that are found, the accuracy of the class; NaN where it has none."""
        return self.right.double() / self.support

    @property
    def precision(self) -> Tensor:
        """The share of right ones among those predicted; NaN where it never was."""
        return self.right.double() / self.predicted


def count_classes(predicted: Tensor, labels: Tensor, num_classes: int) -> ClassCounts:
    """Count predictions class by class; missing labels (-1) do not count.

    Parameters
    ----------
    predicted, labels : Tensor of int64, shape (n,)
    num_classes : int

    Examples
    --------
    >>> counts = count_classes(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, -1]), 3)
    >>> counts.support, counts.recall
    (tensor([2, 1, 0]), tensor([0.5000, 1.0000,    nan], dtype=torch.float64))
    """
    present = labels >= 0
    predicted, labels = predicted[present], labels[present]

    def count(ids: Tensor) -> Tensor:
        return torch.bincount(ids, minlength=num_classes)

    return ClassCounts(count(labels), count(predicted), count(labels[predicted == labels]))


def confusion_pairs(predicted: Tensor, labels: Tensor, *, most: int) -> list[tuple[int, int, int]]:
    """Return the most frequent mistakes as (label, predicted, how often), the most frequent first.

    Memory grows with the examples and not with the square of the classes. Equals stand in the order of their ids.

    >>> confusion_pairs(torch.tensor([1, 1, 0, 2]), torch.tensor([0, 0, 1, 2]), most=5)
    [(0, 1, 2), (1, 0, 1)]
    """
    wrong = (labels >= 0) & (predicted != labels)
    pairs, counts = torch.unique(torch.stack([labels[wrong], predicted[wrong]], dim=1), dim=0, return_counts=True)
    order = torch.sort(counts, descending=True, stable=True).indices[:most]
    return [(*pair, count) for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True)]


def top_accuracy(top: Tensor, labels: Tensor) -> float:
    """Return the share of labels that are among the first guesses; NaN where no label is there.

    Parameters
    ----------
    top : Tensor of int64, shape (n, k)
        The k best class ids of each example.
    labels : Tensor of int64, shape (n,)

    Examples
    --------
    >>> top_accuracy(torch.tensor([[0, 1], [2, 1]]), torch.tensor([1, 0]))
    0.5
    """
    present = labels >= 0
    found = (top == labels[:, None]).any(dim=1)
    count = int(present.sum())
    return int((found & present).sum()) / count if count else float("nan")
