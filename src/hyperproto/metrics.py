"""Measures of predictions that scikit-learn does not have, as pure functions. Rows without a label
do not count.

The paper's two are a sum and a count each, so that parts of a data set can be added up in the
training loop.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError, arg, require

__all__ = [
    "absolute_error_terms",
    "accuracy_terms",
    "calibration_error",
    "confusion_pairs",
    "count_classes",
    "error_quantiles",
    "false_positive_rate_at",
    "measure_open_set",
    "most_likely",
    "open_set_classification_rate",
    "quadratic_kappa",
    "top_accuracy",
]


def accuracy_terms(predicted: Tensor, labels: Tensor) -> tuple[float, int]:
    """Return how many class ids are right, and how many labels are there (not -1). Both of one
    shape.

    Of probabilities, with one more axis, the label is the most likely class.
    """
    labels = most_likely(labels)
    present = labels >= 0
    return int(((predicted == labels) & present).sum()), int(present.sum())


def most_likely(labels: Tensor) -> Tensor:
    """Return class ids as they are, and of probabilities, shape (..., num_classes), the first
    largest; -1 of NaN.
    """
    if not labels.is_floating_point():
        return labels
    return labels.nan_to_num().argmax(dim=-1).masked_fill(labels.isnan().any(dim=-1), -1)


def absolute_error_terms(predicted: Tensor, values: Tensor) -> tuple[float, int]:
    """Return the sum of distances to the values that are there (not NaN), and their number. Both
    shape (n,).
    """
    present = ~values.isnan()
    errors = (
        predicted.cpu().double() - values.cpu().double()
    ).abs()  # on the CPU: not every device has float64
    return float(errors[present.cpu()].sum()), int(present.sum())


def quadratic_kappa(predicted: Tensor, labels: Tensor) -> float:
    """Return Cohen's kappa with quadratic weights: 1 for no mistake, 0 for what chance gives.

    As scikit-learn's ``cohen_kappa_score(..., weights="quadratic")``, in memory that does not grow
    with the classes. Both of shape (n,), every label there.

    >>> round(quadratic_kappa(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 1, 2])), 3)
    0.8
    """
    told, true = predicted.cpu().double(), labels.cpu().double()
    # the mean square of differences if predictions and labels were drawn independently
    by_chance = told.var(correction=0) + true.var(correction=0) + (told.mean() - true.mean()) ** 2
    return float(2 * ((told - told.mean()) * (true - true.mean())).mean() / by_chance)


def count_classes(
    predicted: Tensor, labels: Tensor, num_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return support, recall and precision of each class, NaN where it has no example or was never
    predicted.

    As scikit-learn's ``precision_recall_fscore_support``, also where no label is there.

    >>> predicted, labels = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, -1])
    >>> support, recall, precision = count_classes(predicted, labels, 3)
    >>> support, recall
    (array([2, 1, 0]), array([0.5, 1. , nan]))
    """
    present = labels >= 0
    counted = (labels[present], predicted[present], labels[present & (predicted == labels)])
    support, chosen, right = (torch.bincount(ids, minlength=num_classes).numpy() for ids in counted)
    with np.errstate(invalid="ignore"):
        return support, right / support, right / chosen


def confusion_pairs(predicted: Tensor, labels: Tensor, *, most: int) -> list[tuple[int, int, int]]:
    """Return the most frequent mistakes as (label, predicted, how often), the most frequent first.

    Memory grows with the examples, while a confusion matrix grows with the square of the classes.
    Equals are in the order of their ids.

    >>> confusion_pairs(torch.tensor([1, 1, 0, 2]), torch.tensor([0, 0, 1, 2]), most=5)
    [(0, 1, 2), (1, 0, 1)]
    """
    wrong = (labels >= 0) & (predicted != labels)
    pairs, counts = torch.unique(
        torch.stack([labels[wrong], predicted[wrong]], dim=1), dim=0, return_counts=True
    )
    order = torch.sort(counts, descending=True, stable=True).indices[:most]
    return [
        (*pair, count)
        for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True)
    ]


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
    """Return quantiles of the absolute error, in the unit of the values; NaN where no value is
    there.

    The quantile at level q is the smallest error that a share of at least q does not exceed; it did
    occur.

    >>> error_quantiles(torch.tensor([1.0, 2.0, 3.0, 9.0]), torch.zeros(4), [0.5, 0.95])
    [2.0, 9.0]
    """
    errors = (predicted.cpu().double() - values.cpu().double()).abs()
    errors = errors[~errors.isnan()]
    if not len(errors):
        return [float("nan")] * len(levels)
    # a little less, so that 0.07 * 100 = 7.000000000000001 is still the seventh
    less = np.subtract(levels, 1e-12)
    return np.quantile(errors.numpy(), less, method="inverted_cdf").tolist()


def calibration_error(confidence: Values, right: Values, *, bins: int = 15) -> float:
    r"""Return the expected calibration error: how far the confidence of predictions is from how
    often they are right.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \bigl| \mathrm{acc}_b - \mathrm{conf}_b \bigr|

    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017. Even of a perfect model it is
    above 0 for finite n, since the shares in the bins scatter.

    Parameters
    ----------
    confidence : array, shape (n,)
        In [0, 1].
    right : array of bool, shape (n,)
    bins : int, default 15

    Examples
    --------
    >>> round(calibration_error([0.9, 0.8], [True, False], bins=1), 3)
    0.35
    """
    stated, hits = to_numbers(confidence, "confidence", ndim=1), to_numbers(right, "right", ndim=1)
    if stated.shape != hits.shape:
        raise InputError(
            "right", f"be as many as {arg('confidence')}", f"{len(hits)} and {len(stated)}"
        )
    edges = np.linspace(0, 1, check_integer(bins, "bins", at_least=1) + 1)
    place = np.clip(
        np.searchsorted(edges, stated, side="left") - 1, 0, bins - 1
    )  # a bin includes its upper edge
    return float(np.abs(np.bincount(place, weights=hits - stated)).sum() / len(stated))


def measure_open_set(known: Values, unknown: Values, right: Values) -> dict[str, float]:
    """Return the four measures that papers on unknown classes print.

    Parameters
    ----------
    known, unknown : array, shape (n,) and (m,)
        Outlier scores, larger for more unusual inputs.
    right : array of bool, shape (n,)
        Whether the class of each known input was predicted rightly.

    Returns
    -------
    dict of float
        "auroc", the chance that an unknown input has a larger score than a known one; "fpr_at_95",
        see :func:`false_positive_rate_at`; "aupr", the average precision of finding unknown inputs,
        which depends on how many there are; "oscr", see :func:`open_set_classification_rate`.
    """
    metrics = require("sklearn.metrics", extra="sklearn", purpose="Measuring unknown classes")
    truth, scores = _detection(known, unknown)
    return {
        "auroc": float(metrics.roc_auc_score(truth, scores)),
        "fpr_at_95": false_positive_rate_at(known, unknown),
        "aupr": float(metrics.average_precision_score(truth, scores)),
        "oscr": open_set_classification_rate(known, unknown, right),
    }


def false_positive_rate_at(known: Values, unknown: Values, *, rate: float = 0.95) -> float:
    """Return the share of unknown inputs accepted by the smallest threshold that accepts ``rate``
    of the known ones.

    Known inputs are the positive ones here, as in the literature; that is "FPR at 95 % TPR".

    >>> false_positive_rate_at([0.1, 0.2, 0.3, 0.4], [0.25, 0.9], rate=0.75)
    0.5
    """
    check_finite_number(rate, "rate", above=0, at_most=1)
    inside = to_numbers(known, "known", ndim=1)
    rank = int(np.ceil(rate * len(inside) - 1e-9))
    return float(
        (to_numbers(unknown, "unknown", ndim=1) <= np.sort(inside)[max(rank, 1) - 1]).mean()
    )


def open_set_classification_rate(known: Values, unknown: Values, right: Values) -> float:
    """Return the share of known inputs accepted and right, averaged over the share of unknown
    inputs accepted.

    The area under the OSCR curve of Dhamija et al., "Reducing Network Agnostophobia", NeurIPS 2018;
    at most the accuracy, which it reaches where every unknown input has a larger score than every
    known one. Equals count half.

    >>> open_set_classification_rate([0.1, 0.4], [0.3, 0.9], [True, True])
    0.75
    """
    metrics = require("sklearn.metrics", extra="sklearn", purpose="Measuring unknown classes")
    inside, hits = (
        to_numbers(known, "known", ndim=1),
        to_numbers(right, "right", ndim=1).astype(bool),
    )
    if hits.shape != inside.shape:
        raise InputError("right", f"be as many as {arg('known')}", f"{len(hits)} and {len(inside)}")
    return (
        float(metrics.roc_auc_score(*_detection(inside[hits], unknown)) * hits.mean())
        if hits.any()
        else 0.0
    )


def _detection(known: Values, unknown: Values) -> tuple[NDArray[np.int64], Numbers]:
    """Return unknown inputs as the positive class, and all scores."""
    inside, outside = to_numbers(known, "known", ndim=1), to_numbers(unknown, "unknown", ndim=1)
    return np.repeat([0, 1], [len(inside), len(outside)]), np.concatenate([inside, outside])
