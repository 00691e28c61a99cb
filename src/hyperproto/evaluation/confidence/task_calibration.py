"""What every calibration can do: describe predictions, report how true that was, and go into a JSON
file.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hyperproto._core.arrays import Numbers, Values
from hyperproto._core.errors import InputError
from hyperproto._core.files import plain
from hyperproto._core.schema import read_plain

NAN = math.nan


class StoredValue:
    """A frozen dataclass that is written as a dict of its fields and its ``kind``; infinity is
    null.
    """

    kind: ClassVar[str] = "calibration"
    kinds: ClassVar[dict[str, type["StoredValue"]]] = {}

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            cls.kind = kind
            StoredValue.kinds[kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        nested = {
            key: v.to_dict() if isinstance(v, StoredValue) else plain(v)
            for key, v in values.items()
        }
        return {"kind": self.kind, **nested}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        kind, where = stored.get("kind", cls.kind), f"A stored {cls.kind}"
        chosen = StoredValue.kinds.get(kind) if isinstance(kind, str) else None
        if chosen is None or not issubclass(chosen, cls):
            raise InputError(where, "be of a known kind", f'"{kind}"', "Calibrate again.")
        nested = {
            name: StoredValue.from_dict(v) for name, v in stored.items() if isinstance(v, Mapping)
        }
        return read_plain(chosen, {**stored, **nested}, where)


@dataclass(frozen=True, eq=False)
class Confidence:
    """What a calibration says about each prediction; None where that was not fitted.

    Attributes
    ----------
    probabilities : array, shape (n, k)
        Of the first k classes, the predicted one first.
    outliers, accepted : array, shape (n,)
        How unusual each input is, and whether it is taken for known.
    set_sizes, set_members : array of int64, shape (n,) and (sum of sizes,)
        Prediction sets: how many classes, and which, row after row, the most probable first.
    intervals : array, shape (n, 2)
        Both ends, for numbers.
    """

    probabilities: Numbers | None = None
    outliers: Numbers | None = None
    accepted: npt.NDArray[np.bool_] | None = None
    set_sizes: npt.NDArray[np.int64] | None = None
    set_members: npt.NDArray[np.int64] | None = None
    intervals: Numbers | None = None

    @classmethod
    def join(cls, parts: Sequence["Confidence"]) -> "Confidence":
        """Return the confidence of batches one after another."""
        columns = {
            field.name: [getattr(part, field.name) for part in parts] for field in fields(cls)
        }
        return cls(
            **{
                name: np.concatenate(column)
                for name, column in columns.items()
                if column[0] is not None
            }
        )


@dataclass(frozen=True)
class ConfidenceReport:
    """Whether stated confidence is true, on labeled data. What was not fitted is NaN.

    Attributes
    ----------
    calibration_error : float
        Expected calibration error of the predicted class's probability, in 15 bins.
    stated_coverage, coverage : float
        How often prediction sets or intervals should contain the truth, and how often they do.
    set_size, width : float
        Mean number of classes in a set; mean width of an interval.
    stated_rejection, rejection : float
        Share of known inputs that may be called unknown, and the share that is.
    """

    calibration_error: float = NAN
    stated_coverage: float = NAN
    coverage: float = NAN
    set_size: float = NAN
    width: float = NAN
    stated_rejection: float = NAN
    rejection: float = NAN


class TaskCalibration(StoredValue, ABC):
    """What was fitted for one task."""

    @abstractmethod
    def describe(
        self,
        predicted: Values,
        scores: Values | None = None,
        strengths: Values | None = None,
        top: Values | None = None,
    ) -> Confidence:
        """Return the confidence of predictions.

        Parameters
        ----------
        predicted : array, shape (n,)
            Class ids or numbers.
        scores : array, shape (n, num_classes), optional
            Logits, for classes.
        strengths : array, shape (n,), optional
            How strongly outputs point at their class.
        top : array of int64, shape (n, k), optional
            The classes to give probabilities of (default: the predicted one).
        """

    @abstractmethod
    def report(
        self, confidence: Confidence, predicted: Values, targets: Values
    ) -> ConfidenceReport | None:
        """Compare confidence with the truth; None where no label is there."""
