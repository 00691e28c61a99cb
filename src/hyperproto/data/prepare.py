"""From a split as it was read to what training takes."""

import torch
from torch import Tensor

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data.arrays import Arrays
from hyperproto.data.images import ImageData, Keep
from hyperproto.data.preprocessing import Augment, ImagePreprocessing, Preprocessing, TablePreprocessing
from hyperproto.data.source import Split

__all__ = ["standardise", "training_data"]


def training_data(
    split: Split,
    preprocessing: Preprocessing,
    augment: Augment | None = None,
    *,
    keep: Keep = "auto",
    workers: int | None = None,
    skip_corrupt: bool = False,
) -> Arrays | ImageData:
    """Return a split in the form that ``hp.fit`` and ``hp.evaluate`` take: rows of a table, or images.

    Parameters
    ----------
    split : Split
        One part of a :class:`~hyperproto.data.source.Source`.
    preprocessing : ImagePreprocessing or TablePreprocessing
        The source's, or that of a trained model.
    augment : Augment, optional
        For the training part; evaluation ignores it.
    keep, workers, skip_corrupt
        As for :class:`~hyperproto.data.images.ImageData`.
    """
    if isinstance(preprocessing, ImagePreprocessing):
        return ImageData(split, preprocessing, augment=augment, keep=keep, workers=workers, skip_corrupt=skip_corrupt)
    if not isinstance(split.inputs, Tensor):
        raise InputTypeError(
            "A table's preprocessing needs rows of numbers; got image files. Use ImagePreprocessing."
        )
    return Arrays(standardise(split.inputs, preprocessing), split.targets)


def standardise(rows: Tensor, preprocessing: TablePreprocessing) -> Tensor:
    """Return (rows - mean) / std as float32, shape (n, columns); empty cells (NaN) become the mean, so 0.

    A column that never changes has no scale of its own; it is only shifted.
    """
    columns = len(preprocessing.columns)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(f"Rows must have shape (n, {columns}), a number for each column; got {tuple(rows.shape)}.")
    mean, std = (torch.tensor(values, dtype=torch.float64) for values in (preprocessing.mean, preprocessing.std))
    scaled = (rows.double() - mean) / torch.where(std > 0, std, 1.0)
    return scaled.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf).float()
