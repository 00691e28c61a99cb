"""What a picture is written as."""

from pathlib import Path

from hyperproto._core.errors import InputError

__all__ = ["picture_format"]

FORMATS = {".png": "png", ".svg": "svg"}


def picture_format(path: str | Path) -> str:
    """Return the format that the name of a picture ends in.

    >>> picture_format("map.SVG")
    'svg'
    """
    form = FORMATS.get(Path(path).suffix.lower())
    if form is None:
        raise InputError(f'A picture must be named ".png" or ".svg"; got "{Path(path).name}".')
    return form
