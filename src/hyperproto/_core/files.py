"""Writing so that nothing already written is lost: beside, then renamed."""

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError

__all__ = ["append_json_line", "check_can_write", "new_folder", "read_json", "replacing", "write_json"]


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

    A reader sees the old file or the new one, never half of either, and a failure leaves the old one alone.
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
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON, beside and renamed."""
    text = json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def append_json_line(path: str | Path, value: Any) -> None:
    """Append ``value`` as one line of JSON."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(_plain(value), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """Return what JSON can hold: numpy's numbers as Python's, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(path: str | Path) -> Any:
    """Read a JSON file, or say in a sentence why it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'"{path}" is not readable as JSON ({error}). It may be cut short.') from None


def new_folder(path: str | Path) -> Path:
    """Create a folder that must not hold anything yet."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise InputError(f'"{path}" must be a folder; it is a file. Choose another name.')
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f'Folder "{path}" already exists and is not empty. Choose another, or remove it.')
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass  # the folder can really be written to
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f'Folder "{path}" cannot be written: {reason}. Choose another place.') from None
    return path
