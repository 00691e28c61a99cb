"""What is done to an input before the network sees it: fixed numbers that travel with the model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.checks import check_integer, choose
from hyperproto._core.errors import InputError, arg
from hyperproto._core.schema import from_plain
from hyperproto.data.encoding import TableEncoder
from hyperproto.data.sparse import is_sparse, parts_of, sparse_rows

Scaling: TypeAlias = Literal["columns", "global", "none"]
CIFAR_MEAN, CIFAR_STD = (0.507, 0.487, 0.441), (0.267, 0.256, 0.276)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class ImagePreprocessing:
    """Scale the shorter side to ``resize``, take the center, subtract ``mean`` and divide by ``std``.

    Attributes
    ----------
    size : int
        Height and width the network gets.
    mean, std : tuple of float
        One number per channel, for pixels in [0, 1]; their length is the number of channels (1 or 3).
    resize : int or None
        Length of the shorter side before the center is cut out; None takes images of ``size`` as they are.
    """

    size: int
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    resize: int | None = None

    def __post_init__(self) -> None:
        check_integer(self.size, "size", at_least=1)
        if len(self.mean) != len(self.std):
            raise InputError("mean", f"have one number per channel, as {arg('std')}", f"{self.mean} and {self.std}")
        if self.resize is not None and self.resize < self.size:
            raise InputError("resize", f"be at least {arg('size')}", f"{self.resize} and {self.size}")

    @property
    def channels(self) -> int:
        """How many channels an image has: 1 (gray) or 3 (RGB)."""
        return len(self.mean)

    @property
    def stored_side(self) -> int:
        """Height and width of the square that is stored, before the center or a random part is cut out."""
        return self.resize or self.size

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (channels, size, size)."""
        return self.channels, self.size, self.size

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "images", **asdict(self)}


@dataclass(frozen=True)
class Standardizer:
    """Takes each column of a table, or each channel of images, to mean 0 and standard deviation 1.

    Sparse tables are only divided, so that they stay sparse; "global" divides all columns by one number.

    Attributes
    ----------
    mean, scale : tuple of float
        One per column or channel, or one for all columns. A column that never changes is only shifted: its scale
        is 1.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def fit(cls, values: Any, weight: NDArray[Any] | None = None, how: Scaling = "columns") -> Self:
        """Measure training data, shape (n, columns) or (n, channels, height, width), each row by its weight.

        They are an array, a tensor or sparse rows. "global" takes the root of the mean square, without a mean.
        """
        if how == "none":
            return cls((0.0,), (1.0,))
        if how == "global" or is_sparse(values):
            scale = _root_mean_square(values, weight, how)
            return cls((0.0,), tuple(scale.tolist()))
        rows = np.asarray(values, dtype=np.float64)
        images = rows.ndim == 4
        by_row = rows.mean(axis=(2, 3)) if images else rows
        weights = None if weight is None else np.broadcast_to(weight[:, None], by_row.shape)
        mean = np.average(by_row, axis=0, weights=weights)
        around = np.square(rows - (mean[:, None, None] if images else mean))
        scale = np.sqrt(np.average(around.mean(axis=(2, 3)) if images else around, axis=0, weights=weights))
        tiny = 10 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)
        return cls(tuple(mean.tolist()), tuple(np.where(scale > tiny, scale, 1.0).tolist()))

    def __call__(self, values: Any) -> Tensor:
        """Return inputs for a network: rows in the precision they came in, images in float32."""
        mean, scale = np.array(self.mean), np.array(self.scale)
        if is_sparse(values) and not mean.any():
            starts, columns, entries = parts_of(values)
            divisor = torch.from_numpy(scale)
            entries = entries / (divisor[columns] if len(scale) > 1 else divisor).to(entries.dtype)
            return sparse_rows(starts, columns, entries, values.shape[1])
        values = values.toarray() if is_sparse(values) else np.asarray(values)
        dtype = np.float32 if values.ndim == 4 or values.dtype == np.float32 else np.float64
        if values.ndim == 4:
            mean, scale = mean[:, None, None], scale[:, None, None]
        return torch.from_numpy(np.ascontiguousarray((values - mean) / scale, dtype=dtype))


def _root_mean_square(values: Any, weight: NDArray[Any] | None, how: Scaling) -> NDArray[np.float64]:
    """Return the root of the mean square of each column, shape (columns,), or of all together, shape (1,)."""
    n, width = values.shape[0], int(np.prod(values.shape[1:]))
    counts = np.ones(n) if weight is None else weight
    if is_sparse(values):
        starts, columns, entries = (part.numpy() for part in parts_of(values))
        squares = np.square(entries, dtype=np.float64) * np.repeat(counts, np.diff(starts))
        total = squares.sum() if how == "global" else np.bincount(columns, squares, minlength=width)
    else:
        total = (np.square(np.asarray(values).reshape(n, -1), dtype=np.float64).T * counts).sum()
    root = np.atleast_1d(np.sqrt(total / counts.sum() / (width if how == "global" else 1)))
    return np.where(root > 0, root, 1.0)


@dataclass(frozen=True)
class TablePreprocessing:
    """Make numbers of the cells of a table, then take its columns to one scale; the estimators do the same.

    Attributes
    ----------
    encoder : TableEncoder
        How cells become numbers, and gaps.
    scaling : Standardizer
        As :func:`hyperproto.defaults.choose_scaling` says: the words of a text are divided by one number, and stay
        sparse.
    """

    encoder: TableEncoder
    scaling: Standardizer

    def __post_init__(self) -> None:
        width = len(self.encoder.outputs)
        for numbers in (self.scaling.mean, self.scaling.scale):
            if len(numbers) not in (1, width):
                raise InputError("scaling", f"have one number, or {width}, one per column", len(numbers))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (columns,)."""
        return (len(self.encoder.outputs),)

    def standardize(self, rows: Tensor) -> Tensor:
        """Return encoded rows as the network takes them, shape (n, columns)."""
        if rows.ndim != 2 or rows.shape[1:] != self.input_shape:
            raise InputError(
                "Rows of a table", f"have shape (n, {self.input_shape[0]}), one per column", tuple(rows.shape)
            )
        return self.scaling(rows)

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "table", **asdict(self)}


Preprocessing: TypeAlias = ImagePreprocessing | TablePreprocessing


def preprocessing_from_dict(values: Mapping[str, Any]) -> Preprocessing:
    """Rebuild what ``to_dict`` described."""
    fields = dict(values)
    kinds: dict[str, type[Preprocessing]] = {"images": ImagePreprocessing, "table": TablePreprocessing}
    return from_plain(choose(fields.pop("kind", None), kinds, what="preprocessing"), fields)
