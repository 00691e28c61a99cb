"""Files written so that nothing already there is lost: in a temporary folder first, then renamed.

This module alone knows how files and folders are written, replaced, recognized as leftovers, and
locked. A temporary folder is locked as long as it is in use, so one that can be locked is a
leftover of a process that was killed; it is removed, with what a library may have put next to the
file, when the next file is written to the folder it is in.
"""

import errno
import filecmp
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from hyperproto._core.checks import check_no_pipe
from hyperproto._core.errors import HyperprotoError, InputError, StorageError
from hyperproto._core.schema import read_plain
from hyperproto._version import __version__

PREFIX, SUFFIX = ".hyperproto-", ".part"  # of temporary folders
LOCK, NEW = "lock", "new"  # files in them: flock on a folder would not reach other machines
WAITING, FORMER = (
    ".hyperproto-new",
    "former",
)  # folder of new files, and in it the closing file of the old ones
SHOWN = 60  # characters of a path that cannot be
T = TypeVar("T")
NamesOf = Callable[[Path], Collection[str]]
_locked: set[int] = set()  # handles by which this process holds locks


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path as such; every one that a user gives goes through here. Raise where no file can
    be called so.
    """
    path = Path(path)
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            advice = f"Choose another than {str(path)[:SHOWN]!a}."  # not all of it can be printed
            raise InputError(
                "A path", f"be one that the system allows ({reason})", advice=advice
            ) from None
    return path


def check_can_write(path: str | Path) -> None:
    """Raise an error where a file cannot be written; worth checking before long work."""
    path = as_path(path)
    if path.is_dir():
        raise InputError(
            f'"{path}"', "be a file to write", "a folder", "Give a file name inside it."
        )
    if not path.parent.is_dir():
        raise InputError(
            f'"{path.parent}"',
            f'be a folder to write "{path.name}" into',
            advice="Create it first.",
        )
    _try_writing(path.parent, f'"{path}"')


def _try_writing(folder: Path, what: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_writable(what, error) from None


def _not_writable(what: str, error: OSError) -> InputError:
    return InputError(
        f"{what} cannot be written: {error.strerror or error}.", advice="Choose another place."
    )


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path in a folder next to ``path``; rename it to ``path`` once the block has
    succeeded.

    A reader sees the old file or the new one, never half of either, and a failure leaves the old
    one alone. Contents reach the disk before the new name does, and the name before this returns,
    so a power cut is no exception. What a killed process left in the folder is removed on the way.
    """
    path = Path(path)
    check_can_write(path)
    with explaining(path):
        remove_leftovers(path.parent)
        temporary, handle = _new_temporary(path.parent)
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(
                0o666 & ~mask
            )  # safetensors makes private files; these are ordinary ones
            temporary.replace(path)
            _sync_folder(path.parent)
        finally:
            _release(handle)
            shutil.rmtree(temporary.parent, ignore_errors=True)


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
    """Return the path of a file to write in a new folder that is locked, so that nobody takes it
    for a leftover.
    """
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX, dir=folder))
        with suppress(FileNotFoundError):
            handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT)
            if _lock(handle) is not False and (place / LOCK).exists():
                return place / NEW, handle
            _release(handle)  # another process was faster, and has removed it


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders whose process is gone."""
    for path in _temporary(folder):
        with suppress(OSError):
            handle = os.open(path / LOCK if path.is_dir() else path, os.O_RDWR | os.O_CREAT)
            try:
                if _lock(handle):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                _release(handle)


def _temporary(folder: Path) -> list[Path]:
    """Return our temporary folders, and temporary files of versions that had none."""
    named = [path for path in folder.glob(f"{PREFIX}*{SUFFIX}") if not path.is_symlink()]
    return [path for path in named if path.is_file() or (path.is_dir() and _is_ours(path))]


def _is_ours(place: Path) -> bool:
    """Whether a folder has nothing but what is written to temporary ones, and what safetensors
    leaves there.
    """
    with suppress(FileNotFoundError):  # another process may remove it
        return all(
            path.name in (LOCK, NEW) or path.name.startswith(".tmp") for path in place.iterdir()
        )
    return True


def _open_folder(path: Path) -> int:
    """Return a handle of a folder, or -1 on Windows, which has none."""
    try:
        return os.open(path, os.O_RDONLY)
    except PermissionError:
        return -1


def _lock(handle: int) -> bool | None:
    """Whether what a handle is open on is now locked by it, until :func:`_release`; None where
    there are no locks.
    """
    try:
        import fcntl  # which Windows has not

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError, ValueError):
        return None
    _locked.add(handle)
    return True


def _release(handle: int) -> None:
    _locked.discard(handle)
    with suppress(OSError):
        os.close(handle)


def _release_all() -> None:
    for handle in [*_locked]:
        _release(handle)


if hasattr(os, "register_at_fork"):  # a child must not keep others out when its parent is gone
    os.register_at_fork(after_in_child=_release_all)


def _sync_folder(path: Path) -> None:
    """Write a new name to disk; some systems cannot open a folder, and need not."""
    handle = _open_folder(path)
    with suppress(OSError):
        os.fsync(handle)
    _release(handle)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON, by :func:`replacing`."""
    text = json.dumps(plain(value), indent=2, allow_nan=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def append_json_line(path: str | Path, value: Any) -> None:
    """Append ``value`` as one line of JSON."""
    with explaining(Path(path)), Path(path).open("a", encoding="utf-8") as file:
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


def read_records(kind: type[Any], path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines that each hold the fields of a dataclass."""
    lines: list[dict[str, Any]] = read_json_lines(path)
    for number, line in enumerate(lines, 1):
        read_plain(kind, line, f'Line {number} of "{path}"')
    return lines


def _line(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False) + "\n"


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
    except (
        ValueError,
        RecursionError,
    ) as error:  # also numbers of too many digits, brackets nested too deep
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
    if path.exists() and not path.is_dir():
        raise InputError(f'"{path}"', "be a folder", "a file", "Choose another name.")
    if path.is_dir() and names_in(path) - {*except_for}:
        raise InputError(f'Folder "{path}"', "be new or empty", "one with files", advice)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(f'Folder "{path}"', error) from None
    _try_writing(path, f'Folder "{path}"')
    return path


def names_in(folder: Path) -> set[str]:
    """Return the names of what is in a folder, without leftovers of ours."""
    return {path.name for path in folder.iterdir()} - {path.name for path in _temporary(folder)}


@contextmanager
def owning(folder: Path) -> Iterator[None]:
    """Keep other processes and threads from writing to a folder while the block lasts, where the
    system has locks.
    """
    handle = _open_folder(folder)
    try:
        # one that another process removed after it was opened here can be locked, too
        if _lock(handle) is False or (
            handle >= 0 and not (folder.exists() and os.path.samefile(folder, handle))
        ):
            rule, advice = (
                "be used by one process at a time",
                "Wait until the other has ended, or choose another.",
            )
            raise InputError(f'Folder "{folder}"', rule, "one that another is writing to", advice)
        yield
    finally:
        _release(handle)


@contextmanager
def filling(
    folder: str | Path, closing: str, names_of: NamesOf = lambda path: ()
) -> Iterator[Path]:
    """Give an empty folder to write files into; all of them appear in ``folder`` once the block has
    succeeded.

    The file ``closing`` makes a folder whole. New files wait in a folder inside this one; then the
    old closing file goes, the other old files go, the new ones come, and the new closing file comes
    last: at any moment either the old files or the new ones are whole, and :func:`whole` tells
    where. A call that was killed is completed, or undone, by the next one.

    Parameters
    ----------
    folder : path
        Must be new or empty, or hold only what may be replaced, or exactly what the block writes,
        after a kill.
    closing : str
    names_of : callable, optional
        Given the path of a closing file, the names of all files that came with it and may be
        replaced.
    """
    folder = as_path(folder)
    made = not folder.exists()
    new_folder(folder, except_for=names_in(folder) if folder.is_dir() else ())
    waiting = folder / WAITING
    with owning(folder), explaining(folder):
        was_killed = waiting.is_dir()
        if was_killed:
            _install(waiting, closing, names_of)
        present = names_in(folder)
        allowed = (
            present <= {*names_of(folder / closing)}
            if (folder / closing).is_file()
            else not present
        )
        if not allowed and not was_killed:
            new_folder(folder)
        try:
            waiting.mkdir()
            yield waiting
            if not allowed and not _same_files(waiting, folder, present):
                new_folder(folder, except_for=[WAITING])
        except BaseException:
            shutil.rmtree(waiting, ignore_errors=True)
            if made:
                with suppress(OSError):
                    folder.rmdir()
            raise
        if allowed and present:
            (folder / closing).replace(waiting / FORMER)
        _install(waiting, closing, names_of)


def whole(folder: str | Path, closing: str) -> Path:
    """Return where the files of a folder are that :func:`filling` wrote, and may have been killed
    before its end.
    """
    folder = as_path(folder)
    waits = (folder / WAITING / closing).is_file() and not (folder / closing).exists()
    return folder / WAITING if waits else folder


def _install(waiting: Path, closing: str, names_of: NamesOf) -> None:
    """Let new files take their places where they are whole and nothing else is; then remove the
    folder of them.
    """
    folder = waiting.parent
    if whole(folder, closing) == waiting:
        for name in names_of(waiting / FORMER) if (waiting / FORMER).is_file() else ():
            (folder / name).unlink(missing_ok=True)
        for name in sorted(names_in(waiting) - {FORMER}, key=lambda name: name == closing):
            with replacing(folder / name) as temporary:
                shutil.copyfile(waiting / name, temporary)
    remove_leftovers(folder)
    shutil.rmtree(waiting)


def _same_files(first: Path, second: Path, names: set[str]) -> bool:
    return names_in(first) == names and not any(
        filecmp.cmpfiles(first, second, names, shallow=False)[1:]
    )
