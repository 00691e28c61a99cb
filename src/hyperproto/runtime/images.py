"""What is done to an image before a network sees it, in training and after: decode, turn upright,
scale, cut out.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core.checks import check_integer, check_no_pipe
from .._core.errors import InputError, arg, require
from .image_bounds import check_content, check_opened

if TYPE_CHECKING:  # Pillow is loaded by the first image
    from PIL import Image

Pixels: TypeAlias = NDArray[np.uint8]
Box: TypeAlias = Callable[
    [int, int], tuple[int, int, int, int]
]  # from width and height: left, top, right, bottom
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

# Pillow knows some forty formats and picks one by content; some start other programs (an EPS named
# photo.jpg starts Ghostscript). Only the formats of our own extensions are tried.
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
LARGEST_SIDE = 4096  # pixels, that a network gets: a stored number must not take all memory
STRIP = 2**20  # pixels that are converted at a time: some conversions take 30 bytes for each


ADVICE = f"Replace it, or use {arg('skip_corrupt', True)} to leave such images out."


@dataclass(frozen=True)
class ImagePreprocessing:
    """Scale the shorter side to ``resize``, take the center, subtract ``mean`` and divide by
    ``std``.

    Attributes
    ----------
    size : int
        Height and width the network gets.
    mean, std : tuple of float
        One number per channel, for pixels in [0, 1]; their length is the number of channels (1 or
        3).
    resize : int or None
        Length of the shorter side before the center is cut out; None takes images of ``size`` as
        they are.
    """

    encoder: ClassVar[None] = None  # as tables have
    size: int
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    resize: int | None = None

    def __post_init__(self) -> None:
        check_integer(self.size, "size", at_least=1)
        if len(self.mean) != len(self.std):
            raise InputError(
                "mean",
                f"have one number per channel, as {arg('std')}",
                f"{self.mean} and {self.std}",
            )
        if self.resize is not None and self.resize < self.size:
            raise InputError(
                "resize", f"be at least {arg('size')}", f"{self.resize} and {self.size}"
            )
        if self.stored_side > LARGEST_SIDE:
            raise InputError(
                "The side of images", f"be at most {LARGEST_SIDE:,} pixels", f"{self.stored_side:,}"
            )

    @property
    def channels(self) -> int:
        """How many channels an image has: 1 (gray) or 3 (RGB)."""
        return len(self.mean)

    @property
    def stored_side(self) -> int:
        """Height and width of the square that is stored, before the center or a random part is cut
        out.
        """
        return self.resize or self.size

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (channels, size, size)."""
        return self.channels, self.size, self.size

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "images", **asdict(self)}


class CorruptImageError(InputError):
    """A file that should be an image and cannot be decoded; ``got`` says what it is."""


@dataclass
class Allowance:
    """How many pixels an image may have, and those of a request that are still to come."""

    each: int
    together: float = math.inf

    def take(self, about: str, width: int, height: int) -> None:
        """Count an image, or refuse it."""
        if width * height > self.each:
            raise InputError(about, f"have at most {self.each:,} pixels", f"{width} x {height}")
        self.together -= width * height
        if self.together < 0:
            raise InputError("The images of a request", "have fewer pixels together", "more")


def open_image(source: Path | bytes) -> Image.Image:
    """Open an image of one of the formats we read, whatever its name says; every image goes through
    here. One that would take minutes to decode raises ValueError.
    """
    pillow = require("PIL.Image", extra="images", purpose="Reading an image")
    if isinstance(source, Path):
        check_no_pipe(source)
        source = source.read_bytes()
    check_content(source)
    image = pillow.open(io.BytesIO(source), formats=FORMATS)
    check_opened(image)
    return image


def decode(
    source: Path | bytes,
    preprocessing: ImagePreprocessing,
    box: Box | None = None,
    *,
    allowed: Allowance | None = None,
) -> Pixels:
    """Read an image, turn it upright, scale its shorter side to ``stored_side`` and keep the middle
    square.

    Or scale the part that ``box`` chooses to ``size``. Transparent parts become white, 16 bits
    become 8. Images of more pixels than are ``allowed`` are refused before they are decoded.
    Returns uint8, shape (side, side, channels).
    """
    about = "The image" if isinstance(source, bytes) else f'"{source}"'
    mode = "L" if preprocessing.channels == 1 else "RGB"
    side = preprocessing.stored_side if box is None else preprocessing.size
    try:
        with open_image(source) as image:
            if allowed is not None:
                allowed.take(about, image.width, image.height)
            if box is None:  # JPEG: decode at 1/2, 1/4 or 1/8 where that is still large enough
                image.draft(mode, (side, side))
            image.load()
            upright = _in_mode(_upright(image), mode)
            if box is None:
                square = _fit_square(upright, side)
            else:
                square = _scaled(upright, side, box(*upright.size))
            pixels: Pixels = np.asarray(square).reshape(side, side, -1)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise type(error)(
            f"{about} must be an image file that can be opened: {error.strerror}."
        ) from None
    except (MemoryError, InputError, ImportError):
        raise
    except (
        Exception
    ) as error:  # Pillow's decoders raise anything from OSError to SyntaxError and struct.error
        raise CorruptImageError(
            about, "be an image", describe_file(source, error), ADVICE
        ) from None
    return pixels


def _fit_square(image: Image.Image, side: int) -> Image.Image:
    """Scale the shorter side to ``side`` and keep the middle square, in one step."""
    width, height = image.size
    if width == height == side:
        return image
    short = min(width, height)
    left, top = (width - short) / 2, (height - short) / 2
    return _scaled(image, side, (left, top, left + short, top + short))


def _scaled(image: Image.Image, side: int, box: tuple[float, float, float, float]) -> Image.Image:
    from PIL.Image import Resampling

    return image.resize((side, side), Resampling.BILINEAR, box=box)


def _upright(image: Image.Image) -> Image.Image:
    """Rotate a photograph as its camera noted."""
    from PIL import ExifTags, ImageOps

    try:
        turned = image.getexif().get(ExifTags.Base.Orientation) in range(
            2, 9
        )  # else exif_transpose makes a copy
        return ImageOps.exif_transpose(image) if turned else image
    except Exception:  # a note that cannot be read says nothing about the pixels
        return image


def _in_mode(image: Image.Image, mode: str) -> Image.Image:
    """Return the image in gray or RGB; a large one is converted in strips of
    rows, to save memory.
    """
    if image.mode == mode:
        return image
    rows = max(1, STRIP // image.width)
    if image.height <= rows:
        return _converted(image, mode)
    from PIL import Image

    whole = Image.new(mode, image.size)
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height)))
        whole.paste(_converted(strip, mode), (0, top))
    return whole


def _converted(image: Image.Image, mode: str) -> Image.Image:
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits of gray, which convert() would cut off at 255
        levels = np.asarray(image).astype(np.int64) >> 8
        return Image.fromarray(levels.clip(0, 255).astype(np.uint8)).convert(mode)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        image = Image.alpha_composite(white, clear)
    return image.convert(mode)


def describe_file(source: Path | bytes, error: Exception) -> str:
    """Return what a file is that is not an image, such as "an empty file"."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            start = file.read(24)
    except OSError as unreadable:
        return f"a file that cannot be read ({unreadable.strerror})"
    if not start:
        return "an empty file"
    if "truncated" in str(error):
        return "a file that is cut short"
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return f"a file of no known format (it starts with {start!r})"
    return f"a file that cannot be decoded ({str(error).rstrip('.') or type(error).__name__})"


def center(pixels: Pixels, size: int) -> Pixels:
    """Cut the middle out of each image, or return it as it is where it has that size; the odd pixel
    goes first.
    """
    side = pixels.shape[1]
    if side == size:
        return pixels
    first = (side - size) // 2
    return pixels[:, first : first + size, first : first + size]


def images_in(path: Path) -> list[Path]:
    """Return the image files in a folder and below, sorted; a path that is no folder, as it is."""
    if not path.is_dir():
        return [path]
    named = (p for p in path.rglob("*") if p.suffix.lower() in EXTENSIONS and p.name[0] != ".")
    found = sorted(p for p in named if p.is_file())  # a pipe would be waited for
    if not found:
        raise InputError(f'Folder "{path}"', "hold images", "none")
    return found
