"""Every kind of data that can be read: how it is recognized, and which options its reader takes."""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperproto._core.checks import choose, unknown_choice
from hyperproto._core.errors import InputError, MissingDataError, arg
from hyperproto._core.files import Plain, as_path
from hyperproto.data import cifar100, digits, published
from hyperproto.data.image_files import ImageFiles, images_in
from hyperproto.data.image_folder import is_image_folder, read_image_folder
from hyperproto.data.source import Source
from hyperproto.data.table_files import is_table
from hyperproto.data.tables import describe_encoder, read_table
from hyperproto.runtime.tables import TableEncoder
from hyperproto.spec import DataSpec
from hyperproto.tasks import Task


@dataclass(frozen=True)
class Reader:
    """How to read one kind of data.

    ``read`` takes a path, unless the data come with a library, and options by keyword. ``info``
    says who published them, and ``is_own`` whether data of the user's own are at a path. A
    ``variant`` is made from published data that another reader recognizes, so it is never detected
    and must be named.
    """

    read: Callable[..., Source]
    info: published.DatasetInfo | None = None
    variant: bool = False
    is_own: Callable[[Path], bool] = lambda path: False

    def is_at(self, path: Path) -> bool:
        """Whether such data are at a path."""
        return self.is_own(path) if self.info is None else self.info.is_at(path)


READERS: dict[str, Reader] = {
    "cifar-100": Reader(cifar100.read_cifar100, cifar100.CIFAR100),
    "imagenet-200": Reader(published.read_tiny_imagenet, published.TINY_IMAGENET),
    "cub-200-2011": Reader(published.read_cub200, published.CUB200),
    "omniart": Reader(published.read_omniart, published.OMNIART),
    "mnist": Reader(digits.read_mnist, digits.MNIST),
    "table": Reader(read_table, is_own=is_table),
    "image-folder": Reader(read_image_folder, is_own=is_image_folder),
    "cifar-100-uneven": Reader(cifar100.read_uneven_cifar100, cifar100.CIFAR100, variant=True),
    "rotated-mnist": Reader(digits.read_rotated_mnist, digits.MNIST, variant=True),
    "digits": Reader(digits.read_digits),
    "rotated-digits": Reader(digits.read_rotated_digits),
}

BUILT_IN = ("digits", "rotated-digits")
"""Data that come with scikit-learn and have no path."""

OWN = ("table", "image-folder")
"""Data of the user's own, without an official split: the reader holds some out."""


def detect(path: str | Path) -> str:
    """Return the name in :data:`READERS` of the data at ``path`` or in a subfolder with the
    publisher's name.
    """
    path = as_path(path)
    if not path.exists():
        raise MissingDataError(
            f'"{path}"', "be an existing folder or file of data", advice="Check the path."
        )
    if path.is_file() and is_table(path):
        return "table"
    found = [name for name, reader in READERS.items() if not reader.variant and reader.is_at(path)]
    sets = [name for name in found if name not in OWN]
    if len(sets) > 1:
        listed = ", ".join(f'"{name}"' for name in sets)
        raise InputError(
            f'"{path}"', "hold one data set", listed, f"Choose one by {arg('reader')}."
        )
    if not found and path.is_dir() and images_in(path):
        advice = "Sort them into one subfolder for each class."
        raise InputError(f'"{path}"', "hold images in subfolders", "images without any", advice)
    if not found:
        raise InputError(
            f'"{path}"',
            "hold data of a known layout",
            "none",
            "Known are CIFAR-100, Tiny ImageNet, CUB-200-2011, OmniArt and MNIST as published, "
            "a folder with a "
            "subfolder of images for each class, and tables (.csv, .tsv, .parquet); see "
            "docs/how-to/data.md.",
        )
    return (sets or found)[0]


def read_source(
    path: str | Path, reader: str | None = None, *, seed: int = 0, **options: object
) -> Source:
    """Read the data at ``path``; parameters are those of :func:`describe_data`."""
    return read_data(describe_data(path, reader, seed=seed, **options))


def describe_data(
    path: str | Path, reader: str | None = None, *, seed: int = 0, **options: object
) -> DataSpec:
    """Return the description in plain values from which :func:`read_data` reads, and a run stores
    to read again.

    Parameters
    ----------
    path : str or Path
        A data set or the folder that holds it, a folder of images, a table; or "digits" or
        "rotated-digits", which come with scikit-learn.
    reader : str, optional
        One of :data:`READERS` (default: detected). "cifar-100-uneven" and "rotated-mnist" are never
        detected.
    seed : int
        Fixes what is held out, kept or rotated, for readers that draw.
    **options
        For the reader, such as ``classes=["style"]``; None or nothing leaves one out.
    """
    if reader is None and str(path) in BUILT_IN:
        reader = str(path)
    place = as_path(path).absolute()
    if reader not in BUILT_IN and not place.exists():
        raise MissingDataError(
            f'"{path}"', "be an existing folder or file of data", advice="Check the path."
        )
    name = reader or detect(place)
    given = {key: value for key, value in options.items() if value not in (None, (), [], {})}
    if "seed" in inspect.signature(_reader(name, given)).parameters:
        given.setdefault("seed", seed)
    if name == "table" and "test" in given:
        given["test"] = str(Path(str(given["test"])).absolute())
    return DataSpec(reader=name, path="" if name in BUILT_IN else str(place), options=given)


def _reader(name: str, options: Iterable[str]) -> Callable[..., Source]:
    """Return the function that reads a kind of data, and takes these options."""
    read = choose(name, READERS, what="data set").read
    known = [
        key
        for key in inspect.signature(read).parameters
        if key not in ("path", "targets", "encoder")
    ]
    for key in options:
        if key not in known:
            raise unknown_choice(key, known, what=f'option for reading "{name}"')
    return read


def read_data(
    spec: DataSpec,
    path: str | Path | None = None,
    *,
    targets: Mapping[str, Task] | None = None,
    encoder: TableEncoder | None = None,
) -> Source:
    """Read the data that :func:`describe_data` described, all of them.

    Parameters
    ----------
    spec : DataSpec
        Which data; of it, ``reader``, ``path`` and ``options`` count here.
    path : str or Path, optional
        Where the data are now, if they were moved.
    targets : mapping of str to Classes or Range, optional
        For data of one's own (:data:`OWN`): those of a trained model, instead of what the data
        have.
    encoder : TableEncoder, optional
        For a table: that of a trained model.
    """
    options = dict(spec.options)
    read = _reader(spec.reader, options)
    options |= {"encoder": encoder} if encoder is not None and spec.reader == "table" else {}
    if spec.reader in BUILT_IN:
        if path is not None and str(path) != spec.reader:
            raise InputError(
                "data",
                f'be left out for "{spec.reader}", which comes with scikit-learn',
                f'"{path}"',
            )
        return read(**options)
    place = as_path(spec.path if path is None else path).absolute()
    if not place.exists():
        raise MissingDataError(
            "The data",
            f'still be at "{place}"',
            advice=f"If they were moved, give {arg('data', 'PATH')}.",
        )
    if path is not None and spec.reader == "table" and "test" in options:
        # together with its table
        moved = place.parent / os.path.relpath(options["test"], Path(spec.path).parent)
        options["test"] = str(moved if moved.exists() else options["test"])
    return read(place, **options) if targets is None else read(place, **options, targets=targets)


def data_name(spec: DataSpec) -> str:
    """Return a short name for files: that of a published data set, or of the user's own folder or
    table.

    >>> data_name(DataSpec(reader="table", path="/home/ann/My paintings.csv"))
    'My-paintings'
    """
    name = Path(spec.path).stem if spec.reader in OWN else spec.reader
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"


def describe_source(source: Source) -> Plain:
    """Return counts, inputs, classes and ranges of a source, for people and for JSON."""
    parts = {"train": source.train} | ({} if source.test is None else {"test": source.test})
    inputs = source.train.inputs
    if (encoder := source.preprocessing.encoder) is not None:
        described = describe_encoder(encoder)
    elif isinstance(inputs, ImageFiles):
        described = "image files"
    else:
        channels, height, width = inputs.shape[1:]
        described = (
            f"images of {height} by {width} pixels, {'in color' if channels == 3 else 'gray'}"
        )
    return {
        "name": source.name,
        "examples": {name: len(split) for name, split in parts.items()},
        "inputs": described,
        "targets": {
            name: known.describe_values(
                {part: split.targets[name] for part, split in parts.items()}
            )
            for name, known in source.targets.items()
        },
        "preprocessing": source.preprocessing.to_dict(),
    }
