"""Measures of predicted classes and numbers.

The paper's two are a sum and a count each, so that parts of a data set can be added up in the training loop.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def accuracy_terms(predicted: Tensor, labels: Tensor) -> tuple[float, int]:
    """Return how many class ids are right, and how many labels are there (not -1). Both shape (n,)."""
    present = labels >= 0
    return int(((predicted == labels) & present).sum()), int(present.sum())


def absolute_error_terms(predicted: Tensor, values: Tensor) -> tuple[float, int]:
    """Return the sum of distances to the values that are there (not NaN), and their number. Both shape (n,)."""
    present = ~values.isnan()
    errors = (predicted.cpu().double() - values.cpu().double()).abs()  # on the CPU: not every device has float64
    return float(errors[present.cpu()].sum()), int(present.sum())


def count_classes(
    predicted: Tensor, labels: Tensor, num_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return support, recall and precision of each class, NaN where it has no example or was never predicted.

    As scikit-learn's ``precision_recall_fscore_support``, also where no label is there.

    >>> support, recall, precision = count_classes(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, -1]), 3)
    >>> support, recall
    (array([2, 1, 0]), array([0.5, 1. , nan]))
    """
    present = labels >= 0
    counted = (labels[present], predicted[present], labels[present & (predicted == labels)])
    support, answers, right = (torch.bincount(ids, minlength=num_classes).numpy() for ids in counted)
    with np.errstate(invalid="ignore"):
        return support, right / support, right / answers


def confusion_pairs(predicted: Tensor, labels: Tensor, *, most: int) -> list[tuple[int, int, int]]:
    """Return the most frequent mistakes as (label, predicted, how often), the most frequent first.

    Memory grows with the examples, while a confusion matrix grows with the square of the classes. Equals are in the
    order of their ids.

    >>> confusion_pairs(torch.tensor([1, 1, 0, 2]), torch.tensor([0, 0, 1, 2]), most=5)
    [(0, 1, 2), (1, 0, 1)]
    """
    wrong = (labels >= 0) & (predicted != labels)
    pairs, counts = torch.unique(torch.stack([labels[wrong], predicted[wrong]], dim=1), dim=0, return_counts=True)
    order = torch.sort(counts, descending=True, stable=True).indices[:most]
    return [(*pair, count) for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True)]


def top_accuracy(top: Tensor, labels: Tensor) -> float:
    """Return the share of labels that are among the k best classes; NaN where no label is there.

    Unlike scikit-learn's it needs only the best classes, and not the scores of all.

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
    return float((top == labels[:, None]).any(dim=1)[labels >= 0].double().mean())


def error_quantiles(predicted: Tensor, values: Tensor, levels: Sequence[float]) -> list[float]:
    """Return quantiles of the absolute error, in the unit of the values; NaN where no value is there.

    The quantile at level q is the smallest error that a share of at least q does not exceed; it did occur.

    >>> error_quantiles(torch.tensor([1.0, 2.0, 3.0, 9.0]), torch.tensor([0.0, 0.0, 0.0, 0.0]), [0.5, 0.95])
    [2.0, 9.0]
    """
    errors = (predicted.cpu().double() - values.cpu().double()).abs()
    errors = errors[~errors.isnan()]
    if not len(errors):
        return [float("nan")] * len(levels)
    # a little less, so that 0.07 * 100 = 7.000000000000001 is still the seventh
    less = np.subtract(levels, 1e-12)
    quantiles: list[float] = np.quantile(errors.numpy(), less, method="inverted_cdf").tolist()
    return quantiles
