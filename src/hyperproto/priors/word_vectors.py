"""Word vectors from a file, reading it once and keeping only the words that the class names need."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto.priors.layout import HEAD, Layout, tell_layout
from hyperproto.priors.names import possible_words
from hyperproto.priors.prior import Missing, Prior
from hyperproto.priors.progress import Report, reading_progress
from hyperproto.priors.scan import BLOCK, scan_binary, scan_text
from hyperproto.priors.vectors import ClassVectors, cosine_prior, find_vectors, look_up
from hyperproto.priors.wording import check_missing, need_names

__all__ = ["from_word_vectors", "read_array_file", "read_word_vectors"]


def from_word_vectors(
    path: str | Path,
    names: tuple[str, ...] | None,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> Prior:
    """Return the prior of word vectors in a file, by the cosine of the names' vectors.

    Parameters
    ----------
    path : str or Path
        GloVe's or word2vec's text, word2vec's binary, or an ``.npy`` matrix; any of them gzipped. The rows of
        ``words.npy`` are named by ``words.txt`` or ``words.names`` beside it, one a line; without these they are the
        classes in their order. The first of repeated words counts.
    names : tuple of str, or None
        Class names; None only for an ``.npy`` without names.
    missing : {"error", "free"}, default "error"
        What happens to names that are not in the file: an error that lists them, or placement without prior.
    progress : bool, optional
        Whether to show a progress bar; by default where standard error is a terminal.
    """
    return cosine_prior(read_word_vectors(path, names, missing=missing, progress=progress), names)


def read_word_vectors(
    path: str | Path,
    names: tuple[str, ...] | None,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> ClassVectors:
    """Return the vector of each class, from whatever :func:`from_word_vectors` takes."""
    check_missing(missing)
    path = Path(path)
    source = f"word vectors {path.name}"
    with _opened(path) as (file, raw):
        layout = tell_layout(file.read(HEAD), path)
        if layout.kind != "npy":
            names = need_names(names, what="A word vector")
            with reading_progress(path, show=progress) as report:
                found, remarks = _scan(file, raw, layout, names, path, report)
            return look_up(
                names, found.__contains__, found.__getitem__, missing=missing, source=source, remarks=remarks
            )
    table, words = read_array_file(path)
    if words is None:
        return find_vectors(table, names, source=f"vectors {path.name}")
    row = {word: index for index, word in reversed(list(enumerate(words)))}
    names = need_names(names, what="A word vector")
    return look_up(names, row.__contains__, lambda word: table[row[word]], missing=missing, source=source)


def _scan(
    file: BinaryIO,
    raw: BinaryIO,
    layout: Layout,
    names: tuple[str, ...],
    path: Path,
    report: Report,
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    wanted = {word.encode() for word in possible_words(names)}
    scan = scan_text if layout.kind == "text" else scan_binary
    found, count = scan(file, layout, wanted, path, lambda: report(raw.tell()))
    remarks = []
    if layout.count is not None and count < layout.count:  # binary files raise; a text file can be shortened by hand
        remarks.append(f'"{path.name}" holds {count:,} words where its first line says {layout.count:,}.')
    return {word.decode(): vector for word, vector in found.items()}, remarks


def read_array_file(path: Path) -> tuple[NDArray[np.generic], list[str] | None]:
    """Return the matrix of an ``.npy`` file, mapped where it is not gzipped, and its words if a file names them."""
    try:
        with _opened(path) as (file, raw):
            table = np.load(path, mmap_mode="r") if file is raw else _unpacked_array(path)
    except ValueError as error:
        raise InputError(
            f'"{path}" must be a readable .npy file of numbers ({error}). It may be cut short.'
        ) from None
    if table.ndim != 2:
        raise InputError(f'"{path}" must hold a matrix with one row a word or class; got shape {table.shape}.')
    stem = path.with_name(path.name.removesuffix(".gz").removesuffix(".npy"))
    beside = [stem.with_name(stem.name + suffix) for suffix in (".txt", ".names")]
    named = next((candidate for candidate in beside if candidate.is_file()), None)
    if named is None:
        return table, None
    words = named.read_text(encoding="utf-8").splitlines()
    if len(words) != len(table):
        raise InputError(
            f'"{named}" must name each of the {len(table)} rows of "{path.name}", one a line; it has {len(words)}.'
        )
    return table, words


def _unpacked_array(path: Path) -> NDArray[np.generic]:
    with gzip.GzipFile(path) as file:  # a buffered reader around it numpy would take for the file on disk
        table: NDArray[np.generic] = np.load(file)
    return table


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Give the file unpacked, and the file as it lies on disk, which are the same where it is not gzipped."""
    if not path.is_file():
        raise FileNotFoundError(f'No word vectors at "{path}". Nothing is downloaded for you.')
    with path.open("rb", buffering=0) as bare:
        raw = io.BufferedReader(bare, BLOCK)
        if raw.peek(2)[:2] != b"\x1f\x8b":
            yield raw, raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield io.BufferedReader(unpacked, BLOCK), raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f'"{path}" cannot be unpacked ({error}). It is cut short: copy or fetch it again.'
            ) from None
