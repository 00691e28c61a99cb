"""Plain values in and out of JSON: infinity as null, since JSON has none."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hyperproto._core.arrays import Numbers
from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError

__all__ = ["check_share", "check_threshold", "conformal_quantile", "finite_or_none", "get_field"]


def get_field(held: Mapping[str, Any], key: str, kind: str) -> Any:
    """Return an entry of a dict that was read from a file, or say which one it lacks."""
    if not isinstance(held, Mapping) or key not in held:
        raise InputError(f'A stored {kind} must have the entry "{key}"; it has none. The file may have been edited.')
    return held[key]


def finite_or_none(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None


def check_threshold(value: Any, name: str) -> float:
    """Return a threshold; None stands for infinity."""
    return math.inf if value is None or value == math.inf else check_finite_number(value, name)


def check_share(value: Any, name: str) -> float:
    """Return a share strictly between 0 and 1."""
    share = check_finite_number(value, name, above=0)
    if share >= 1:
        raise InputError(f"`{name}` must be less than 1; got {value!r}. Give a share such as 0.95, not a percentage.")
    return share


def conformal_quantile(scores: Numbers, coverage: float) -> float:
    r"""Return the score that a new one does not exceed with probability at least ``coverage``.

    .. math:: \hat q = s_{(\lceil (n + 1)\, c \rceil)}

    The new score and the n held ones, exchangeable, are equally likely to stand in each of n + 1 places; hence n + 1.
    Where n is too small for the coverage, infinity: only that keeps the promise.
    """
    # a little less, so that 0.9 * 10 = 9.000000000000001 is still the ninth
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return math.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])
