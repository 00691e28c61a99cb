"""A few images on one sheet, each with its caption."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from hyperproto._core.errors import InputError
from hyperproto._core.files import replacing

CELL, CAPTION, GAP = 128, 18, 8  # pixels
COLUMNS = 6
PAPER, INK = (255, 255, 255), (40, 40, 40)


def draw_contact_sheet(pictures: Sequence[tuple[NDArray[np.uint8], str]], path: str | Path) -> None:
    """Write images, each of shape (height, width, 3) and of any size, and their captions to a PNG file."""
    if not pictures:
        raise InputError("pictures", "hold at least one image", "none")
    columns = min(COLUMNS, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    sheet = Image.new("RGB", (GAP + columns * (CELL + GAP), GAP + rows * (CELL + CAPTION + GAP)), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=12)
    for index, (pixels, caption) in enumerate(pictures):
        left = GAP + index % columns * (CELL + GAP)
        top = GAP + index // columns * (CELL + CAPTION + GAP)
        enlarged = max(pixels.shape[:2]) < CELL  # small ones keep their pixels visible
        method = Image.Resampling.NEAREST if enlarged else Image.Resampling.LANCZOS
        image = ImageOps.pad(Image.fromarray(pixels), (CELL, CELL), method, color=PAPER)
        sheet.paste(image, (left, top))
        draw.text((left, top + CELL + 2), _shortened(caption, font), fill=INK, font=font)
    with replacing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _shortened(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    short = text
    while short and font.getlength(short if short == text else f"{short}…") > CELL:
        short = short[:-1]
    return short if short == text else f"{short}…"
