"""From an image file to pixels of one size, or to a sentence that names the file."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from hyperproto._core.errors import InputError
from hyperproto.data.preprocessing import ImagePreprocessing

__all__ = ["EXTENSIONS", "CorruptImageError", "decode", "fit_square", "nature", "open_image", "stored_side"]

# Pillow knows some forty formats and picks one by content; some start other programs (an EPS named photo.jpg starts
# Ghostscript). Only the formats of our own extensions are tried.
EXTENSIONS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".png": "PNG",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".ppm": "PPM",
    ".pgm": "PPM",
}
FORMATS = tuple(dict.fromkeys(EXTENSIONS.values()))

# What stands at the start of files that are often found in place of an image.
OPENINGS = {
    b"<!doctype html": "looks like an HTML page, as a failed download leaves behind",
    b"<html": "looks like an HTML page, as a failed download leaves behind",
    b"<svg": "is an SVG drawing, which has no pixels",
    b"<?xml": "is XML text",
    b"version https://git-lfs": "is a Git LFS pointer, not the file itself",
    b"{": "looks like JSON text",
    b"pk\x03\x04": "is a ZIP archive",
    b"\x1f\x8b": "is a gzip archive",
    b"%pdf": "is a PDF",
    b"%!ps": "is a PostScript drawing, which is not read",
}


class CorruptImageError(InputError):
    """A file that should be an image and cannot be decoded."""


def open_image(path: Path) -> Image.Image:
    """Open an image file of one of the formats we read, whatever its name says; every image goes through here."""
    return Image.open(path, formats=FORMATS)


def stored_side(preprocessing: ImagePreprocessing) -> int:
    """Return height and width of the square that is stored, before the centre or a random part is cut out."""
    return preprocessing.resize or preprocessing.size


def decode(path: Path, preprocessing: ImagePreprocessing) -> NDArray[np.uint8]:
    """Read an image, turn it upright, scale its shorter side to ``resize`` and keep the middle square.

    Parameters
    ----------
    path : Path
        Anything Pillow reads; transparent parts become white, sixteen bits become eight.
    preprocessing : ImagePreprocessing
        ``resize``, or ``size`` where that is None; and the number of channels.

    Returns
    -------
    uint8, shape (channels, side, side)
        A view: channels come last in memory.
    """
    mode = "L" if preprocessing.channels == 1 else "RGB"
    side = stored_side(preprocessing)
    try:
        with open_image(path) as image:
            image.draft(mode, (side, side))  # JPEG: decode at 1/2, 1/4 or 1/8 where that is still large enough
            image.load()
            square = fit_square(_in_mode(_upright(image), mode), side)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise type(error)(f'"{path}" must be an image file that can be opened: {error.strerror}.') from None
    except MemoryError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise CorruptImageError(
            f'"{path}" claims more pixels than any photograph has ({error}). Reduce it with an image editor, or pass '
            "skip_corrupt=True to leave such images out."
        ) from None
    except Exception as error:  # Pillow's decoders raise anything from OSError to SyntaxError and struct.error
        raise CorruptImageError(
            f'"{path}" must be an image; it {nature(path, error)}. Replace it, or pass skip_corrupt=True to leave '
            "such images out."
        ) from None
    return np.asarray(square).reshape(side, side, -1).transpose(2, 0, 1)


def fit_square(image: Image.Image, side: int) -> Image.Image:
    """Scale the shorter side to ``side`` and keep the middle square, in one step."""
    width, height = image.size
    if width == height == side:
        return image
    short = min(width, height)
    left, top = (width - short) / 2, (height - short) / 2
    return image.resize((side, side), Image.Resampling.BILINEAR, box=(left, top, left + short, top + short))


def _upright(image: Image.Image) -> Image.Image:
    """Turn a photograph the way its camera was held."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # a camera's note that cannot be read says nothing about the pixels
        return image


def _in_mode(image: Image.Image, mode: str) -> Image.Image:
    """Return the image in grey or RGB."""
    if image.mode == mode:
        return image
    if image.mode.startswith("I"):  # sixteen bits of grey, which convert() would cut off at 255
        levels = np.asarray(image).astype(np.int64) >> 8
        return Image.fromarray(levels.clip(0, 255).astype(np.uint8)).convert(mode)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        image = Image.alpha_composite(white, clear)
    return image.convert(mode)


def nature(path: Path, error: Exception) -> str:
    """Say what a file is that is not an image, as what follows "it"."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except OSError as unreadable:
        return f"cannot be read ({unreadable.strerror})"
    if not start:
        return "is empty"
    opening = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for prefix, nature in OPENINGS.items():
        if opening.startswith(prefix):
            return nature
    if "truncated" in str(error):
        return "is cut short"
    if isinstance(error, UnidentifiedImageError):
        return f"is of no known format (it starts with {start[:8]!r})"
    return f"cannot be decoded ({str(error).rstrip('.') or type(error).__name__})"
