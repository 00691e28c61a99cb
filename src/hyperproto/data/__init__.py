"""Shelf 6: data sets."""

from hyperproto.data.arrays import Arrays, as_dataset
from hyperproto.data.batches import Batches
from hyperproto.data.digits import load_digits, load_rotated_digits

__all__ = ["Arrays", "Batches", "as_dataset", "load_digits", "load_rotated_digits"]
