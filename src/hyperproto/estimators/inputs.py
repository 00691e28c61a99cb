"""From what scikit-learn users pass to what a network takes: rows of a table or images, standardised."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.errors import InputError

__all__ = ["Standardise", "as_dense"]


def as_dense(X: Any) -> NDArray[Any]:
    """Return an array of shape (n, features) or (n, channels, height, width), where ``X`` is sparse a dense copy."""
    dense: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if dense.ndim not in (2, 4):
        raise InputError(
            f"`X` must be a table of shape (n, features) or images of shape (n, channels, height, width); "
            f"got {dense.shape}."
        )
    return dense


@dataclass(frozen=True, eq=False)
class Standardise:
    """Takes each column of a table, or each channel of images, to mean 0 and standard deviation 1.

    Attributes
    ----------
    mean, scale : array of float64, shape (features,) or (channels, 1, 1)
        Columns that never change are only shifted.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: NDArray[Any], weight: NDArray[Any] | None = None) -> Self:
        """Measure training data, each row by its weight."""
        rows = X.astype(np.float64)
        if X.ndim == 4:
            mean = np.average(rows.mean(axis=(2, 3)), axis=0, weights=weight)
            around = np.square(rows - mean[:, None, None]).mean(axis=(2, 3))
        else:
            mean = np.average(rows, axis=0, weights=weight)
            around = np.square(rows - mean)
        scale = np.sqrt(np.average(around, axis=0, weights=weight))
        tiny = 10 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(scale > tiny, scale, 1.0)
        return cls(mean, scale) if X.ndim == 2 else cls(mean[:, None, None], scale[:, None, None])

    def __call__(self, X: NDArray[Any]) -> Tensor:
        """Return inputs for a network: tables in the precision they came in, images in float32."""
        dtype = np.float32 if X.ndim == 4 or X.dtype == np.float32 else np.float64
        return torch.from_numpy(np.ascontiguousarray((X - self.mean) / self.scale, dtype=dtype))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild from :meth:`to_dict`."""
        return cls(np.array(values["mean"], dtype=np.float64), np.array(values["scale"], dtype=np.float64))
