"""Which data set lies in a folder: known by the publisher's own files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.registry import choose
from hyperproto.data.cifar100 import CIFAR100, locate_cifar100, read_cifar100
from hyperproto.data.columns import is_table
from hyperproto.data.cub200 import CUB200, read_cub200
from hyperproto.data.image_folder import looks_like_image_folder, read_image_folder
from hyperproto.data.mnist import MNIST, locate_mnist, read_mnist
from hyperproto.data.omniart import OMNIART, read_omniart
from hyperproto.data.publication import Publication
from hyperproto.data.source import Source
from hyperproto.data.table import read_table
from hyperproto.data.tiny_imagenet import TINY_IMAGENET, read_tiny_imagenet

__all__ = ["OWN", "SOURCES", "Reader", "detect", "read_source"]


@dataclass(frozen=True)
class Reader:
    """How to read one kind of data, and how to know it."""

    read: Callable[..., Source]
    is_at: Callable[[Path], Any]
    publication: Publication | None = None


SOURCES: dict[str, Reader] = {
    "cifar-100": Reader(read_cifar100, locate_cifar100, CIFAR100),
    "imagenet-200": Reader(read_tiny_imagenet, TINY_IMAGENET.locate, TINY_IMAGENET),
    "cub-200-2011": Reader(read_cub200, CUB200.locate, CUB200),
    "omniart": Reader(read_omniart, OMNIART.locate, OMNIART),
    "mnist": Reader(read_mnist, locate_mnist, MNIST),
    "table": Reader(read_table, is_table),
    "image-folder": Reader(read_image_folder, looks_like_image_folder),
}


OWN = tuple(name for name, reader in SOURCES.items() if reader.publication is None)
"""Data of people's own, without an official split: the reader holds some out."""


def detect(path: str | Path) -> str:
    """Return the name in :data:`SOURCES` of what lies at ``path`` or in its subfolders of the publishers' names."""
    path = Path(path)
    if not path.exists():
        raise MissingDataError(f'"{path}" must be a folder or file of data; there is none. Check the path.')
    published = [name for name, reader in SOURCES.items() if reader.publication and reader.is_at(path)]
    if len(published) > 1:
        listed = ", ".join(f'"{name}"' for name in published)
        raise InputError(f'"{path}" must hold one data set unless one is named; it holds {listed}. Name one of them.')
    own = [name for name, reader in SOURCES.items() if not reader.publication and reader.is_at(path)]
    if not published and not own:
        raise InputError(
            f'"{path}" must hold data of a known layout; it holds none. Known are CIFAR-100, Tiny ImageNet, '
            "CUB-200-2011, OmniArt and MNIST as published, a folder with a subfolder of images for each class, and "
            "tables (.csv, .tsv, .parquet); docs/data.md says what goes where."
        )
    return (published or own)[0]


def read_source(path: str | Path, name: str | None = None, **options: Any) -> Source:
    """Read the data at ``path``, of the kind it is seen to be or of the one that is named.

    Parameters
    ----------
    path : str or Path
        A data set, or the folder that holds it.
    name : str, optional
        One of :data:`SOURCES`; detected unless given.
    **options
        For the reader of that kind, such as ``size=64`` or ``classes=["style"]``.
    """
    return choose(name or detect(path), SOURCES, what="data set").read(path, **options)
