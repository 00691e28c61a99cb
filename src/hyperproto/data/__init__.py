"""Data sets: read from files, described, and made into batches."""

from hyperproto.data.augment import Augment
from hyperproto.data.batches import Batches, training_data
from hyperproto.data.cifar100 import read_cifar100, read_uneven_cifar100
from hyperproto.data.digits import load_digits, load_rotated_digits, read_mnist, read_rotated_mnist
from hyperproto.data.examples import Arrays, Examples, as_examples
from hyperproto.data.image_data import ImageData
from hyperproto.data.image_files import ImageFiles, find_corrupt
from hyperproto.data.image_folder import read_image_folder
from hyperproto.data.preprocessing import Standardizer, TablePreprocessing
from hyperproto.data.published import read_cub200, read_omniart, read_tiny_imagenet
from hyperproto.data.readers import READERS, Reader, describe_data, read_source
from hyperproto.data.source import Source, Split, resized
from hyperproto.data.tables import read_table
from hyperproto.runtime.images import ImagePreprocessing

__all__ = [
    "READERS",
    "Arrays",
    "Augment",
    "Batches",
    "Examples",
    "ImageData",
    "ImageFiles",
    "ImagePreprocessing",
    "Reader",
    "Source",
    "Split",
    "Standardizer",
    "TablePreprocessing",
    "as_examples",
    "describe_data",
    "find_corrupt",
    "load_digits",
    "load_rotated_digits",
    "read_cifar100",
    "read_cub200",
    "read_image_folder",
    "read_mnist",
    "read_omniart",
    "read_rotated_mnist",
    "read_source",
    "read_table",
    "read_tiny_imagenet",
    "read_uneven_cifar100",
    "resized",
    "training_data",
]
