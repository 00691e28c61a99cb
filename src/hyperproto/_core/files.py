"""Files written so that nothing already there is lost, whenever a process is killed.

A file is written beside its place, in a temporary folder, and renamed. Temporary folders are locked
while they are in use: one that can be locked was left by a process that was killed, and the next
file that is written next to it removes it.
"""

import errno
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from hyperproto._core.checks import check_no_pipe
from hyperproto._core.errors import HyperprotoError, InputError, StorageError
from hyperproto._core.schema import read_plain
from hyperproto._version import __version__

PREFIX, SUFFIX = ".hyperproto-", ".part"  # of temporary folders
NEW = "new"  # the file in them
SHOWN = 60  # characters of a path that cannot be
T = TypeVar("T")
Plain: TypeAlias = dict[str, Any]  # an object of JSON
NO_LOCKS = -1  # in place of a handle
_locked: set[int] = set()  # handles by which this process holds locks


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path as such; every one that a user gives goes through here. Raise where no file can
    be called so.
    """
    path = Path(path)
    try:
        os.lstat(path)
    except ValueError as error:
        reason = str(error)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return path
        reason = error.strerror or ""
    else:
        return path
    advice = f"Choose another than {str(path)[:SHOWN]!a}."  # not all of it can be printed
    raise InputError("A path", f"be one that the system allows ({reason})", advice=advice)


def check_can_write(path: str | Path) -> None:
    """Raise an error where a file cannot be written; worth checking before long work."""
    path = as_path(path)
    if path.is_dir():
        advice = "Give a file name inside it."
        raise InputError(f'"{path}"', "be a file to write", "a folder", advice)
    if not path.parent.is_dir():
        rule = f'be a folder to write "{path.name}" into'
        raise InputError(f'"{path.parent}"', rule, advice="Create it first.")
    _try_writing(path.parent, f'"{path}"')


def make_folder(path: Path) -> Path:
    """Create a folder that may be there; raise where it cannot be written to."""
    if path.exists() and not path.is_dir():
        raise InputError(f'"{path}"', "be a folder", "a file", "Choose another name.")
    _try_writing(path, f'Folder "{path}"')
    return path


def _try_writing(folder: Path, what: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{what} cannot be written: {reason}.", advice="Choose another place."
        ) from None


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a path to write a file to; rename it to ``path`` once the block has succeeded.

    A reader sees the old file or the new one, never half of either, and a failure leaves the old
    one alone.
    """
    path = Path(path)
    check_can_write(path)
    with explaining(path):
        remove_leftovers(path.parent)
        # a folder, since safetensors leaves files of its own beside one that it is killed writing
        place, handle = _new_temporary(path.parent)
        temporary = place / NEW
        try:
            temporary.touch()
            mode = temporary.stat().st_mode  # safetensors makes private files; these are ordinary
            yield temporary
            temporary.chmod(mode)
            sync(temporary)  # or the new name could outlive a power cut that its contents do not
            temporary.replace(path)
            sync(path.parent)
        finally:
            shutil.rmtree(place, ignore_errors=True)
            _release(handle)


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn a failure to write a file, of whatever kind, into a sentence."""
    from safetensors import (
        SafetensorError,  # here, since commands that write nothing need not load it
    )

    try:
        yield
    except HyperprotoError:
        raise
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or re.sub(
            r"^.*error: | \(os error \d+\)$", "", str(error)
        )
        got, advice = None, ""
        if path.parent.is_dir() and re.search("space|quota|too large", reason, re.IGNORECASE):
            got = f"a disk with {shutil.disk_usage(path.parent).free / 1e6:,.1f} MB free"
            advice = "Make room. What was there before is intact."
        raise StorageError(
            f'"{path}"', f"be a file that can be written ({reason})", got, advice
        ) from error


def _new_temporary(folder: Path) -> tuple[Path, int]:
    """Return a new folder, and a handle that locks it."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX, dir=folder))
        with suppress(BlockingIOError, FileNotFoundError):  # taken for a leftover, and removed
            return place, _lock(place)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders whose process is gone."""
    for path in filter(_is_temporary, folder.glob(f"{PREFIX}*{SUFFIX}")):
        with suppress(OSError):
            handle = _lock(path)
            if handle != NO_LOCKS:
                shutil.rmtree(path, ignore_errors=True)
            _release(handle)


def _is_temporary(path: Path) -> bool:
    """Whether a path is a temporary folder of ours; one of somebody else holds other files."""
    if path.is_symlink() or not (path.name.startswith(PREFIX) and path.name.endswith(SUFFIX)):
        return False
    try:
        return all(name == NEW or name.startswith(".tmp") for name in os.listdir(path))
    except OSError as error:
        return error.errno == errno.ENOENT  # removed at this moment


def _lock(folder: Path) -> int:
    """Return a handle that locks a folder until it is released, or the process is gone.

    Raise BlockingIOError where another handle does.
    """
    try:
        import fcntl  # which Windows has not
    except ImportError:
        return NO_LOCKS
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samefile(folder, handle):  # removed before it was locked, and made again
            raise BlockingIOError
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError | FileNotFoundError):
            raise
        return NO_LOCKS  # of a network drive
    _locked.add(handle)
    return handle


def _release(handle: int) -> None:
    if handle in _locked:
        _locked.discard(handle)
        os.close(handle)


def _release_all() -> None:
    for handle in [*_locked]:
        _release(handle)


if hasattr(os, "register_at_fork"):  # a child must not keep others out when its parent is gone
    os.register_at_fork(after_in_child=_release_all)


def sync(path: Path) -> None:
    """Have the contents of a file, or the names in a folder, reach the disk."""
    # some systems cannot open a folder, or not sync it
    with suppress(OSError) if path.is_dir() else nullcontext():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: str | Path, value: object) -> None:
    """Write ``value`` as indented JSON, by :func:`replacing`."""
    text = json.dumps(plain(value), indent=2, allow_nan=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json_lines(path: str | Path, values: Iterable[object]) -> None:
    """Write each of ``values`` as one line of JSON, by :func:`replacing`."""
    with replacing(path) as temporary:
        lines = (json.dumps(plain(value), allow_nan=False) + "\n" for value in values)
        temporary.write_text("".join(lines), encoding="utf-8")


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


def read_records(kind: type[object], path: Path) -> list[Plain]:
    """Read a file of JSON lines that each hold the fields of a dataclass."""
    lines: list[Plain] = read_json_lines(path)
    for number, line in enumerate(lines, 1):
        read_plain(kind, line, f'Line {number} of "{path}"')
    return lines


def plain(value: T) -> T:
    """Return what JSON can express: numpy's numbers as Python's, lists for tuples, null for what is
    not finite.
    """
    text = json.dumps(value, default=lambda number: number.item())
    return json.loads(text, parse_constant=lambda name: None)


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of hyperproto, torch, further packages and Python, as files note what
    made them.
    """
    others = {name: metadata.version(name) for name in ("torch", *packages)}
    return {"hyperproto": __version__, **others, "python": platform.python_version()}


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    check_no_pipe(path)
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also too many digits, or too deep
        raise _not_json(f'"{path}"', error) from None


def _not_json(what: str, error: Exception) -> InputError:
    return InputError(f"{what} is not readable as JSON ({error}).", advice="It may be cut short.")


def read_text(path: str | Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark."""
    check_no_pipe(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f'"{path}"', "be text in UTF-8", f"another byte at {error.start}", "Save it as such."
        ) from None


def new_folder(
    path: str | Path, *, except_for: Collection[str] = (), advice: str = "Choose another."
) -> Path:
    """Create a folder that must not hold anything yet, except for files of the given names and
    leftovers of ours.
    """
    path = as_path(path)
    if path.is_dir() and names_in(path) - {*except_for}:
        raise InputError(f'Folder "{path}"', "be new or empty", "one with files", advice)
    return make_folder(path)


def names_in(folder: Path) -> set[str]:
    """Return the names of what is in a folder, without leftovers of ours."""
    return {path.name for path in folder.iterdir() if not _is_temporary(path)}


@contextmanager
def owning(folder: Path) -> Iterator[None]:
    """Keep other processes and threads from writing to a folder while the block lasts, where the
    system has locks.
    """
    try:
        handle = _lock(folder)
    except (BlockingIOError, FileNotFoundError):
        rule, got = "be used by one process at a time", "one that another is writing to"
        advice = "Wait until the other has ended, or choose another."
        raise InputError(f'Folder "{folder}"', rule, got, advice) from None
    try:
        yield
    finally:
        _release(handle)
