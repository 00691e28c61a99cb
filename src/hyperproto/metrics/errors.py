"""How far numbers are off, beyond the mean. Missing values (NaN) do not count."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["bias", "error_quantiles", "share_beyond"]


def error_quantiles(predicted: Tensor, values: Tensor, levels: Sequence[float]) -> list[float]:
    """Return quantiles of the absolute error, in the unit of the values; NaN where no value is there.

    The quantile at level q is the smallest error that a share of at least q does not exceed; it did occur.

    Parameters
    ----------
    predicted, values : Tensor, shape (n,)
    levels : sequence of float
        In (0, 1].

    Examples
    --------
    >>> error_quantiles(torch.tensor([1.0, 2.0, 3.0, 9.0]), torch.tensor([0.0, 0.0, 0.0, 0.0]), [0.5, 0.95])
    [2.0, 9.0]
    """
    errors = _differences(predicted, values).abs().sort().values
    if not len(errors):
        return [float("nan")] * len(levels)
    # a little less than q n, so that 0.07 * 100 = 7.000000000000001 is still the seventh
    ranks = [max(1, math.ceil(level * len(errors) - 1e-9)) for level in levels]
    return [float(errors[rank - 1]) for rank in ranks]


def bias(predicted: Tensor, values: Tensor) -> float:
    """Return the mean of predicted minus true, so above 0 where numbers are guessed too large; NaN without values.

    >>> bias(torch.tensor([1.0, 5.0]), torch.tensor([0.0, torch.nan]))
    1.0
    """
    return float(_differences(predicted, values).mean())


def share_beyond(values: Tensor, low: float, high: float) -> float:
    """Return the share of values below ``low`` or above ``high``; no prediction can reach those. NaN without values.

    >>> share_beyond(torch.tensor([0.0, 1.0, 3.0, 4.0]), 0, 3)
    0.25
    """
    there = values[~values.isnan()]
    return float(((there < low) | (there > high)).double().mean())


def _differences(predicted: Tensor, values: Tensor) -> Tensor:
    """Return predicted minus true where there is a true value, shape (m,) of float64."""
    predicted, values = predicted.cpu().double(), values.cpu().double()  # not every device has float64
    return (predicted - values)[~torch.isnan(values)]
