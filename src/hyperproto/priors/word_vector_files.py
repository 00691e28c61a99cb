"""Word vectors from a file, reading it once and keeping only the words that the class names need.

=============  ==========================================================================
GloVe text     ``word 0.1 0.2 ...``, one per line
word2vec text  the same after a line ``count dim``; fastText's ``.vec`` is this, too
word2vec       after a line ``count dim``: a word, a space, ``dim`` raw float32; again and again
.npy           numpy's array file, with the words in a text file next to it
=============  ==========================================================================

Text and binary are recognized by the first bytes, and may be gzipped.
"""

import gzip
import re
import zlib
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.arrays import read_npy
from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.files import read_text
from hyperproto._core.progress import progress_bar

HEAD = 1 << 20  # bytes that decide the format; the first line of any real file is far shorter
BLOCK = 1 << 18  # bytes at a time: within a core's cache
MOST = 10  # times its own size that a gzipped file may unpack to; numbers as text make 3
HEADER = re.compile(rb"\s{0,9}(\d{1,15})[ \t]{1,9}(\d{1,15})[ \t\r]{0,9}\n")
NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?nan|[+-]?inf", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
Vectors = dict[bytes, NDArray[np.float64]]


def read_words(
    path: Path, words: set[str], *, progress: bool | None = None
) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """Return the vectors of those of ``words`` that a text or binary file has, the first of each,
    and notes.
    """
    wanted = {word.encode() for word in words}
    if not path.is_file():
        raise MissingDataError(f'No word vectors at "{path}". Nothing is downloaded for you.')
    bar_of = progress_bar(f"reading {path.name}", path.stat().st_size, show=progress, in_bytes=True)
    with path.open("rb") as raw, bar_of as bar:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        file = cast(BinaryIO, gzip.GzipFile(fileobj=raw) if packed else raw)
        try:
            head = file.read(HEAD)
            dim, count, start, is_text = _recognize(head, path)
            file.seek(start)
            most = HEAD + (MOST if packed else 1) * path.stat().st_size

            def tick() -> None:
                bar.update(raw.tell())
                if file.tell() > most:
                    raise InputError(
                        f'"{path}"', f"unpack to at most {MOST} times its size", "more"
                    )

            if is_text:
                vectors, lines = _scan_text(file, dim, start > 0, wanted, path, tick)
            elif 4 * dim > most:
                raise InputError(
                    f'"{path}"', "be as long as one vector at least", f"vectors of {dim:,} numbers"
                )
            else:
                vectors, lines = _scan_binary(file, dim, count, wanted, path, tick), count
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f'"{path}"',
                f"be readable by gzip ({error})",
                advice="It is cut short: copy or download it again.",
            ) from None
    short = f'"{path.name}" has {lines:,} words where its first line says {count:,}.'
    return {word.decode(): row for word, row in vectors.items()}, (short,) if lines < count else ()


def read_array_file(path: Path) -> tuple[NDArray[np.generic], list[str] | None]:
    """Return the matrix of ``words.npy``, mapped from the disk, and its words if ``words.txt`` has
    one per line.
    """
    table = read_npy(path)
    named = path.with_suffix(".txt")
    if not named.is_file():
        return table, None
    words = read_text(named).splitlines()
    if len(words) != len(table):
        raise InputError(
            f'"{named}"',
            f'name each of the {len(table)} rows of "{path.name}", one per line',
            f"{len(words)}",
        )
    return table, words


def _recognize(head: bytes, path: Path) -> tuple[int, int, int, bool]:
    """Return the dimension, the number of words (0 where the file does not say it), where they
    start, and if as text.

    ``head`` is how the file starts.
    """
    if head.startswith((b"PK\x03\x04", b"\x80")):
        raise InputError(
            f'"{path}"',
            "contain word vectors as text, as word2vec's binary or as .npy",
            "a zip or pickle file",
            "Write it with gensim's save_word2vec_format, or with numpy.save.",
        )
    header = HEADER.match(head)
    start = 0 if header is None else header.end()
    line, newline, _ = head[start:].partition(b"\n")
    # the first field is the word
    numbers = len(list(takewhile(_is_number, reversed(line.split()[1:]))))
    if header is not None:
        count, dim = int(header[1]), int(header[2])
        if dim == 0:
            raise InputError(
                f'"{path}"', "contain vectors of at least one number", f'first line "{count} 0"'
            )
        return dim, count, start, numbers >= dim or not _is_binary(head[start:], path)
    if numbers == 0 or (not newline and len(head) == HEAD):
        raise InputError(
            f'"{path}"',
            'contain word vectors; its first line is neither a word and its numbers nor "count '
            'dim"',
            repr(line[:40]),
        )
    return numbers, 0, 0, True


def _is_number(field: bytes) -> bool:
    return NUMBER.fullmatch(field) is not None


def _is_binary(body: bytes, path: Path) -> bool:
    """Return whether bytes are raw numbers; asked where the first line does not read as text."""
    if ".bin" in path.suffixes or CONTROL.search(body):
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # the end of the head may be within a letter
        return error.reason != "unexpected end of data"
    return False


def _scan_text(
    file: BinaryIO,
    dim: int,
    has_header: bool,
    wanted: set[bytes],
    path: Path,
    tick: Callable[[], None],
) -> tuple[Vectors, int]:
    """Return the vectors of wanted words, and how many words the file has.

    GloVe's largest file has words with spaces in them; what precedes the last ``dim`` fields is the
    word. Lines whose first field is not wanted are skipped: the first part of a wanted word is
    wanted too, see :func:`hyperproto.priors.vectors.possible_words`.
    """
    vectors: Vectors = {}
    count = 0
    for number, line in enumerate(iter(lambda: file.readline(HEAD), b""), 2 if has_header else 1):
        if len(line) == HEAD:
            raise InputError(
                f'"{path}"', f"have lines of less than {HEAD:,} bytes", f"a longer line {number}"
            )
        count += not line.isspace()
        if number % 1024 == 0:
            tick()
        first = line.split(None, 1)[:1]
        if not first or first[0] not in wanted:
            continue
        fields = line.split()
        word = b" ".join(fields[:-dim])
        if not word or (len(fields) > dim + 1 and _is_number(fields[-dim - 1])):
            raise InputError(
                f'"{path}"',
                f"have {dim} numbers per line, as in its first; line {number} "
                f'("{_text(first[0])}") has '
                f"{len(list(takewhile(_is_number, reversed(fields[1:]))))}",
                advice="Repair or remove that line; the file may be cut short there.",
            )
        if word in wanted and word not in vectors:
            bad = [field for field in fields[-dim:] if not _is_number(field)]
            if bad:
                raise InputError(
                    f'"{path}"',
                    f'have a word and {dim} numbers per line; line {number} ("{_text(word)}") '
                    f'has "{_text(bad[0])}" '
                    "among them",
                )
            vectors[word] = np.array(fields[-dim:], dtype=np.float64)
    return vectors, count


def _scan_binary(
    file: BinaryIO, dim: int, count: int, wanted: set[bytes], path: Path, tick: Callable[[], None]
) -> Vectors:
    """Return the vectors of wanted words."""
    vectors: Vectors = {}
    width = 4 * dim
    block, at = b"", 0
    for index in range(count):
        end = block.find(b" ", at)
        if end < 0 or end + 1 + width > len(block):
            block, at = block[at:] + file.read(BLOCK + width), 0
            end = block.find(b" ")
            if end < 0 or end + 1 + width > len(block):
                raise InputError(
                    f'"{path}"',
                    f"have {count:,} words with {dim} float32 each, as its first line says; it "
                    f"ends after {index:,}",
                    advice="It is cut short: copy or download it again.",
                )
            tick()
        # word2vec ends each vector in a newline, gensim does not
        word = block[at:end].lstrip(b"\n")
        if word in wanted and word not in vectors:
            vectors[word] = np.frombuffer(block, "<f4", dim, end + 1).astype(np.float64)
        at = end + 1 + width
    return vectors


def _text(word: bytes) -> str:
    return word[:40].decode(errors="replace")
