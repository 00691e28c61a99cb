"""From what scikit-learn users pass to what a network takes: rows of a table or images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError

__all__ = ["as_dense"]


def as_dense(X: Any) -> NDArray[Any]:
    """Return an array of shape (n, features) or (n, channels, height, width), where ``X`` is sparse a dense copy."""
    dense: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if dense.ndim not in (2, 4):
        raise InputError(
            f"`X` must be a table of shape (n, features) or images of shape (n, channels, height, width); "
            f"got {dense.shape}."
        )
    return dense
