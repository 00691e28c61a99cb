"""The answer "unknown" among class names of any dtype."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["with_unknown"]


def with_unknown(names: NDArray[Any], accepted: NDArray[np.bool_], label: Any = None) -> NDArray[Any]:
    """Return names with a label in the place of those that are not accepted, shape (n,).

    The label is "unknown" for strings and -1 for numbers unless given; where it is of another kind than the names,
    the array holds objects, so that no name changes.

    >>> with_unknown(np.array(["cat", "dog"]), np.array([True, False])).tolist()
    ['cat', 'unknown']
    """
    if label is None:
        label = -1 if names.dtype.kind in "iuf" else "unknown"
    same_kind = names.dtype.kind == np.asarray(label).dtype.kind and names.dtype.kind in "ifU"
    answer: NDArray[Any] = np.where(accepted, names if same_kind else names.astype(object), label)
    return answer
