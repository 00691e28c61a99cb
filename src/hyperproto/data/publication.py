"""Where a publisher has a data set, what goes where, and finding it there. Nothing is ever downloaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hyperproto._core.errors import InputError, MissingDataError

__all__ = ["DatasetInfo", "check_files_exist", "read_lines"]


@dataclass(frozen=True)
class DatasetInfo:
    """A published data set.

    Attributes
    ----------
    title : str
        What people call it.
    url : str
        Where its publisher has it.
    layout : str
        What goes where, as the end of "Put ... there".
    needed : tuple of str
        Files and folders by which it is known.
    folders : tuple of str
        What its own folder is called, where the archive makes one.
    counts : tuple of int
        How many training and test examples the publisher has; 0 where that is not fixed.
    """

    title: str
    url: str
    layout: str
    needed: tuple[str, ...]
    folders: tuple[str, ...] = ()
    counts: tuple[int, int] = (0, 0)

    def places(self, path: str | Path) -> list[Path]:
        """Return where to look: the path itself, then the folders of the publisher's names in it."""
        return [Path(path), *(Path(path) / folder for folder in self.folders)]

    def locate(self, path: str | Path) -> Path | None:
        """Return the first of :meth:`places` that holds all that is needed, or None."""
        return next((at for at in self.places(path) if all((at / name).exists() for name in self.needed)), None)

    def find(self, path: str | Path) -> Path:
        """Return where it lies, or raise the sentence that says where the publisher has it and what goes where."""
        found = self.locate(path)
        if found is not None:
            return found
        nearest = max(self.places(path), key=lambda at: sum((at / name).exists() for name in self.needed))
        raise self.missing(path, [name for name in self.needed if not (nearest / name).exists()])

    def missing(self, path: str | Path, names: Iterable[str]) -> MissingDataError:
        """Return the error for what is not there."""
        listed = ", ".join(f'"{name}"' for name in names)
        return MissingDataError(
            f'{self.title} not found in "{path}": {listed} missing. Nothing is downloaded for you: the publisher has '
            f"it at {self.url}; put {self.layout} there."
        )


def check_files_exist(paths: Iterable[Path], *, listed_in: str) -> None:
    """Raise where a listed file is not there, naming the first and how many."""
    paths = list(paths)
    absent = [path for path in paths if not path.is_file()]
    if absent:
        raise MissingDataError(
            f'Every image listed in "{listed_in}" must be there; "{absent[0]}" is not ({len(absent)} of {len(paths)} '
            "missing). Put it there, or remove its line."
        )


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that hold anything."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f'"{path}" must be text in UTF-8 ({error}). Unpack the archive again.') from None
    return [line.rstrip() for line in lines if line.strip()]
