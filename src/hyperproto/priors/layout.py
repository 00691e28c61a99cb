"""How a file of word vectors is laid out, told from its first bytes and not only from its name.

=============  ==========================================================================
GloVe text     ``word 0.1 0.2 ...`` a line
word2vec text  the same after a line ``count dim``; fastText's ``.vec`` is this, too
word2vec       after a line ``count dim``: a word, a space, ``dim`` raw float32; again and again
.npy           numpy's array file
=============  ==========================================================================

Each of them may be gzipped.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hyperproto._core.errors import InputError

__all__ = ["HEAD", "Layout", "is_number", "tell_layout"]

HEAD = 1 << 20  # bytes that are looked at; the first line of any real file is far shorter
HEADER = re.compile(rb"\s*(\d+)[ \t]+(\d+)[ \t\r]*\n")
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?nan|[+-]?inf", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Layout:
    """How to read a file: its kind, and for words with vectors their dimension.

    ``start`` is where the words begin, in bytes; ``count`` is how many there are, where the file says so. A line of
    text has as many ``separators`` as numbers, or one more where lines end in one, as word2vec and fastText write.
    """

    kind: Literal["npy", "text", "binary"]
    dim: int = 0
    count: int | None = None
    start: int = 0
    separator: bytes = b" "
    separators: int = 0


def tell_layout(head: bytes, path: Path) -> Layout:
    """Return the layout of a file that begins with ``head``, or say what the file is instead."""
    if head.startswith(b"\x93NUMPY"):
        return Layout("npy")
    if head.startswith((b"PK\x03\x04", b"\x80")):
        raise InputError(
            f'"{path}" must hold word vectors as text, as word2vec\'s binary or as .npy; it is a zip or pickle file. '
            "Write it with gensim's save_word2vec_format, or with numpy.save."
        )
    header = HEADER.match(head)
    if header is None:
        return _headless(head, path)
    count, dim, start = int(header[1]), int(header[2]), header.end()
    if dim == 0:
        raise InputError(f'"{path}" must hold vectors of at least one number; its first line says "{count} {dim}".')
    line = head[start:].partition(b"\n")[0]
    separator = _separator(line)
    if _trailing_numbers(line.split(separator)) < dim and _is_binary(head[start:], path):
        return Layout("binary", dim, count, start)
    return _text(dim, count, start, separator, line)


def is_number(field: bytes) -> bool:
    """Say whether a field is written as a number."""
    return NUMBER.fullmatch(field) is not None


def _headless(head: bytes, path: Path) -> Layout:
    line, newline, _ = head.partition(b"\n")
    separator = _separator(line)
    dim = _trailing_numbers(line.split(separator))
    if dim == 0 or (not newline and len(head) == HEAD):
        raise InputError(
            f'"{path}" must hold word vectors; its first line is neither a word and its numbers nor "count dim": '
            f"{line[:40]!r}."
        )
    return _text(dim, None, 0, separator, line)


def _text(dim: int, count: int | None, start: int, separator: bytes, line: bytes) -> Layout:
    trailing = line.rstrip(b"\r").endswith(separator)
    return Layout("text", dim, count, start, separator, dim + trailing)


def _separator(line: bytes) -> bytes:
    return b"\t" if line.count(b"\t") > line.count(b" ") else b" "


def _trailing_numbers(fields: list[bytes]) -> int:
    """Return how many fields at the end of a line are numbers, short of all of them: the first is the word."""
    while fields and not fields[-1].strip():
        fields = fields[:-1]
    count = 0
    for field in reversed(fields[1:]):
        if not is_number(field.strip()):
            break
        count += 1
    return count


def _is_binary(body: bytes, path: Path) -> bool:
    """Say whether bytes hold raw numbers; asked where the first line does not read as text."""
    if ".bin" in path.suffixes or CONTROL.search(body):
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"  # the end of the head may lie within a letter
    return False
