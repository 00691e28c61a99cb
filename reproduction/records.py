"""Records of cells that are done: ``records/NAME-SCALE.jsonl`` has one line for each, sorted by
address; ``outcomes/NAME-SCALE.jsonl`` has what became of each test image, where that was stored.
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


def records_file(results: Path, name: str, cell: Cell) -> Path:
    """Return where the record of a cell of a table is written."""
    return results / "records" / f"{name}-{cell.scale}.jsonl"


def write_record(results: Path, name: str, record: dict[str, Any]) -> None:
    """Add a record to those of its table and scale, or put it in the place of the one before.

    What became of each test image goes to a file of its own, so that records stay readable.
    """
    path = records_file(results, name, Cell.from_dict(record["cell"]))
    if outcomes := record.get("outcomes"):
        beside = path.parents[1] / "outcomes" / path.name
        _put(beside, {"address": record["address"], "outcomes": outcomes})
    _put(path, {key: value for key, value in record.items() if key != "outcomes"})


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
    own = records_file(results, name, cell)
    files = (results / "records").glob(f"*-{cell.scale}.jsonl")
    for path in sorted(files, key=lambda path: path != own):
        if (record := _records(path).get(cell.address)) is not None:
            return record
    return None


def find_outcomes(results: Path, address: str) -> dict[str, NDArray[Any]]:
    """Return what became of each test image in a run, by measure: whether its class was right, or
    the absolute error of its number. Empty where it was not stored.
    """
    for path in sorted((results / "outcomes").glob("*.jsonl")):
        for line in read_json_lines(path):
            if line["address"] == address:
                return {name: unpack(text) for name, text in line["outcomes"].items()}
    return {}


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
    about = path.stat()
    return _read(path, about.st_mtime_ns, about.st_size, about.st_ino)


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
