"""Numbers as numpy has them, whether they came from numpy, from torch or from a list."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hyperproto_runtime.errors import InputError, InputTypeError

Numbers: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Any  # an array, a tensor, or nested lists


def to_numbers(values: Values, name: str, *, ndim: int, finite: bool = True) -> Numbers:
    """Return a float64 array with ``ndim`` axes and at least one row; ``finite`` also checks the values."""
    # a tensor is made double, since numpy has no bfloat16
    array = np.asarray(values.detach().cpu().double() if hasattr(values, "detach") else values)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(name, "be numbers", array.dtype)
    if array.ndim != ndim or not len(array):
        shape = "(n, num_classes)" if ndim == 2 else "(n,)"
        raise InputError(name, f"have shape {shape} with at least one row", array.shape)
    array = array.astype(np.float64)
    if finite and not np.isfinite(array).all():
        rows = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
        got = f"NaN or infinity in {len(rows)} of {len(array)} rows (first: row {rows[0]})"
        raise InputError(name, "be finite", got, "Look for NaN in the inputs.")
    return array
