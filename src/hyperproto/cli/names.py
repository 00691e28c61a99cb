"""Class names as people give them to the command line."""

import os
from pathlib import Path

from hyperproto._core.errors import InputError

__all__ = ["read_names"]


def read_names(given: str, *, several: bool = True) -> tuple[str, ...]:
    """Return names from a file with one a line, or from a list with commas.

    One name alone is taken for a list where there need not be several.

    >>> read_names("cat, dog,bird")
    ('cat', 'dog', 'bird')
    """
    path = Path(given)
    if os.path.isfile(given):  # Path.is_file raises where a list is longer than a file name may be
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InputError(f'"{path}" must be a text file in UTF-8 with one class name a line.') from None
        return tuple(line.strip() for line in lines if line.strip())
    if several and "," not in given:
        raise InputError(f'--names must be a file with one name a line, or a list with commas; got "{given}".')
    return tuple(name.strip() for name in given.split(",") if name.strip())
