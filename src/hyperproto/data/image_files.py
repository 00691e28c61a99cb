"""Images in folders: which files they are, and which of them cannot be read."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hyperproto.data.decode import EXTENSIONS, nature, open_image

__all__ = ["EXTENSIONS", "images_in", "verify_images"]


def images_in(folder: Path) -> list[Path]:
    """Return the image files of a folder by extension, sorted by name; hidden ones are skipped."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in EXTENSIONS and path.name[0] != ".")


def verify_images(paths: Iterable[Path], *, workers: int | None = None) -> list[tuple[Path, str]]:
    """Decode every image; return those that cannot be, each with the reason, as "is empty".

    An image cut short is found too, which looking at its header alone would miss.
    """
    paths = list(paths)
    with ThreadPoolExecutor(workers) as pool:  # decoding releases the interpreter's lock
        reasons = list(pool.map(_fault, paths))
    return [(path, reason) for path, reason in zip(paths, reasons, strict=True) if reason]


def _fault(path: Path) -> str:
    """Return why an image cannot be read; nothing where it can."""
    try:
        with open_image(path) as image:
            image.load()
    except Exception as error:  # a broken image may raise anything
        return nature(path, error)
    return ""
