"""Files written so that nothing already there is lost: a temporary file first, then renamed."""

import glob
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError, arg


def check_can_write(path: str | Path) -> None:
    """Raise an error where a file cannot be written; worth checking before long work."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f'"{path}"', "be a file to write", "a folder", "Give a file name inside it.")
    if not path.parent.is_dir():
        raise InputError(f'"{path.parent}"', f'be a folder to write "{path.name}" into', advice="Create it first.")
    _try_writing(path.parent, f'"{path}"')


def _try_writing(folder: Path, what: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_writable(what, error) from None


def _not_writable(what: str, error: OSError) -> InputError:
    return InputError(f"{what} cannot be written: {error.strerror or error}.", advice="Choose another place.")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path next to ``path``; rename it to ``path`` once the block has succeeded.

    A reader sees the old file or the new one, never half of either, and a failure leaves the old one alone. Contents
    reach the disk before the new name does, and the name before this returns, so a power cut is no exception.
    """
    path = Path(path)
    check_can_write(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes private files; these are ordinary ones
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(folder: Path, names: Collection[str]) -> None:
    """Remove what :func:`replacing` left of files of these names when it was killed, and nothing else."""
    for path in unfinished(folder, names):
        path.unlink(missing_ok=True)


def unfinished(folder: Path, names: Collection[str]) -> list[Path]:
    """Return the temporary files of :func:`replacing` for these names."""
    return [path for name in names for path in folder.glob(f".{glob.escape(name)}.*.part")]


def _sync_folder(path: Path) -> None:
    """Write a new name to disk; some systems cannot open a folder, and need not."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON, by :func:`replacing`."""
    text = json.dumps(plain(value), indent=2, allow_nan=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def append_json_line(path: str | Path, value: Any) -> None:
    """Append ``value`` as one line of JSON."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(_line(value))


def write_json_lines(path: str | Path, values: Iterable[Any]) -> None:
    """Write each of ``values`` as one line of JSON, by :func:`replacing`."""
    with replacing(path) as temporary:
        temporary.write_text("".join(map(_line, values)), encoding="utf-8")


def read_json_lines(path: str | Path) -> list[Any]:
    """Read a file of JSON lines, without a last line that was cut short; no file is no lines."""
    path = Path(path)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    values = []
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise _not_json(f'Line {number} of "{path}"', error) from None
    return values


def _line(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Return what JSON can express: numpy's numbers as Python's, and null for what is not finite."""
    text = json.dumps(value, default=lambda number: number.item())
    return json.loads(text, parse_constant=lambda name: None)


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also numbers of too many digits, brackets nested too deep
        raise _not_json(f'"{path}"', error) from None


def _not_json(what: str, error: Exception) -> InputError:
    return InputError(f"{what} is not readable as JSON ({error}).", advice="It may be cut short.")


def read_text(path: str | Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f'"{path}"', "be text in UTF-8", f"another byte at {error.start}", "Save it as such."
        ) from None


def new_folder(path: str | Path, *, except_for: Collection[str] = ()) -> Path:
    """Create a folder that must not hold anything yet, except for files of the given names."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise InputError(f'"{path}"', "be a folder", "a file", "Choose another name.")
    if path.is_dir() and any(file.name not in except_for for file in path.iterdir()):
        advice = "Choose another."
        if (path / "config.json").is_file():
            advice = f"Continue the run in it with {arg('resume', True)}, or choose another."
        raise InputError(f'Folder "{path}"', "be new or empty", "one with files", advice)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(f'Folder "{path}"', error) from None
    _try_writing(path, f'Folder "{path}"')
    return path
