"""The columns of ``y``: classes of any dtype, or numbers between bounds; encoded for a space, and
decoded.
"""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.checks import check_finite_number, unknown_choice
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.data import Bounds

PLAIN = (str, int, float, bool)


@dataclass(frozen=True, eq=False)
class ClassColumn:
    """A column of classes: strings, whole numbers, or whatever else can be sorted.

    Attributes
    ----------
    classes : array, shape (num_classes,)
        Sorted, in the dtype the labels came in.
    """

    classes: NDArray[Any]

    @classmethod
    def fit(cls, labels: NDArray[Any], name: str = "") -> Self:
        """Find the classes in the labels, of which there must be two."""
        classes = np.unique(labels)
        if len(classes) < 2:
            column = f'Column "{name}" of `y`' if name else "y"
            raise InputError(
                column, "hold at least two classes", f"one class, {classes[:1].tolist()[0]!r}"
            )
        return cls(classes)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as strings, by which a prior knows them."""
        return tuple(str(value) for value in self.classes.tolist())

    def encode(self, labels: NDArray[Any]) -> Tensor:
        """Return class ids, shape (n,)."""
        ids = np.searchsorted(self.classes, labels).clip(0, len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[ids] != labels)
        if len(unknown):
            raise InputError(
                "y",
                f"hold only the {len(self.classes)} known classes",
                f"{labels.tolist()[unknown[0]]!r} in row {unknown[0]}",
                "Name all classes in the first call of partial_fit, or fit again.",
            )
        return torch.from_numpy(ids.astype(np.int64))

    def decode(self, ids: Tensor) -> NDArray[Any]:
        """Return classes, shape (n,)."""
        return self.classes[ids.cpu().numpy()]

    def check_kind(self, values: Any) -> NDArray[Any]:
        """Return labels of other classes as an array, which must be of the kind that these classes
        are.
        """
        old = self.classes
        given = np.asarray(values) if old.dtype.kind != "O" else np.asarray(values, dtype=object)
        kinds = "iu" if old.dtype.kind in "iu" else old.dtype.kind
        if given.ndim != 1 or not len(given) or given.dtype.kind not in kinds:
            raise InputError(
                "New classes",
                f"be a list of the same kind as the old ones, such as {old.tolist()[0]!r} ({old.dtype})",
                f"{given.dtype} of shape {given.shape}",
            )
        return given

    def find_new(self, labels: Any) -> NDArray[Any]:
        """Return the new classes among labels, each once: in their order where each occurs once,
        else sorted.
        """
        if labels is None:
            raise InputError(
                "y",
                "hold the classes of the new examples",
                "none",
                f"Or pass {arg('classes', '[...]')}.",
            )
        classes, first = np.unique(self.check_kind(labels), return_index=True)
        is_old = np.isin(classes, self.classes)
        if is_old.any():
            raise InputError(
                "New classes",
                "not be known already",
                repr(classes[is_old].tolist()[0]),
                f"Pass examples of old classes as {arg('replay', '(X, y)')}, or to partial_fit.",
            )
        return classes[np.argsort(first)] if len(first) == len(labels) else classes

    def ids_of(self, classes: Any) -> list[int]:
        """Return the ids of some of the classes."""
        own = self.classes.tolist()
        for value in np.asarray(classes, dtype=object).tolist():
            if value not in own:
                raise unknown_choice(value, self.names, what="class")
        return [own.index(value) for value in classes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; classes that JSON cannot hold are refused."""
        dtype, values = self.classes.dtype, self.classes.tolist()
        if dtype.kind in "mMSc" or any(not isinstance(value, PLAIN) for value in values):
            advice = "Use pickle or joblib, or turn them into strings."
            raise InputError(
                "The classes",
                "be strings, numbers or booleans to be saved",
                f"dtype {dtype}",
                advice,
            )
        return {
            "kind": "classes",
            "dtype": "object" if dtype.kind == "O" else dtype.str,
            "classes": values,
        }


@dataclass(frozen=True)
class NumberColumn(Bounds):
    """A column of numbers, whose bounds are the poles of the sphere: no prediction lies beyond
    them.
    """

    @classmethod
    def fit(cls, values: NDArray[Any], bounds: Any = None) -> Self:
        """Take the bounds given, or the least and the largest value."""
        if bounds is not None:
            low, high = (check_finite_number(bound, "bounds") for bound in bounds)
            return cls(low, high)
        low, high = float(values.min()), float(values.max())
        half = (
            max(abs(low), 1.0) / 2 if low == high else 0.0
        )  # one value has no span, and a range needs one
        return cls(low - half, high + half)

    def encode(self, values: NDArray[Any]) -> Tensor:
        """Return numbers, shape (n,), float64; those beyond the bounds count as the bounds."""
        return torch.from_numpy(np.clip(values, self.low, self.high, dtype=np.float64))

    def decode(self, numbers: Tensor) -> NDArray[Any]:
        """Return numbers, shape (n,), float64."""
        return numbers.cpu().double().numpy()

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
        raise InputError("Stored classes", "be strings, numbers or booleans", f"dtype {dtype}")
    classes = np.array(values["classes"], dtype=dtype)
    if classes.ndim != 1:
        raise InputError("Stored classes", "be a list", f"shape {classes.shape}")
    if dtype.kind == "O" and len({isinstance(value, str) for value in classes.tolist()}) > 1:
        raise InputError("Stored classes", "be strings, or none of them one", classes.tolist())
    return ClassColumn(classes)


def choose_unknown(classes: NDArray[Any], given: Any = None) -> Any:
    """Return the answer for what is none of the classes: "unknown" where they are strings, -1 where
    numbers.

    No class may be called that, since its examples and those of no class would get one answer.

    >>> choose_unknown(np.array(["cat", "dog"]))
    'unknown'
    """
    unknown = given if given is not None else -1 if classes.dtype.kind in "iuf" else "unknown"
    if np.ndim(unknown):
        raise InputTypeError("unknown_label", "be one label", repr(unknown))
    if unknown in classes.tolist():
        rule = f"be none of the classes for {arg('reject')}, which answers with it"
        raise InputError(
            "unknown_label",
            rule,
            repr(unknown),
            f"Pass another, such as {arg('unknown_label', -999)}.",
        )
    return unknown
