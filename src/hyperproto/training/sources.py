"""Data as plain values in a recipe, and from those values to a source."""

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.data import SOURCES, Source, read_cifar100, read_mnist, rotated_mnist, uneven_cifar100
from hyperproto.data.detect import OWN, detect
from hyperproto.data.digits_source import read_digits, read_rotated_digits

__all__ = ["BUILT_IN", "READERS", "data_name", "describe_data", "read_recipe_source"]


def read_uneven_cifar100(
    path: str | Path, *, seed: int = 0, least: int = 2, most: int = 200, test: Literal["same", "uneven"] = "same"
) -> Source:
    """Read CIFAR-100 and make it uneven, as in Table 4."""
    return uneven_cifar100(read_cifar100(path), seed, least=least, most=most, test=test)


def read_rotated_mnist(path: str | Path, *, seed: int = 0) -> Source:
    """Read MNIST and turn the digits 2, 3, 4, 5 and 7: the paper's joint task."""
    return rotated_mnist(read_mnist(path), seed)


BUILT_IN: dict[str, Callable[..., Source]] = {"digits": read_digits, "rotated-digits": read_rotated_digits}
READERS: dict[str, Callable[..., Source]] = {
    **{name: reader.read for name, reader in SOURCES.items()},
    "cifar-100-uneven": read_uneven_cifar100,
    "rotated-mnist": read_rotated_mnist,
    **BUILT_IN,
}


def describe_data(path: str | Path, reader: str | None = None, *, seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return ``{"reader": ..., "path": ..., "options": ...}``, plain values from which the data are read again.

    Parameters
    ----------
    path : str or Path
        A data set, a folder of images, a table; or "digits" or "rotated-digits", which scikit-learn brings along.
    reader : str, optional
        One of :data:`READERS`; detected unless given. "cifar-100-uneven" and "rotated-mnist" are never detected.
    seed : int
        Fixes what is held out, kept or turned, for readers that draw.
    **options
        For the reader; None or nothing leaves one out.
    """
    built_in = reader is None and str(path) in BUILT_IN
    place = Path(path).absolute()
    if not built_in and reader not in BUILT_IN and not place.exists():
        raise MissingDataError(f'"{path}" must be a folder or file of data; there is none. Check the path.')
    name = str(path) if built_in else reader or detect(place)
    read = choose(name, READERS, what="data set")
    given = {key: value for key, value in options.items() if value not in (None, (), [], {})}
    known = [key for key in inspect.signature(read).parameters if key not in ("path", "targets")]  # plain values only
    for key in given:
        if key not in known:
            raise _unknown_option(key, known, name)
    if "seed" in known:
        given.setdefault("seed", seed)
    if name == "table" and "test" in given:
        given["test"] = str(Path(given["test"]).absolute())
    return {"reader": name, "path": "" if name in BUILT_IN else str(place), "options": given}


def _unknown_option(key: str, known: list[str], name: str) -> InputError:
    if not known:
        return InputError(f'Reading "{name}" takes no options; got "{key}". Leave it out.')
    return unknown_choice(key, known, what=f'option for reading "{name}"')


def read_recipe_source(data: dict[str, Any], path: str | Path | None = None) -> Source:
    """Read the data that a recipe describes.

    Parameters
    ----------
    data : dict
        ``{"reader": ..., "path": ..., "options": ...}``, as :func:`describe_data` returns and a run's config holds.
    path : str or Path, optional
        Where the data are now, if they were moved.
    """
    name, options = data["reader"], dict(data["options"])
    read = choose(name, READERS, what="data set")
    if name in BUILT_IN:
        if path is not None and str(path) != name:
            raise InputError(f'"{name}" comes with scikit-learn and is at no path; got "{path}". Leave --data out.')
        return read(**options)
    place = Path(data["path"] if path is None else path).absolute()
    if not place.exists():
        raise MissingDataError(
            f'The data must be at "{place}"; there is nothing. Where they were moved, say --data PATH (path=...).'
        )
    if path is not None and name == "table" and "test" in options:
        options["test"] = _moved_along(Path(options["test"]), Path(data["path"]), place)
    return read(place, **options)


def _moved_along(test: Path, before: Path, now: Path) -> str:
    """Return where a test table is, if it moved together with the table it belongs to."""
    beside = now.parent / os.path.relpath(test, before.parent)
    return str(beside if beside.exists() else test)


def data_name(data: dict[str, Any]) -> str:
    """Return a short name for files: that of a published data set, or of the user's own folder or table.

    >>> data_name({"reader": "table", "path": "/home/ann/My paintings.csv", "options": {}})
    'My-paintings'
    """
    name = Path(data["path"]).stem if data["reader"] in OWN else data["reader"]
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"
