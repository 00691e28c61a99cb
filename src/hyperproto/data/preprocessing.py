"""What is done to an input before the network sees it: fixed numbers that travel with the model.

Sparse rows are tensors in torch's CSR layout, of which rows can be taken and joined; never made
dense as a whole.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from torch import Tensor

from hyperproto._core.arrays import Array, Numbers, Values
from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain
from hyperproto._core.schema import from_plain
from hyperproto.defaults import HEAVY_TAILS, choose_bins
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.runtime.tables import TableEncoder

Scaling: TypeAlias = Literal["binned", "robust", "columns", "global", "none"]
CIFAR_MEAN, CIFAR_STD = (0.507, 0.487, 0.441), (0.267, 0.256, 0.276)


@dataclass(frozen=True)
class Standardizer:
    """Takes each column of a table, or each channel of images, to mean 0 and standard deviation 1.

    Columns of zeros and ones stay as they are: divided by its standard deviation, a rare category
    would become the largest number of its row. Sparse tables are only divided, so that they stay
    sparse; "global" divides all columns by one number. "robust" bends columns with heavy tails
    first, or a few rows would take all of their range: x becomes asinh((x - center) / bend), which
    is a straight line near the center and a logarithm far from it.

    "binned" does that, and where there are rows enough it adds the piecewise linear encoding of
    Gorishniy et al. (2022): behind all others, a column for each bin from one knot k to the next
    that says how far x is through it, clip((x - k_t) / (k_(t+1) - k_t), 0, 1). So one linear layer
    can turn at every knot, as a tree splits there.

    Attributes
    ----------
    mean, scale : tuple of float
        One per column or channel, or one for all columns. A column that never changes is only
        shifted: its scale is 1.
    center, bend : tuple of float
        One per column, 0 where it is not bent; nothing where none is.
    knots : tuple of tuple of float
        The ends of its bins for each column, in order, none where it has no bins; nothing where no
        column has.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    center: tuple[float, ...] = ()
    bend: tuple[float, ...] = ()
    knots: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def fit(cls, values: Values, weight: Array | None = None, how: Scaling = "columns") -> Self:
        """Measure training data, shape (n, columns) or (n, channels, height, width), each row by
        its weight.

        They are an array, a tensor or sparse rows. "global" takes the root of the mean square,
        without a mean.
        """
        if how == "none":
            return cls((0.0,), (1.0,))
        if how == "global" or is_sparse(values):
            return cls((0.0,), _root_mean_square(values, weight, how))
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim == 4:  # a row for each pixel
            pixels = rows.shape[2] * rows.shape[3]
            rows = rows.swapaxes(0, 1).reshape(rows.shape[1], -1).T
            weight = None if weight is None else np.repeat(weight, pixels)
            mean, scale = _moments(rows, weight)
            return cls(tuple(mean.tolist()), tuple(scale.tolist()))
        bent = cls((), ())
        if how != "columns":
            tails = _tails(rows, weight)
            bent = cls((), (), *tails, _knots(rows, weight) if how == "binned" else ())
        mean, scale = _moments(bent._bent(rows), weight)
        indicator = _are_indicators(rows)
        mean, scale = np.where(indicator, 0.0, mean), np.where(indicator, 1.0, scale)
        return replace(bent, mean=tuple(mean.tolist()), scale=tuple(scale.tolist()))

    def check_width(self, width: int) -> Self:
        """Return itself where it fits inputs of so many columns or channels."""
        for numbers in (self.mean, self.scale):
            if len(numbers) not in (1, width):
                raise InputError(
                    "scaling", f"have one number, or {width}, one per column", len(numbers)
                )
        if len(self.center) != len(self.bend) or len(self.bend) not in (0, width):
            got = f"{len(self.center)} and {len(self.bend)}"
            raise InputError(
                "scaling", f"have centers and bends of no column, or of all {width}", got
            )
        if len(self.knots) not in (0, width):
            raise InputError(
                "scaling", f"have knots of no column, or of all {width}", len(self.knots)
            )
        for knots in self.knots:
            if len(knots) == 1 or not all(
                0 < high - low < math.inf for low, high in pairwise(knots)
            ):
                raise InputError(
                    "The knots of a column",
                    "be none, or increase from the first to the last",
                    knots,
                )
        return self

    def out_width(self, width: int) -> int:
        """Return the columns that it makes of so many."""
        return width + len(self.bins[0])

    @cached_property
    def bins(self) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """For each bin its column, where it starts, and how wide it is. Shapes (bins,)."""
        found = [
            (i, low, high - low)
            for i, knots in enumerate(self.knots)
            for low, high in pairwise(knots)
        ]
        column, start, width = np.array(found, dtype=np.float64).reshape(-1, 3).T.copy()
        return column.astype(np.intp), start, width

    def __call__(self, values: Values) -> Tensor:
        """Return inputs for a network: images and rows with bins in float32, other rows as precise
        as they came.
        """
        mean, scale = np.array(self.mean), np.array(self.scale)
        if is_sparse(values) and not mean.any() and not self.knots:
            starts, columns, entries = parts_of(values)
            divisor = torch.from_numpy(scale).expand(values.shape[1])[columns]
            return sparse_rows(
                starts, columns, entries / divisor.to(entries.dtype), values.shape[1]
            )
        values = values.toarray() if is_sparse(values) else np.asarray(values)
        is_single = values.ndim == 4 or self.knots or values.dtype == np.float32
        if values.ndim == 4:
            mean, scale = mean[:, None, None], scale[:, None, None]
        scaled = (self._bent(values) - mean) / scale
        if self.knots:
            column, start, width = self.bins
            scaled = np.hstack([scaled, ((values[:, column] - start) / width).clip(0, 1)])
        return torch.from_numpy(
            np.ascontiguousarray(scaled, dtype=np.float32 if is_single else np.float64)
        )

    def _bent(self, values: Array) -> Array:
        """Return rows with their heavy tails bent."""
        if not self.bend:
            return values
        bend, rows = np.array(self.bend), values.astype(np.float64)
        heavy = np.flatnonzero(bend)
        rows[:, heavy] = np.arcsinh((rows[:, heavy] - np.array(self.center)[heavy]) / bend[heavy])
        return rows


def _moments(rows: Array, weight: Array | None) -> tuple[Numbers, Numbers]:
    """Return the mean and the standard deviation of each column, 1 where it never changes."""
    mean = np.average(rows, axis=0, weights=weight)
    scale = np.sqrt(np.average(np.square(rows - mean), axis=0, weights=weight))
    tiny = 10 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(scale > tiny, scale, 1.0)


def _are_indicators(rows: Array) -> NDArray[np.bool_]:
    """Return which columns hold zeros and ones alone. Shape (columns,)."""
    return np.asarray(np.isin(rows, (0, 1)).all(axis=0))


def _tails(rows: Array, weight: Array | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the center and the bend of each column, nothing where no column has heavy tails.

    The bend is the median distance from the median, of values that differ from it: for a normal
    distribution .67 standard deviations. Where it is less than HEAVY_TAILS of them, a few rows make
    up the standard deviation.
    """
    centers, bends = [], []
    for column, deviation in zip(rows.T, _moments(rows, weight)[1].tolist(), strict=True):
        center = float(_quantiles(column, weight, 0.5))
        away = np.abs(column - center)
        differs = away > 0
        weights = None if weight is None else weight[differs]
        bend = float(_quantiles(away[differs], weights, 0.5)) if differs.any() else deviation
        heavy = bend < HEAVY_TAILS * deviation
        centers.append(center if heavy else 0.0)
        bends.append(max(bend, 1e-12 * deviation) if heavy else 0.0)
    return (tuple(centers), tuple(bends)) if any(bends) else ((), ())


def _knots(rows: Array, weight: Array | None) -> tuple[tuple[float, ...], ...]:
    """Return the ends of bins with about equal weight for each column, nothing where no column has
    two bins.

    Columns of zeros and ones have none, and many equal values share one.
    """
    if weight is not None:
        rows, weight = rows[weight > 0], weight[weight > 0]
    numbers = np.flatnonzero(~_are_indicators(rows))
    found: list[tuple[float, ...]] = [()] * rows.shape[1]
    shares = np.linspace(0, 1, choose_bins(len(rows), len(numbers)) + 1)
    for column in numbers if len(shares) > 1 else ():
        knots = np.unique(_quantiles(rows[:, column], weight, shares))
        if len(knots) > 2:
            found[column] = tuple(knots.tolist())
    return tuple(found) if any(found) else ()


def _quantiles(values: Array, weight: Array | None, shares: Values) -> Array:
    """Return the least values that these shares of the weight do not exceed."""
    if weight is None:
        return np.asarray(np.quantile(values, shares, method="inverted_cdf"))
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return np.asarray(values[order[np.searchsorted(total, total[-1] * shares)]])


def _root_mean_square(values: Values, weight: Array | None, how: Scaling) -> tuple[float, ...]:
    """Return the root of the mean square of each column, or of all together; 1 in place of 0."""
    if is_sparse(values):
        rows = to_scipy(values).astype(np.float64)
    else:
        rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    counts = np.ones(rows.shape[0]) if weight is None else weight
    mean = counts @ (rows * rows) / counts.sum()
    root = np.sqrt(mean.mean(keepdims=True) if how == "global" else mean)
    return tuple(np.where(root > 0, root, 1.0).tolist())


@dataclass(frozen=True)
class TablePreprocessing:
    """Make numbers of the cells of a table, then take its columns to one scale; the estimators do
    the same.

    Attributes
    ----------
    encoder : TableEncoder
        How cells become numbers, and gaps.
    scaling : Standardizer
        As :func:`hyperproto.defaults.choose_scaling` says: the words of a text are divided by one
        number, and stay sparse.
    """

    encoder: TableEncoder
    scaling: Standardizer

    def __post_init__(self) -> None:
        self.scaling.check_width(len(self.encoder.outputs))
        if self.encoder.columns[0].kind == "text" and (
            any(self.scaling.mean) or self.scaling.knots
        ):
            got = "a mean to subtract, or bins"
            raise InputError(
                "The words of a text", "only be divided, so that they stay sparse", got
            )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input as the network takes it: (columns,)."""
        return (self.scaling.out_width(len(self.encoder.outputs)),)

    def standardize(self, rows: Tensor) -> Tensor:
        """Return encoded rows as the network takes them, shape (n, columns)."""
        width = len(self.encoder.outputs)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise InputError(
                "Rows of a table", f"have shape (n, {width}), one per column", tuple(rows.shape)
            )
        return self.scaling(rows)

    def to_dict(self) -> Plain:
        """Describe it for a run's config."""
        return {"kind": "table", **asdict(self)}


Preprocessing: TypeAlias = ImagePreprocessing | TablePreprocessing


def preprocessing_from_dict(values: Plain) -> Preprocessing:
    """Rebuild what ``to_dict`` described."""
    fields = dict(values)
    kinds: dict[str, type[Preprocessing]] = {
        "images": ImagePreprocessing,
        "table": TablePreprocessing,
    }
    return from_plain(choose(fields.pop("kind", None), kinds, what="preprocessing"), fields)


def is_sparse(values: Values) -> bool:
    """Whether this is a sparse matrix of scipy, or a tensor of sparse rows."""
    return hasattr(values, "tocsr") or getattr(values, "layout", None) == torch.sparse_csr


def sparse_rows(starts: Tensor, columns: Tensor, values: Tensor, width: int) -> Tensor:
    """Return sparse rows, shape (n, width): entries ``starts[i]`` to ``starts[i + 1]`` are those of
    row i.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            starts, columns, values, size=(len(starts) - 1, width), check_invariants=False
        )


def from_scipy(matrix: Values) -> Tensor:
    """Return a matrix of scipy as sparse rows; nothing is copied where it is CSR."""
    csr = matrix.tocsr()
    index = np.int64 if csr.indices.dtype != csr.indptr.dtype else csr.indices.dtype
    starts, columns = (
        torch.from_numpy(part.astype(index, copy=False)) for part in (csr.indptr, csr.indices)
    )
    return sparse_rows(starts, columns, torch.from_numpy(csr.data), csr.shape[1])


def to_scipy(rows: Values) -> csr_array:
    """Return sparse rows as an array of scipy; nothing is copied."""
    starts, columns, values = (part.numpy() for part in parts_of(rows))
    return csr_array((values, columns, starts), shape=rows.shape)


def parts_of(rows: Values) -> tuple[Tensor, Tensor, Tensor]:
    """Return where sparse rows start, shape (n + 1,), and the columns and
    values of their entries.
    """
    rows = from_scipy(rows) if hasattr(rows, "tocsr") else rows
    return rows.crow_indices(), rows.col_indices(), rows.values()


def take_rows(values: Tensor, ids: Tensor | slice) -> Tensor:
    """Return some rows of a tensor, dense or sparse, in the order of ``ids``.

    >>> rows = from_scipy(__import__("scipy.sparse").sparse.eye_array(3, format="csr"))
    >>> take_rows(rows, torch.tensor([2, 0])).to_dense().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if values.layout == torch.sparse_csr:
        return from_scipy(to_scipy(values)[torch.arange(len(values))[ids].numpy()])
    if isinstance(ids, Tensor):
        return values.index_select(0, ids)  # values[ids] takes longer
    return values[ids]


def join_rows(parts: Sequence[Tensor]) -> Tensor:
    """Return rows, dense or sparse, one after the other."""
    if not is_sparse(parts[0]):
        return torch.cat(list(parts))
    return from_scipy(vstack([to_scipy(part) for part in parts], format="csr"))
