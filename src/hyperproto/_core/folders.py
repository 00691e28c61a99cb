"""A folder whose files are replaced together: at every moment a reader finds all of the old ones or
all of the new ones, whenever a process is killed.

The new files are written in a folder inside it, which is renamed, and copied from there.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError
from .files import (
    as_path,
    explaining,
    make_folder,
    names_in,
    new_folder,
    owning,
    read_json,
    remove_leftovers,
    replacing,
    sync,
)

UNFINISHED, WHOLE = ".hyperproto-new", ".hyperproto-whole"  # folders of the files of a folder
FORMER = "former"  # folder in them with the names of what they replace
NamesOf = Callable[[Path], Collection[str]]


@contextmanager
def filling(
    folder: str | Path, closing: str, names_of: NamesOf = lambda path: ()
) -> Iterator[Path]:
    """Give a folder to write files into; all of them are in ``folder`` once the block has
    succeeded.

    The new files are written in a temporary folder inside this one, which is then renamed: by that
    step they replace the old ones, and :func:`whole` tells readers where they are. Copying them to
    their places can be repeated, and is by the next call if this one is killed.

    Parameters
    ----------
    folder : path
        Must be new or empty, or hold only what may be replaced.
    closing : str
        The file that makes a folder whole for readers that know nothing of this: it goes first and
        comes last.
    names_of : callable, optional
        Given the path of a closing file, the names of all files that came with it and may be
        replaced.
    """
    folder = as_path(folder)
    made = not folder.exists()
    make_folder(folder)
    with owning(folder), explaining(folder):
        _finish_filling(folder, closing)
        former = {*names_of(folder / closing)} if (folder / closing).is_file() else set()
        new_folder(folder, except_for=former)
        place = folder / UNFINISHED
        try:
            place.mkdir()
            yield place
            for path in [*place.iterdir(), place]:
                sync(path)
            (place / FORMER).mkdir()
            for name in former & names_in(folder):
                (place / FORMER / name).touch()
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            if made:
                with suppress(OSError):
                    folder.rmdir()
            raise
        place.rename(folder / WHOLE)
        _finish_filling(folder, closing)


def former_files(closing: Path, form: str, names: Callable[[Any], list[str]]) -> list[str]:
    """Return the names of the files that came with a closing file of a format, given what it holds;
    none where it is something else. These :func:`filling` may replace.
    """
    try:
        stored = read_json(closing)
        if str(stored["format"]).startswith(form):
            return names(stored)
    except (InputError, KeyError, TypeError):
        pass
    return []


def whole(folder: str | Path) -> Path:
    """Return where the files of a folder are that :func:`filling` wrote, and
    may not have finished.
    """
    folder = as_path(folder)
    return folder / WHOLE if (folder / WHOLE).is_dir() else folder


def _finish_filling(folder: Path, closing: str) -> None:
    """Let files that are whole take the places of the former ones; drop those that are not."""
    place, waiting = folder / UNFINISHED, folder / WHOLE
    if waiting.is_dir():
        sync(folder)
        former = os.listdir(waiting / FORMER)
        for name in sorted(former, key=lambda name: name != closing):
            (folder / name).unlink(missing_ok=True)
        new = names_in(waiting) - {FORMER}
        for name in sorted(new, key=lambda name: name == closing):
            with replacing(folder / name) as temporary:
                shutil.copyfile(waiting / name, temporary)
        waiting.rename(place)
    if place.is_dir():
        remove_leftovers(folder)
        shutil.rmtree(place)
