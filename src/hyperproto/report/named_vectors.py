"""What every picture of a placement starts from: unit rows and one name each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_names
from hyperproto._core.errors import InputError

__all__ = ["named_vectors"]


def named_vectors(prototypes: Any, names: Sequence[str] | None) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return unit rows as an array, and one name each: those given, the prototypes' own, or numbers."""
    held = getattr(prototypes, "vectors", prototypes)
    vectors = held.numpy(force=True) if hasattr(held, "numpy") else np.asarray(held)
    if vectors.ndim != 2 or len(vectors) < 2:
        raise InputError(f"`prototypes` must have shape (num_classes, dim), two or more; got {vectors.shape}.")
    names = getattr(prototypes, "names", None) if names is None else names
    names = check_names(names) if names is not None else tuple(map(str, range(len(vectors))))
    if len(names) != len(vectors):
        raise InputError(f"`names` must name each of the {len(vectors)} prototypes; got {len(names)} names.")
    return vectors, names
