"""CIFAR-100: 60,000 images of 32 by 32 pixels in 100 classes, as published; and the uneven one of Table 4."""

import io
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, arg
from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.augment import Augment
from hyperproto.data.preprocessing import CIFAR_MEAN, CIFAR_STD, ImagePreprocessing
from hyperproto.data.published import DatasetInfo
from hyperproto.data.restricted_pickle import load_restricted
from hyperproto.data.source import Labels, Source, Split, draw_rows, select

__all__ = ["CIFAR100", "locate_cifar100", "read_cifar100", "read_uneven_cifar100"]

Part: TypeAlias = tuple[Tensor, Tensor]  # images, shape (n, 3, 32, 32) of uint8, and class ids, shape (n,)
BINARY, PYTHON = "cifar-100-binary", "cifar-100-python"
RECORD = 2 + 3 * 32 * 32  # coarse label, fine label, then red, green and blue, row by row
FILES = {
    BINARY: ("train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt"),
    PYTHON: ("train", "test", "meta"),
}

CIFAR100 = DatasetInfo(
    title="CIFAR-100",
    url="https://www.cs.toronto.edu/~kriz/cifar.html",
    layout=f'"{BINARY}/" or "{PYTHON}/", or the archive "{BINARY}.tar.gz" or "{PYTHON}.tar.gz",',
    needed=(BINARY,),
    counts=(50_000, 10_000),
)


def read_cifar100(path: str | Path, *, classes: Literal["fine", "coarse"] = "fine") -> Source:
    """Read CIFAR-100 from the publisher's binary or Python version, unpacked or not.

    Parameters
    ----------
    path : str or Path
        The folder "cifar-100-binary" or "cifar-100-python", one of their archives, or the folder that holds them.
        An archive is read without being extracted.
    classes : {"fine", "coarse"}
        The 100 classes, or the 20 they are grouped into; in the order of the publisher's files.

    Returns
    -------
    Source
        With the one target "class".
    """
    choose(classes, {"fine": 0, "coarse": 0}, what="classes of CIFAR-100")
    found = locate_cifar100(path)
    if found is None:
        raise CIFAR100.missing(path, (f"{BINARY}/", f"{PYTHON}/"))
    version, place = found
    files = _open_archive(place, version) if place.is_file() else _open_folder(place, version)
    train, test, names = (_read_binary if version == BINARY else _read_python)(files, classes, place)
    return Source(
        name="cifar-100" if classes == "fine" else "cifar-100-coarse",
        train=_split(*train, names, f"{place}, train"),
        test=_split(*test, names, f"{place}, test"),
        targets={"class": Labels(names)},
        preprocessing=ImagePreprocessing(32, CIFAR_MEAN, CIFAR_STD),
        augment=Augment(padding=4, flip=True),
    )


def locate_cifar100(path: str | Path) -> tuple[str, Path] | None:
    """Return which version lies at ``path`` and where, the binary one first; None where there is none."""
    path = Path(path)
    if path.is_file():
        return next(((version, path) for version in FILES if path.name.startswith(version)), None)
    for version, names in FILES.items():
        for place in (path, path / version):
            if all((place / name).is_file() for name in names):
                return version, place
    archives = [(version, path / f"{version}.tar.gz") for version in FILES]
    return next(((version, archive) for version, archive in archives if archive.is_file()), None)


def _open_folder(place: Path, version: str) -> dict[str, BinaryIO]:
    return {name: io.BytesIO((place / name).read_bytes()) for name in FILES[version]}


def _open_archive(path: Path, version: str) -> dict[str, BinaryIO]:
    """Return the files in an archive. They are read where they are: no path of the archive is ever written to."""
    wanted = {f"{version}/{name}": name for name in FILES[version]}
    found: dict[str, BinaryIO] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = wanted.get(PurePosixPath(member.name).as_posix())
                content = archive.extractfile(member) if name and member.isreg() else None
                if name and content is not None:
                    found[name] = io.BytesIO(content.read())
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise InputError(f'"{path}"', "be a complete archive", f"an error ({error})", "Get it again.") from None
    if absent := [name for name in FILES[version] if name not in found]:
        raise CIFAR100.missing(path, absent)
    return found


def _read_binary(files: Mapping[str, BinaryIO], classes: str, place: Path) -> tuple[Part, Part, tuple[str, ...]]:
    names = tuple(files[f"{classes}_label_names.txt"].read().decode("utf-8").split())
    train, test = (_records(files[name], classes, place / name) for name in ("train.bin", "test.bin"))
    return train, test, names


def _records(file: BinaryIO, classes: str, path: Path) -> Part:
    content = bytearray(file.read())
    if len(content) % RECORD or not content:
        rest = f"{len(content) // RECORD:,} records and {len(content) % RECORD:,} over"
        got = f"{len(content):,} bytes, {rest}"
        raise InputError(f'"{path}"', f"hold records of {RECORD:,} bytes", got, "It is cut short: get it again.")
    records = torch.frombuffer(content, dtype=torch.uint8).view(-1, RECORD)
    return records[:, 2:].reshape(-1, 3, 32, 32).contiguous(), records[:, int(classes == "fine")].long()


def _read_python(files: Mapping[str, BinaryIO], classes: str, place: Path) -> tuple[Part, Part, tuple[str, ...]]:
    meta = load_restricted(files["meta"], place / "meta")
    key = f"{classes}_label_names"
    names = _entry(meta, key, place / "meta")
    if not isinstance(names, list | tuple):
        raise InputError(f'"{key}" in "{place / "meta"}"', "be a list", repr(names), "Get the file again.")
    train, test = (_pickled(load_restricted(files[n], place / n), classes, place / n) for n in ("train", "test"))
    return train, test, tuple(name.decode("utf-8") if isinstance(name, bytes) else str(name) for name in names)


def _pickled(content: Mapping[str, Any], classes: str, path: Path) -> Part:
    data = _entry(content, "data", path)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != RECORD - 2:
        got = f"{data.dtype} of shape {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise InputError(f'"data" in "{path}"', f"be uint8 of shape (n, {RECORD - 2})", got, "Get the file again.")
    images = torch.from_numpy(data.copy()).view(-1, 3, 32, 32)  # a copy, for the pickle's bytes are read-only
    return images, _labels(content, f"{classes}_labels", path)


def _labels(content: Mapping[str, Any], key: str, path: Path) -> Tensor:
    labels = _entry(content, key, path)
    try:
        found = np.asarray(labels)
    except ValueError:  # lists of different lengths
        found = np.asarray(None)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise InputError(f'"{key}" in "{path}"', "be whole numbers", found.dtype, "Get the file again.")
    return torch.from_numpy(found.astype(np.int64))


def _entry(content: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in content:
        raise InputError(f'"{path}"', f'hold "{key}"', ", ".join(sorted(content)) or "nothing")
    return content[key]


def _split(images: Tensor, labels: Tensor, names: tuple[str, ...], where: str) -> Split:
    bad = ((labels < 0) | (labels >= len(names))).nonzero().flatten()
    if len(bad):
        got = f"{int(labels[bad[0]])} for image {int(bad[0])} ({len(bad)} of {len(labels)})"
        raise InputError(f"Labels in {where}", f"be in [0, {len(names)})", got, "Get the file again.")
    return Split(images, {"class": labels})


def read_uneven_cifar100(
    path: str | Path, *, seed: int = 0, least: int = 2, most: int = 200, test: Literal["same", "uneven"] = "same"
) -> Source:
    """Read CIFAR-100 with a number of training images that grows linearly over the classes (Table 4).

    Class k of K keeps ``least + (most - least) * k / (K - 1)`` images, rounded, in the order of the file's classes.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_cifar100`.
    seed : int
        Fixes which images are kept.
    least, most : int
        Images of the first and of the last class; 2 and 200 in the paper.
    test : {"same", "uneven"}
        The paper says that the test distribution is altered too, but not how. "same" keeps every test image, so each
        class counts alike; "uneven" keeps the share of each class that it has in training, the last class whole.
    """
    check_integer(least, "least", at_least=1)
    check_integer(most, "most", at_least=least)
    is_uneven = choose(test, {"same": False, "uneven": True}, what="test set")
    source = read_cifar100(path)
    assert isinstance(source.targets["class"], Labels)
    assert source.test is not None
    counts = torch.linspace(least, most, source.targets["class"].num_classes, dtype=torch.float64).round().long()
    tested = source.test
    if is_uneven:
        size = torch.bincount(tested.targets["class"], minlength=len(counts))
        tested = _keep(tested, (size * counts / most).round().long().clamp(min=1), derive_seed(seed, "uneven test"))
    train = _keep(source.train, counts, derive_seed(seed, "uneven train"))
    return replace(source, name="cifar-100-uneven", train=train, test=tested)


def _keep(split: Split, counts: Tensor, seed: int) -> Split:
    """Return ``counts[k]`` examples of class k, chosen by the seed, in the order of the file."""
    labels = split.targets["class"]
    have = torch.bincount(labels, minlength=len(counts))
    short = (have < counts).nonzero().flatten()
    if len(short):
        k = int(short[0])
        raise InputError(
            f"Class {k}",
            f"have {int(counts[k])} images or more",
            f"{int(have[k])} ({len(short)} of {len(counts)} classes are short)",
            f"Give smaller {arg('least')} and {arg('most')}, or all of CIFAR-100.",
        )
    return select(split, draw_rows(labels, counts, seed=seed))
