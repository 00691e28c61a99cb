"""A matrix of numbers from a file of numpy's."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hyperproto_runtime.errors import InputError, MissingDataError

CUT = "It may be cut short."


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Return the matrix of numbers in a ``.npy`` file, mapped from the disk: never more than the file has."""
    if not path.is_file():  # a pipe would be waited for
        raise MissingDataError(f'"{path}"', "be a .npy file", "no such file", "Check the path.")
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(matrix, np.ndarray):
            raise ValueError("it is an archive of arrays, .npz")
    except Exception as error:  # a header is Python source, and its parser raises anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f'"{path}"', f"be a readable .npy file of numbers ({reason})", advice=CUT) from None
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "fiu":
        got = f"shape {matrix.shape} of {matrix.dtype}"
        raise InputError(f'"{path}"', "contain one matrix of numbers, a row for each word or class", got)
    return matrix
