"""Whether probabilities mean what they say. Rows whose label is missing (-1) do not count."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hyperproto._core.arrays import Numbers, Values, labelled, to_numbers
from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError

__all__ = [
    "ReliabilityBins",
    "brier_score",
    "calibration_error",
    "expected_calibration_error",
    "negative_log_likelihood",
    "reliability_bins",
]


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """How often the predicted class is right, by how probable it was said to be.

    Attributes
    ----------
    edges : array, shape (bins + 1,)
        From 0 to 1; a bin holds its upper edge.
    counts : array of int64, shape (bins,)
    confidence, accuracy : array, shape (bins,)
        Mean largest probability and share that is right; NaN where a bin is empty.
    """

    edges: Numbers
    counts: npt.NDArray[np.int64]
    confidence: Numbers
    accuracy: Numbers


def reliability_bins(probabilities: Values, labels: Values, *, bins: int = 15) -> ReliabilityBins:
    """Sort examples by their largest probability into bins of equal width.

    Parameters
    ----------
    probabilities : array, shape (n, num_classes)
    labels : array of integers, shape (n,)
    bins : int, default 15

    Examples
    --------
    >>> found = reliability_bins([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4]], [0, 1, 0], bins=2)
    >>> found.counts, found.accuracy.round(3)
    (array([0, 3]), array([  nan, 0.667]))
    """
    array, ids = labelled(probabilities, labels, "probabilities")
    return _sort_into_bins(array.max(axis=1), array.argmax(axis=1) == ids, bins)


def calibration_error(confidence: Values, right: Values, *, bins: int = 15) -> float:
    """Return the expected calibration error of answers whatever they are, from how sure and how right each one is.

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
    sure, hits = to_numbers(confidence, "confidence", ndim=1), to_numbers(right, "right", ndim=1)
    if sure.shape != hits.shape:
        raise InputError(f"`right` must be as many as `confidence`; got {len(hits)} and {len(sure)}.")
    found = _sort_into_bins(sure, hits, bins)
    gaps = np.nan_to_num(np.abs(found.accuracy - found.confidence))
    return float(np.sum(gaps * found.counts) / np.sum(found.counts))


def expected_calibration_error(probabilities: Values, labels: Values, *, bins: int = 15) -> float:
    r"""Return the mean distance between how sure the predictions are and how often they are right.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \bigl| \mathrm{acc}_b - \mathrm{conf}_b \bigr|

    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017. Even of a perfect model it is above 0 for
    finite n, since the shares in the bins scatter.

    Examples
    --------
    >>> round(expected_calibration_error([[0.9, 0.1], [0.8, 0.2]], [0, 1], bins=1), 3)
    0.35
    """
    array, ids = labelled(probabilities, labels, "probabilities")
    return calibration_error(array.max(axis=1), array.argmax(axis=1) == ids, bins=bins)


def negative_log_likelihood(probabilities: Values, labels: Values) -> float:
    """Return the mean of -log p of the right class, in nats; infinite where one was held to be impossible.

    >>> round(negative_log_likelihood([[0.5, 0.5], [1.0, 0.0]], [0, 0]), 4)
    0.3466
    """
    array, ids = labelled(probabilities, labels, "probabilities")
    with np.errstate(divide="ignore"):
        return float(-np.log(array[np.arange(len(ids)), ids]).mean())


def brier_score(probabilities: Values, labels: Values) -> float:
    """Return the mean squared distance between probabilities and the truth as 0 and 1, summed over classes: 0 to 2.

    >>> round(brier_score([[0.75, 0.25]], [0]), 4)
    0.125
    """
    array, ids = labelled(probabilities, labels, "probabilities")
    truth = np.zeros_like(array)
    truth[np.arange(len(ids)), ids] = 1
    return float(np.square(array - truth).sum(axis=1).mean())


def _sort_into_bins(confidence: Numbers, right: npt.NDArray[Any], bins: int) -> ReliabilityBins:
    bins = check_integer(bins, "bins", at_least=1)
    edges = np.linspace(0, 1, bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = (np.bincount(place, weights=held, minlength=bins) / counts for held in (confidence, right))
        return ReliabilityBins(edges, counts, *means)
