"""Shelf 6: data sets."""

from hyperproto.data.arrays import Arrays, as_dataset
from hyperproto.data.batches import Batches
from hyperproto.data.digits import load_digits, load_rotated_digits
from hyperproto.data.preprocessing import Augment, ImagePreprocessing, TablePreprocessing
from hyperproto.data.source import ImageFiles, Source, Split

__all__ = [
    "Arrays",
    "Augment",
    "Batches",
    "ImageFiles",
    "ImagePreprocessing",
    "Source",
    "Split",
    "TablePreprocessing",
    "as_dataset",
    "load_digits",
    "load_rotated_digits",
]
