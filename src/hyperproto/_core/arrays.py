"""Arrays of numpy from a file, and class ids from whatever holds them."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import InputError, InputTypeError, MissingDataError

Array: TypeAlias = npt.NDArray[Any]
Numbers: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Any  # an array, a tensor, or nested lists


def to_numbers(values: Values, name: str, *, ndim: int, finite: bool = True) -> Numbers:
    """Return numbers from an array, a tensor on any device, or nested sequences, as float64 with
    ``ndim`` axes and at least one entry; ``finite`` also checks the values.
    """
    try:  # a tensor is made double, since numpy has no bfloat16
        array = np.asarray(values.detach().cpu().double() if hasattr(values, "detach") else values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"values of {array.dtype}")
    except (TypeError, ValueError) as error:
        got = f"{type(values).__name__} ({error})"
        raise InputTypeError(name, "be numbers in rows of one length", got) from None
    if array.ndim != ndim or not array.size:
        rule = "be a matrix with at least one row" if ndim == 2 else "be a row of numbers"
        raise InputError(name, rule, f"shape {array.shape}")
    array = array.astype(np.float64)
    if finite and not np.isfinite(array).all():
        rows = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
        got = f"NaN or infinity in {len(rows)} of {len(array)} rows (first: row {rows[0]})"
        raise InputError(name, "be finite", got, "Look for NaN in the inputs.")
    return array


def read_npy(path: Path) -> Array:
    """Return the matrix of numbers in a ``.npy`` file, mapped from the disk: never more than the
    file has.
    """
    if not path.is_file():  # a pipe would be waited for
        raise MissingDataError(f'"{path}"', "be a .npy file", "no such file", "Check the path.")
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(matrix, np.ndarray):
            raise ValueError("it is an archive of arrays, .npz")
    except Exception as error:  # a header is Python source, and its parser raises anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        rule = f"be a readable .npy file of numbers ({reason})"
        raise InputError(f'"{path}"', rule, advice="It may be cut short.") from None
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "fiu":
        got = f"shape {matrix.shape} of {matrix.dtype}"
        raise InputError(
            f'"{path}"', "contain one matrix of numbers, a row for each word or class", got
        )
    return matrix


def to_labels(labels: Values, n: int, num_classes: int) -> npt.NDArray[np.int64]:
    """Return class ids in [-1, num_classes), one per row; -1 is a missing one."""
    array = np.asarray(labels.detach().cpu() if hasattr(labels, "detach") else labels)
    if array.dtype.kind not in "iu":
        raise InputTypeError("labels", "be class ids of an integer dtype", array.dtype)
    if array.shape != (n,):
        raise InputError("labels", f"have shape ({n},), one per row", array.shape)
    if len(array) and not (array.min() >= -1 and array.max() < num_classes):
        wrong = array[(array < -1) | (array >= num_classes)]
        raise InputError("labels", f"lie in [0, {num_classes}), or be -1 where missing", wrong[0])
    return array.astype(np.int64)


def labeled_rows(
    scores: Values, labels: Values, name: str
) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the rows that have a label, shapes (m, num_classes) and (m,); at least one must."""
    array = to_numbers(scores, name, ndim=2)
    ids = to_labels(labels, len(array), array.shape[1])
    present = ids >= 0
    if not present.any():
        raise InputError(
            "labels", "hold at least one that is not missing", f"{len(ids)} missing ones"
        )
    return array[present], ids[present]
