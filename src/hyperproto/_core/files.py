"""Writing so that nothing already written is lost: beside, then renamed."""

import glob
import json
import math
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError

__all__ = [
    "append_json_line",
    "check_can_write",
    "new_folder",
    "plain",
    "read_json",
    "read_json_lines",
    "remove_unfinished",
    "replacing",
    "unfinished",
    "write_json",
    "write_json_lines",
]


def check_can_write(path: str | Path) -> None:
    """Raise a sentence where a file cannot be written; worth asking before long work."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f'"{path}" is a folder; a file is to be written there. Give a file name inside it.')
    if not path.parent.is_dir():
        raise InputError(f'"{path.parent}" must be a folder to write "{path.name}" into. Create it first.')
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f'"{path}" cannot be written: {reason}. Choose another place.') from None


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it over ``path`` once the block has succeeded.

    A reader sees the old file or the new one, never half of either, and a failure leaves the old one alone. Contents
    reach the disk before the new name does, and the name before this returns, so a power cut is no exception.
    """
    path = Path(path)
    check_can_write(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)  # mkstemp makes private files; these are ordinary ones
        beside.replace(path)
        _sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def remove_unfinished(folder: Path, names: Collection[str]) -> None:
    """Remove what :func:`replacing` left of files of these names when it was killed, and nothing else."""
    for path in unfinished(folder, names):
        path.unlink(missing_ok=True)


def unfinished(folder: Path, names: Collection[str]) -> list[Path]:
    """Return the temporary files of :func:`replacing` for these names."""
    return [path for name in names for path in folder.glob(f".{glob.escape(name)}.*.part")]


def _sync_folder(path: Path) -> None:
    """Make sure that a new name is on disk; some systems cannot open a folder, and need not."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON, beside and renamed."""
    text = json.dumps(plain(value), indent=2, allow_nan=False) + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def append_json_line(path: str | Path, value: Any) -> None:
    """Append ``value`` as one line of JSON."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(_line(value))


def write_json_lines(path: str | Path, values: Iterable[Any]) -> None:
    """Write each of ``values`` as one line of JSON, beside and renamed."""
    with replacing(path) as beside:
        beside.write_text("".join(map(_line, values)), encoding="utf-8")


def read_json_lines(path: str | Path) -> list[Any]:
    """Read a file of JSON lines, without a last line that was cut short; no file is no lines."""
    path = Path(path)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    values = []
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f'Line {number} of "{path}" is not readable as JSON ({error}).') from None
    return values


def _line(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Return what JSON can hold: numpy's numbers as Python's, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(path: str | Path) -> Any:
    """Read a JSON file, or say in a sentence why it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also numbers of too many digits, brackets nested too deep
        raise InputError(f'"{path}" is not readable as JSON ({error}). It may be cut short.') from None


def new_folder(path: str | Path, *, apart_from: Collection[str] = ()) -> Path:
    """Create a folder that must not hold anything yet, apart from files of the given names."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise InputError(f'"{path}" must be a folder; it is a file. Choose another name.')
    if path.is_dir() and any(held.name not in apart_from for held in path.iterdir()):
        run = (path / "config.json").is_file()
        advice = "Continue the run in it with resume=True, or choose another." if run else "Choose another."
        raise InputError(f'Folder "{path}" already exists and is not empty. {advice}')
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass  # the folder can really be written to
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f'Folder "{path}" cannot be written: {reason}. Choose another place.') from None
    return path
