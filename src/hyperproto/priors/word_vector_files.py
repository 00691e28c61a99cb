"""Word vectors from a file, reading it once and keeping only the words that the class names need.

=============  ==========================================================================
GloVe text     ``word 0.1 0.2 ...``, one per line
word2vec text  the same after a line ``count dim``; fastText's ``.vec`` is this, too
word2vec       after a line ``count dim``: a word, a space, ``dim`` raw float32; again and again
.npy           numpy's array file
=============  ==========================================================================

Each of them may be gzipped. The format is recognized by the first bytes and not only by the file's name.
"""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.progress import progress_bar
from hyperproto.priors.prior import Missing, Prior, require_names
from hyperproto.priors.vectors import ClassVectors, cosine_prior, find_vectors, look_up, possible_words

HEAD = 1 << 20  # bytes that decide the format; the first line of any real file is far shorter
BLOCK = 1 << 18  # bytes at a time: within a core's cache
HEADER = re.compile(rb"\s*(\d+)[ \t]+(\d+)[ \t\r]*\n")
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?nan|[+-]?inf", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
Found = dict[bytes, NDArray[np.float64]]


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
        ``words.npy`` are named by ``words.txt`` or ``words.names`` in the same folder, one per line; without these
        they are the classes in their order. The first of repeated words counts.
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
    """Return the vector of each class, from whatever :func:`from_word_vectors` accepts."""
    path = Path(path)
    source = f"word vectors {path.name}"
    with _opened(path) as (file, raw):
        layout = _recognize(file.read(HEAD), path)
        if layout.kind != "npy":
            names = require_names(names, what="a word vector")
            wanted = {word.encode() for word in possible_words(names)}
            scan = _scan_text if layout.kind == "text" else _scan_binary
            size = path.stat().st_size
            with progress_bar(f"reading {path.name}", size, show=progress, in_bytes=True) as bar:
                read, count = scan(file, layout, wanted, path, lambda: bar.update(raw.tell()))
            notes = []
            if layout.count is not None and count < layout.count:  # only of text, which can be shortened by hand
                notes = [f'"{path.name}" has {count:,} words where its first line says {layout.count:,}.']
            found = {word.decode(): vector for word, vector in read.items()}
            return look_up(names, found.__contains__, found.__getitem__, missing=missing, source=source, notes=notes)
    table, words = read_array_file(path)
    if words is None:
        return find_vectors(table, names, source=f"vectors {path.name}")
    row = {word: index for index, word in reversed(list(enumerate(words)))}
    names = require_names(names, what="a word vector")
    return look_up(names, row.__contains__, lambda word: table[row[word]], missing=missing, source=source)


def read_array_file(path: Path) -> tuple[NDArray[np.generic], list[str] | None]:
    """Return the matrix of an ``.npy`` file, mapped where it is not gzipped, and its words if a file names them."""
    try:
        with _opened(path) as (file, raw):
            if file is raw:
                table: NDArray[np.generic] = np.load(path, mmap_mode="r")
            else:
                with gzip.GzipFile(path) as unpacked:  # numpy would mistake a buffered reader for the file on disk
                    table = np.load(unpacked)
    except ValueError as error:
        raise InputError(
            f'"{path}"', f"be a readable .npy file of numbers ({error})", advice="It may be cut short."
        ) from None
    if table.ndim != 2:
        raise InputError(f'"{path}"', "contain a matrix with one row per word or class", f"shape {table.shape}")
    stem = path.with_name(path.name.removesuffix(".gz").removesuffix(".npy"))
    candidates = [stem.with_name(stem.name + suffix) for suffix in (".txt", ".names")]
    named = next((candidate for candidate in candidates if candidate.is_file()), None)
    if named is None:
        return table, None
    words = named.read_text(encoding="utf-8").splitlines()
    if len(words) != len(table):
        raise InputError(
            f'"{named}"', f'name each of the {len(table)} rows of "{path.name}", one per line', f"{len(words)}"
        )
    return table, words


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Give the file unpacked, and the file as it is on disk, which are the same where it is not gzipped."""
    if not path.is_file():
        raise MissingDataError(f'No word vectors at "{path}". Nothing is downloaded for you.')
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
                f'"{path}"', f"be readable by gzip ({error})", advice="It is cut short: copy or download it again."
            ) from None


@dataclass(frozen=True)
class Layout:
    """How to read a file: its kind, and for words with vectors their dimension.

    ``start`` is where the words start, in bytes; ``count`` is how many there are, where the file says so. A line of
    text has as many ``separators`` as numbers, or one more where lines end in one, as word2vec and fastText write.
    """

    kind: Literal["npy", "text", "binary"]
    dim: int = 0
    count: int | None = None
    start: int = 0
    separator: bytes = b" "
    separators: int = 0


def _recognize(head: bytes, path: Path) -> Layout:
    """Return the layout of a file that starts with ``head``, or say what the file is instead."""
    if head.startswith(b"\x93NUMPY"):
        return Layout("npy")
    if head.startswith((b"PK\x03\x04", b"\x80")):
        raise InputError(
            f'"{path}"',
            "contain word vectors as text, as word2vec's binary or as .npy",
            "a zip or pickle file",
            "Write it with gensim's save_word2vec_format, or with numpy.save.",
        )
    header = HEADER.match(head)
    count, start = (None, 0) if header is None else (int(header[1]), header.end())
    line, newline, _ = head[start:].partition(b"\n")
    separator = b"\t" if line.count(b"\t") > line.count(b" ") else b" "
    numbers = len(list(takewhile(_is_number, reversed(line.split()[1:]))))  # the first field is the word
    if header is None:
        dim = numbers
        if dim == 0 or (not newline and len(head) == HEAD):
            raise InputError(
                f'"{path}"',
                'contain word vectors; its first line is neither a word and its numbers nor "count dim"',
                repr(line[:40]),
            )
    else:
        dim = int(header[2])
        if dim == 0:
            raise InputError(f'"{path}"', "contain vectors of at least one number", f'first line "{count} 0"')
        if numbers < dim and _is_binary(head[start:], path):
            return Layout("binary", dim, count, start)
    return Layout("text", dim, count, start, separator, dim + line.rstrip(b"\r").endswith(separator))


def _is_number(field: bytes) -> bool:
    return NUMBER.fullmatch(field) is not None


def _is_binary(body: bytes, path: Path) -> bool:
    """Return whether bytes are raw numbers; asked where the first line does not read as text."""
    if ".bin" in path.suffixes or CONTROL.search(body):
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"  # the end of the head may be within a letter
    return False


def _scan_text(
    file: BinaryIO, layout: Layout, wanted: set[bytes], path: Path, tick: Callable[[], None]
) -> tuple[Found, int]:
    """Return the vectors of the wanted words, the first of each, and how many words the file has.

    Only lines of wanted words are read as numbers. The others are checked by counting separators over many lines at
    once, and one by one where that sum is off.
    """
    found: Found = {}
    file.seek(layout.start)
    first = after = 1 if layout.start == 0 else 2  # lines are counted from one
    blank = 0
    while lines := file.readlines(BLOCK):
        text = np.frombuffer(b"".join(lines), np.uint8)  # numpy compares in a quarter of the time of bytes.count
        if int(np.count_nonzero(text == layout.separator[0])) == layout.separators * len(lines):
            words = [line[: line.find(layout.separator)] for line in lines]
        else:
            words = [_word(line, number, layout, path) for number, line in enumerate(lines, after)]
            blank += sum(line.isspace() for line in lines)
        if not wanted.isdisjoint(words):
            for index, word in enumerate(words):
                if word in wanted and word not in found:
                    found[word] = _numbers(lines[index], word, after + index, layout, path)
        after += len(lines)
        tick()
    return found, after - first - blank


def _word(line: bytes, number: int, layout: Layout, path: Path) -> bytes:
    """Return the word of a line, none for a blank one, or say that the line has the wrong dimension.

    GloVe's largest file has words with spaces in them, such as ``. . .``; what precedes the numbers is the word
    unless it ends in a number itself.
    """
    if line.isspace():
        return b""
    fields = line.rstrip().split(layout.separator)
    extra = len(fields) - 1 - layout.dim
    if extra < 0 or (extra > 0 and _is_number(fields[extra])):
        start = next((i for i in range(1, len(fields)) if all(map(_is_number, fields[i:]))), len(fields))
        raise _wrong_dimension(fields[0], number, len(fields) - start, layout, path)
    return layout.separator.join(fields[: extra + 1])


def _numbers(line: bytes, word: bytes, number: int, layout: Layout, path: Path) -> NDArray[np.float64]:
    fields = line[len(word) :].split()
    if len(fields) != layout.dim:
        raise _wrong_dimension(word, number, len(fields), layout, path)
    try:
        return np.array([float(field) for field in fields])
    except ValueError:
        bad = next(field for field in fields if not _is_number(field))
        raise InputError(
            f'"{path}"',
            f'have a word and {layout.dim} numbers per line; line {number} ("{_text(word)}") has "{_text(bad)}" '
            "among them",
        ) from None


def _wrong_dimension(word: bytes, number: int, count: int, layout: Layout, path: Path) -> InputError:
    return InputError(
        f'"{path}"',
        f'have {layout.dim} numbers per line, as in its first; line {number} ("{_text(word)}") has {count}',
        advice="Repair or remove that line; the file may be cut short there.",
    )


def _scan_binary(
    file: BinaryIO, layout: Layout, wanted: set[bytes], path: Path, tick: Callable[[], None]
) -> tuple[Found, int]:
    """Return the vectors of the wanted words, the first of each, and how many words the file has."""
    found: Found = {}
    width, count = 4 * layout.dim, layout.count or 0
    file.seek(layout.start)
    block, at = b"", 0
    for index in range(count):
        end = block.find(b" ", at)
        if end < 0 or end + 1 + width > len(block):
            block, at = block[at:] + file.read(BLOCK + width), 0
            end = block.find(b" ")
            if end < 0 or end + 1 + width > len(block):
                raise InputError(
                    f'"{path}"',
                    f"have {count:,} words with {layout.dim} float32 each, as its first line says; it ends after "
                    f"{index:,}",
                    advice="It is cut short: copy or download it again.",
                )
            tick()
        word = block[at:end].lstrip(b"\n")  # word2vec ends each vector in a newline, gensim does not
        if word in wanted and word not in found:
            found[word] = np.frombuffer(block, "<f4", layout.dim, end + 1).astype(np.float64)
        at = end + 1 + width
    return found, count


def _text(word: bytes) -> str:
    return word[:40].decode(errors="replace")
