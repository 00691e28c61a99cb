"""The paper's two measures, each as a sum and a count, so that parts of a data set can be added up."""

from torch import Tensor

__all__ = ["absolute_error_terms", "accuracy", "accuracy_terms", "mean_absolute_error"]


def accuracy_terms(predicted: Tensor, labels: Tensor) -> tuple[float, int]:
    """Return how many class ids are right, and how many labels are there (not -1). Both shape (n,)."""
    present = labels >= 0
    return int(((predicted == labels) & present).sum()), int(present.sum())


def absolute_error_terms(predicted: Tensor, values: Tensor) -> tuple[float, int]:
    """Return the sum of distances to the values that are there (not NaN), and their number. Both shape (n,)."""
    present = ~values.isnan()
    errors = (predicted.cpu().double() - values.cpu().double()).abs()  # on the CPU: not every device has float64
    return float(errors[present.cpu()].sum()), int(present.sum())


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Return the share of right class ids among the labels that are there; NaN where none is.

    >>> import torch
    >>> accuracy(torch.tensor([0, 1, 2]), torch.tensor([0, 2, -1]))
    0.5
    """
    return _ratio(*accuracy_terms(predicted, labels))


def mean_absolute_error(predicted: Tensor, values: Tensor) -> float:
    """Return the mean distance to the values that are there, in their own unit; NaN where none is.

    >>> import torch
    >>> mean_absolute_error(torch.tensor([1.0, 5.0]), torch.tensor([3.0, torch.nan]))
    2.0
    """
    return _ratio(*absolute_error_terms(predicted, values))


def _ratio(total: float, count: int) -> float:
    return total / count if count else float("nan")
