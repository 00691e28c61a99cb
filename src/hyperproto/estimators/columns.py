"""What is to be predicted, column by column: classes of any dtype, or numbers between bounds."""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto.losses import ClassLoss
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Classes, Range

__all__ = ["ClassColumn", "Column", "NumberColumn", "column_from_dict"]

PLAIN = (str, int, float, bool)


@dataclass(frozen=True, eq=False)
class ClassColumn:
    """A column of class names: strings, whole numbers, or whatever else can be sorted.

    Attributes
    ----------
    classes : array, shape (num_classes,)
        Sorted, in the dtype the labels came in.
    """

    classes: NDArray[Any]

    @classmethod
    def fit(cls, labels: NDArray[Any]) -> Self:
        """Take note of the classes there are."""
        return cls(np.unique(labels))

    def encode(self, labels: NDArray[Any]) -> Tensor:
        """Return class ids, shape (n,)."""
        found = np.searchsorted(self.classes, labels).clip(0, len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[found] != labels)
        if len(unknown):
            raise InputError(
                f"Every label in `y` must be among the {len(self.classes)} classes known; row {unknown[0]} holds "
                f"{labels.tolist()[unknown[0]]!r}. Name all classes in the first call of partial_fit, or fit anew."
            )
        return torch.from_numpy(found.astype(np.int64))

    def decode(self, ids: Tensor) -> NDArray[Any]:
        """Return class names, shape (n,)."""
        names: NDArray[Any] = self.classes[ids.cpu().numpy()]
        return names

    def task(self, placed: Prototypes, loss: ClassLoss) -> Classes:
        """Return the task for a space."""
        return Classes(placed, loss=loss)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; classes that JSON cannot hold are refused."""
        dtype, values = self.classes.dtype, self.classes.tolist()
        if dtype.kind in "mMSc" or any(not isinstance(value, PLAIN) for value in values):
            raise InputError(
                f"Classes must be strings, numbers or booleans to be saved; got dtype {dtype}. "
                "Use pickle or joblib, or turn them into strings."
            )
        return {"kind": "classes", "dtype": "object" if dtype.kind == "O" else dtype.str, "classes": values}


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers: its bounds are the poles of the sphere.

    Attributes
    ----------
    low, high : float
        No prediction lies beyond them.
    """

    low: float
    high: float

    @classmethod
    def fit(cls, values: NDArray[Any], bounds: Any = None) -> Self:
        """Take the bounds given, or the least and the largest value."""
        if bounds is not None:
            low, high = (check_finite_number(bound, "bounds") for bound in bounds)
            return cls(low, high)
        low, high = float(values.min()), float(values.max())
        if low == high:  # one value has no span, and a range needs one
            half = max(abs(low), 1.0) / 2
            return cls(low - half, high + half)
        return cls(low, high)

    def encode(self, values: NDArray[Any]) -> Tensor:
        """Return numbers, shape (n,), float64."""
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))

    def decode(self, numbers: Tensor) -> NDArray[Any]:
        """Return numbers, shape (n,), float64."""
        return numbers.cpu().double().numpy()

    def task(self, margin: float) -> Range:
        """Return the task for a space; numbers that come later and lie beyond the bounds count as the bounds."""
        return Range(self.low, self.high, margin=margin, outside="clip")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": "number", "low": self.low, "high": self.high}


Column: TypeAlias = ClassColumn | NumberColumn


def column_from_dict(values: dict[str, Any]) -> Column:
    """Rebuild a column from ``to_dict``."""
    if values["kind"] == "number":
        return NumberColumn(float(values["low"]), float(values["high"]))
    dtype = np.dtype(str(values["dtype"]))
    if dtype.kind not in "biufUO":
        raise InputError(f"Stored classes must be strings, numbers or booleans; the file says {dtype}.")
    return ClassColumn(np.array(values["classes"], dtype=dtype))
