"""Records of cells that are done: a line for each, sorted by address, in ``records/paper.jsonl`` or
``records/beyond.jsonl``; ``outcomes.jsonl`` has what became of each test image, where that was
stored.
"""

import base64
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json_lines, write_json_lines
from hyperproto._core.schema import read_plain
from reproduction.cell import Cell

FORMAT = "hyperproto.cell/2"
OUTCOMES = "outcomes.jsonl"
BEYOND = "beyond-"  # what names of tables that the paper does not have begin with


@dataclass(frozen=True)
class Record:
    """The parts of the line that a cell which is done leaves."""

    format: str
    cell: dict[str, Any]
    state: str
    measures: dict[str, Real | None]
    epochs: tuple[dict[str, Any], ...] = ()
    protocol: dict[str, Any] = field(default_factory=dict)
    times: dict[str, Any] = field(default_factory=dict)


def records_file(results: Path, name: str) -> Path:
    """Return where the records of a table are: all of the paper's in one file, and all that go
    beyond it in another.
    """
    return results / "records" / ("beyond.jsonl" if name.startswith(BEYOND) else "paper.jsonl")


def write_record(results: Path, name: str, record: dict[str, Any]) -> None:
    """Add a record to those of its table and scale, or put it in the place of the one before.

    What became of each test image goes to a file of its own, so that records stay readable.
    """
    if outcomes := record.get("outcomes"):
        _put(results / OUTCOMES, {"address": record["address"], "outcomes": outcomes})
    _put(
        records_file(results, name),
        {key: value for key, value in record.items() if key != "outcomes"},
    )


def _put(path: Path, line: dict[str, Any]) -> None:
    """Add a line by its address.

    Processes may write at once, also those of other machines that share the folder: each reads, adds
    its own and renames a new file, while it holds a lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        lines = {one["address"]: one for one in read_json_lines(path)}
        lines[line["address"]] = line
        write_json_lines(path, [lines[address] for address in sorted(lines)])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes to a folder, and keep them from it; Windows has no such
    locks.
    """
    with (folder / ".lock").open("w") as file:
        if os.name != "nt":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def find_record(results: Path, cell: Cell, name: str = "*") -> dict[str, Any] | None:
    """Return the record of a cell, of its own table or of another one that has the same cell; None
    if not done.
    """
    own = records_file(results, name)
    files = (results / "records").glob("*.jsonl")
    for path in sorted(files, key=lambda path: path != own):
        if (record := _records(path).get(cell.address)) is not None:
            return record
    return None


def find_outcomes(results: Path, address: str) -> dict[str, NDArray[Any]]:
    """Return what became of each test image in a run, by measure: whether its class was right, or
    the absolute error of its number. Empty where it was not stored.
    """
    path = results / OUTCOMES
    packed = _read_outcomes(path, *_state(path)).get(address, {}) if path.is_file() else {}
    return {name: unpack(text) for name, text in packed.items()}


def pack(values: NDArray[Any]) -> str:
    """Return outcomes as text: a bit for each truth, two bytes for each number.

    >>> unpack(pack(np.array([True, False, True]))).tolist()
    [True, False, True]
    """
    is_bit = values.dtype == bool
    data = np.packbits(values) if is_bit else values.astype("<f2")
    text = base64.b64encode(zlib.compress(data.tobytes(), 9)).decode()
    return f"{'bits' if is_bit else 'float16'} {len(values)} {text}"


def unpack(text: str) -> NDArray[Any]:
    """Return what :func:`pack` was given, numbers to three digits."""
    kind, length, packed = text.split()
    data = zlib.decompress(base64.b64decode(packed))
    if kind == "bits":
        bits = np.frombuffer(data, dtype=np.uint8)
        return np.unpackbits(bits, count=int(length)).astype(bool)
    return np.frombuffer(data, dtype="<f2").astype(np.float32)


def _records(path: Path) -> Mapping[str, dict[str, Any]]:
    """Return the records of a file by address, read once as long as it does not change."""
    return _read(path, *_state(path))


def _state(path: Path) -> tuple[int, int, int]:
    """Return what changes whenever a file is written."""
    about = path.stat()
    return about.st_mtime_ns, about.st_size, about.st_ino


@lru_cache(maxsize=2)
def _read_outcomes(path: Path, *_: int) -> dict[str, dict[str, str]]:
    return {line["address"]: line["outcomes"] for line in read_json_lines(path)}


@lru_cache(maxsize=128)
def _read(path: Path, *_: int) -> dict[str, dict[str, Any]]:
    records: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(read_json_lines(path), start=1):
        what = f'Line {number} of "{path}"'
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise InputError(what, f"be a record of format {FORMAT}")
        address = Cell.from_dict(read_plain(Record, record, what).cell).address
        if record.get("address") != address or address in records:
            raise InputError(
                what,
                "be the record of the cell that it names, and the only one",
                advice="Remove it.",
            )
        records[address] = record
    return records
