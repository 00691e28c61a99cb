"""Numbers as numpy has them, whether they came from numpy, from torch or from a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from hyperproto._core.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Numbers", "Values", "labelled", "to_labels", "to_numbers"]

Numbers: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Union[npt.ArrayLike, "Tensor"]  # a string has no |


def to_numbers(values: Values, name: str, *, ndim: int, finite: bool = True) -> Numbers:
    """Return a float64 array with ``ndim`` axes and at least one row; ``finite`` also looks at the values."""
    held: Any = values
    if hasattr(held, "detach"):
        held = held.detach().cpu().double().numpy()  # numpy has no bfloat16
    array = np.asarray(held)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"`{name}` must be numbers; got {array.dtype}.")
    if array.ndim != ndim or not len(array):
        shape = "(n, num_classes)" if ndim == 2 else "(n,)"
        raise InputError(f"`{name}` must have shape {shape} with at least one row; got {array.shape}.")
    array = array.astype(np.float64)
    if finite and not np.isfinite(array).all():
        rows = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
        raise InputError(
            f"`{name}` must be finite; {len(rows)} of {len(array)} rows are not (first: row {rows[0]}). "
            "Look for NaN in the inputs."
        )
    return array


def to_labels(labels: Values, n: int, num_classes: int) -> npt.NDArray[np.int64]:
    """Return class ids in [-1, num_classes), one per row; -1 is a missing one."""
    held: Any = labels
    array = np.asarray(held.detach().cpu().numpy() if hasattr(held, "detach") else held)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"`labels` must be class ids of an integer dtype; got {array.dtype}.")
    if array.shape != (n,):
        raise InputError(f"`labels` must have shape ({n},), one per row; got {array.shape}.")
    if len(array) and not (array.min() >= -1 and array.max() < num_classes):
        wrong = array[(array < -1) | (array >= num_classes)]
        raise InputError(f"`labels` must lie in [0, {num_classes}), or be -1 where missing; got {wrong[0]}.")
    return array.astype(np.int64)


def labelled(scores: Values, labels: Values, name: str) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the rows that have a label, shapes (m, num_classes) and (m,); at least one must."""
    array = to_numbers(scores, name, ndim=2)
    ids = to_labels(labels, len(array), array.shape[1])
    present = ids >= 0
    if not present.any():
        raise InputError(f"`labels` must hold at least one that is not missing; all {len(ids)} are.")
    return array[present], ids[present]
