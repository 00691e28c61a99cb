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
from hyperproto.data.sparse import from_scipy, is_sparse, parts_of, sparse_rows

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


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Takes each column of a table, or each channel of images, to mean 0 and standard deviation 1.

    Sparse tables are only divided, so that they stay sparse; "global" divides all columns by one number.

    Attributes
    ----------
    mean, scale : array of float64, shape (columns,) or (channels, 1, 1), or () for all columns
        A column that never changes is only shifted: its scale is 1.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, values: Any, weight: NDArray[Any] | None = None, how: Scaling = "columns") -> Self:
        """Measure training data, shape (n, columns) or (n, channels, height, width), each row by its weight.

        Missing values (NaN) in columns do not count. "global" takes the root of the mean square, without a mean.
        """
        if how == "none":
            return cls(np.array(0.0), np.array(1.0))
        if how == "global" or is_sparse(values):
            return cls(np.array(0.0), _root_mean_square(values, weight, how))
        rows = values.astype(np.float64)
        if rows.ndim == 4:
            mean = np.average(rows.mean(axis=(2, 3)), axis=0, weights=weight)
            around = np.square(rows - mean[:, None, None]).mean(axis=(2, 3))
        else:
            mean = _average(rows, weight)
            around = np.square(rows - mean)
        scale = np.sqrt(_average(around, weight))
        tiny = 10 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(scale > tiny, scale, 1.0)
        return cls(mean, scale) if rows.ndim == 2 else cls(mean[:, None, None], scale[:, None, None])

    def __call__(self, values: Any) -> Tensor:
        """Return inputs for a network: rows in the precision they came in, images in float32; NaN becomes 0."""
        if is_sparse(values) and not self.mean.any():
            rows = from_scipy(values)
            columns = rows.col_indices()
            scale = torch.from_numpy(self.scale)
            scaled = rows.values() / (scale[columns] if scale.ndim else scale).to(rows.dtype)
            return sparse_rows(rows.crow_indices(), columns, scaled, rows.shape[1])
        values = values.toarray() if is_sparse(values) else values
        dtype = np.float32 if values.ndim == 4 or values.dtype == np.float32 else np.float64
        scaled = (values - self.mean) / self.scale
        scaled[np.isnan(scaled)] = 0.0
        return torch.from_numpy(np.ascontiguousarray(scaled, dtype=dtype))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild from :meth:`to_dict`."""
        return cls(np.array(values["mean"], dtype=np.float64), np.array(values["scale"], dtype=np.float64))


def _root_mean_square(values: Any, weight: NDArray[Any] | None, how: Scaling) -> NDArray[np.float64]:
    """Return the root of the mean square of each column, shape (columns,), or of all together, shape ()."""
    n, width = values.shape[0], int(np.prod(values.shape[1:]))
    counts = np.ones(n) if weight is None else weight
    if is_sparse(values):
        csr = values.tocsr()
        squares = np.square(csr.data, dtype=np.float64) * np.repeat(counts, np.diff(csr.indptr))
        total = squares.sum() if how == "global" else np.bincount(csr.indices, squares, minlength=width)
    else:
        total = np.nansum(np.square(values.reshape(n, -1), dtype=np.float64).T * counts)
    root = np.asarray(np.sqrt(total / counts.sum() / (width if how == "global" else 1)))
    return np.where(root > 0, root, 1.0)


def _average(rows: NDArray[np.float64], weight: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the weighted mean of each column over its values that are not missing, shape (columns,)."""
    present = ~np.isnan(rows)
    counted = present if weight is None else present * weight[:, None]
    with np.errstate(invalid="ignore"):  # an empty column has no mean
        mean: NDArray[np.float64] = (np.where(present, rows, 0.0) * counted).sum(axis=0) / counted.sum(axis=0)
    return mean


@dataclass(frozen=True)
class TablePreprocessing:
    """Take these columns, fill empty cells with the mean, subtract ``mean`` and divide by ``std``.

    Where cells are not numbers, an ``encoder`` makes the columns of those of the table. The words of a text are
    divided by one number, and stay sparse.
    """

    columns: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    encoder: TableEncoder | None = None

    def __post_init__(self) -> None:
        if not len(self.columns) == len(self.mean) == len(self.std):
            got = f"{len(self.columns)}, {len(self.mean)} and {len(self.std)}"
            raise InputError("columns", f"be as many as {arg('mean')} and {arg('std')}", got)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (columns,)."""
        return (len(self.columns if self.encoder is None else self.encoder.outputs),)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns of a table that are read."""
        return self.columns if self.encoder is None else tuple(column.name for column in self.encoder.columns)

    def standardize(self, rows: Tensor) -> Tensor:
        """Return (rows - mean) / std as float32, shape (n, columns); empty cells (NaN) become the mean, so 0."""
        if rows.ndim != 2 or rows.shape[1:] != self.input_shape:
            raise InputError(
                "Rows of a table", f"have shape (n, {self.input_shape[0]}), one per column", tuple(rows.shape)
            )
        if is_sparse(rows):
            return sparse_rows(*parts_of(rows)[:2], (rows.values() / self.std[0]).float(), rows.shape[1])
        scale = [std if std > 0 else 1.0 for std in self.std]
        return Standardizer(np.array(self.mean), np.array(scale))(rows.double().numpy()).float()

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "table", **{name: value for name, value in asdict(self).items() if value is not None}}


Preprocessing: TypeAlias = ImagePreprocessing | TablePreprocessing


def preprocessing_from_dict(values: Mapping[str, Any]) -> Preprocessing:
    """Rebuild what ``to_dict`` described."""
    fields = dict(values)
    kinds: dict[str, type[Preprocessing]] = {"images": ImagePreprocessing, "table": TablePreprocessing}
    return from_plain(choose(fields.pop("kind", None), kinds, what="preprocessing"), fields)
