"""Running through a file of word vectors once, and keeping the few words that are wanted."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto.priors.layout import Layout, is_number

__all__ = ["scan_binary", "scan_text"]

BLOCK = 1 << 18  # bytes at a time: within a core's cache
Found = dict[bytes, NDArray[np.float64]]


def scan_text(
    file: BinaryIO, layout: Layout, wanted: set[bytes], path: Path, tick: Callable[[], None]
) -> tuple[Found, int]:
    """Return the vectors of the wanted words, the first of each, and how many words the file holds.

    Only lines of wanted words are read as numbers. The others are checked by counting separators over many lines at
    once, and one by one where that sum is off.
    """
    found: Found = {}
    file.seek(layout.start)
    first = after = 1 if layout.start == 0 else 2  # lines are counted from one
    blank = 0
    while lines := file.readlines(BLOCK):
        if _is_regular(lines, layout):
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


def _is_regular(lines: list[bytes], layout: Layout) -> bool:
    """Say whether lines have as many separators in all as they should."""
    text = np.frombuffer(b"".join(lines), np.uint8)  # compared by numpy in a quarter of the time bytes.count takes
    return int(np.count_nonzero(text == layout.separator[0])) == layout.separators * len(lines)


def _word(line: bytes, number: int, layout: Layout, path: Path) -> bytes:
    """Return the word of a line, none for a blank one, or say that the line has the wrong dimension.

    GloVe's largest file has words with spaces in them, such as ``. . .``; what precedes the numbers is the word
    unless it ends in a number itself.
    """
    if line.isspace():
        return b""
    fields = line.rstrip().split(layout.separator)
    extra = len(fields) - 1 - layout.dim
    if extra < 0 or (extra > 0 and is_number(fields[extra])):
        start = next((i for i in range(1, len(fields)) if all(map(is_number, fields[i:]))), len(fields))
        raise _wrong_dimension(fields[0], number, len(fields) - start, layout, path)
    return layout.separator.join(fields[: extra + 1])


def _numbers(line: bytes, word: bytes, number: int, layout: Layout, path: Path) -> NDArray[np.float64]:
    fields = line[len(word) :].split()
    if len(fields) != layout.dim:
        raise _wrong_dimension(word, number, len(fields), layout, path)
    try:
        return np.array([float(field) for field in fields])
    except ValueError:
        bad = next(field for field in fields if not is_number(field))
        raise InputError(
            f'"{path}" must hold a word and {layout.dim} numbers a line; line {number} ("{_text(word)}") has '
            f'"{_text(bad)}" among them.'
        ) from None


def _wrong_dimension(word: bytes, number: int, count: int, layout: Layout, path: Path) -> InputError:
    return InputError(
        f'"{path}" must hold {layout.dim} numbers a line, as it begins; line {number} ("{_text(word)}") has {count}. '
        "Repair or remove that line; the file may be cut short there."
    )


def scan_binary(
    file: BinaryIO, layout: Layout, wanted: set[bytes], path: Path, tick: Callable[[], None]
) -> tuple[Found, int]:
    """Return the vectors of the wanted words, the first of each, and how many words the file holds."""
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
                    f'"{path}" must hold {count:,} words with {layout.dim} float32 each, as its first line says; '
                    f"it ends after {index:,}. It is cut short: copy or fetch it again."
                )
            tick()
        word = block[at:end].lstrip(b"\n")  # word2vec ends each vector in a newline, gensim does not
        if word in wanted and word not in found:
            found[word] = np.frombuffer(block, "<f4", layout.dim, end + 1).astype(np.float64)
        at = end + 1 + width
    return found, count


def _text(word: bytes) -> str:
    return word[:40].decode(errors="replace")
