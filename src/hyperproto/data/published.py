"""Published data sets: where a publisher has one, which files go where, and finding them. Nothing is downloaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hyperproto._core.errors import InputError, MissingDataError

__all__ = ["DatasetInfo", "read_lines"]


@dataclass(frozen=True)
class DatasetInfo:
    """A published data set.

    Attributes
    ----------
    title : str
        Its usual name.
    url : str
        Where its publisher has it.
    layout : str
        What goes where, as the end of "Put ... there".
    needed : tuple of str
        Files and folders by which it is recognized.
    folders : tuple of str
        Names of its own folder, where the archive makes one.
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
        """Return where to look: the path itself, then the publisher's folders in it."""
        return [Path(path), *(Path(path) / folder for folder in self.folders)]

    def locate(self, path: str | Path) -> Path | None:
        """Return the first of :meth:`places` that has all that is needed, or None."""
        return next((at for at in self.places(path) if all((at / name).exists() for name in self.needed)), None)

    def find(self, path: str | Path) -> Path:
        """Return where it is, or raise an error that says where the publisher has it and what goes where."""
        found = self.locate(path)
        if found is not None:
            return found
        nearest = max(self.places(path), key=lambda at: sum((at / name).exists() for name in self.needed))
        raise self.missing(path, [name for name in self.needed if not (nearest / name).exists()])

    def missing(self, path: str | Path, names: Iterable[str]) -> MissingDataError:
        """Return the error for files that are not there."""
        listed = ", ".join(f'"{name}"' for name in names)
        return MissingDataError(
            f'{self.title} not found in "{path}": {listed} missing. Nothing is downloaded for you: the publisher has '
            f"it at {self.url}; put {self.layout} there."
        )


def read_lines(path: Path) -> list[str]:
    """Return the nonempty lines of a text file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f'"{path}"', "be text in UTF-8", error, "Unpack the archive again.") from None
    return [line.rstrip() for line in lines if line.strip()]
