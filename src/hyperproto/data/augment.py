"""Varying training images a batch at a time.

Everything here maps pixels as uint8, shape (n, height, width, channels), to the same; each image
depends on its own draws alone, so how images fall into batches changes nothing. Channels come last,
so that a row of pixels is one run of bytes, and numpy does the copying, without threads: the
batches of workers are what is done in parallel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from torch.nn import functional

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import derive_seed
from hyperproto.defaults import PHOTO_CROP
from hyperproto.runtime.images import Pixels, center

Whole: TypeAlias = NDArray[np.int64]

TOP, LEFT, MIRROR, AREA, ASPECT = range(5)  # what each column of draws is for
ASPECTS = math.log(3 / 4), math.log(4 / 3)
AT_ONCE = 2**20  # values kept in memory as float32 while images are resampled

# SplitMix64: a counter goes up in steps of the golden ratio, and each value is mixed until no trace
# of the steps is left. Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA
# 2014.
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Augment:
    """How training images are varied; every draw is keyed by seed, epoch and sample.

    Attributes
    ----------
    padding : int
        Random crop after padding each side with this many black pixels; 0 does not crop.
    flip : bool
        Mirror left and right with probability one half.
    resized_crop : tuple of float, or None
        Smallest and largest share of the area of a random crop with aspect ratio 3/4 to 4/3, scaled
        to ``size``.
    whole : bool
        Take these crops from the whole image file as torchvision does, decoded anew every time,
        instead of from its middle square.
    at_test : bool
        Take them in evaluation, too, always the same ones: the authors' scripts do.
    """

    padding: int = 0
    flip: bool = False
    resized_crop: tuple[float, float] | None = None
    whole: bool = False
    at_test: bool = False

    def __post_init__(self) -> None:
        check_integer(self.padding, "padding", at_least=0)
        if self.resized_crop is None:
            if self.whole or self.at_test:
                raise InputError(
                    "whole",
                    f"be left out without {arg('resized_crop')}, and so must {arg('at_test')}",
                )
            return
        if self.at_test and not self.whole:
            raise InputError("at_test", f"come with {arg('whole', True)}")
        if self.padding:
            got = f"{self.padding} with resized_crop={self.resized_crop}"
            raise InputError(
                "padding", f"be 0 with {arg('resized_crop')}, for both crop", got, "Choose one."
            )
        smallest, largest = self.resized_crop
        if not 0 < smallest <= largest <= 1:
            rule = "be two shares with 0 < smallest <= largest <= 1"
            raise InputError("resized_crop", rule, (smallest, largest))


PHOTO_AUGMENT = Augment(resized_crop=PHOTO_CROP, flip=True)
"""The usual way with photographs."""
WHOLE_AUGMENT = replace(PHOTO_AUGMENT, whole=True)
"""The paper's."""


def augmented(
    pixels: Pixels, augment: Augment, size: int, *, seed: int, epoch: int, samples: Whole
) -> Pixels:
    """Vary a batch, shape (n, side, side, channels), and cut it to ``size``, shape (n, size, size,
    channels).

    ``samples``, shape (n,), says which sample each image is: the same seed, epoch and sample give
    the same pixels.
    """
    draws = uniforms(seed, epoch, samples, 5)
    side = pixels.shape[1]
    if augment.resized_crop is not None:
        pixels = scale_boxes(pixels, _boxes(draws, side, augment.resized_crop), size)
    if augment.padding:
        places = side + 2 * augment.padding - size + 1
        tops, lefts = (
            np.floor(draws[:, column] * places).astype(np.int64) for column in (TOP, LEFT)
        )
        pixels = crop(pixels, tops, lefts, size, padding=augment.padding)
    pixels = center(pixels, size)
    return flip(pixels, draws[:, MIRROR] < 0.5) if augment.flip else pixels


def _boxes(draws: NDArray[np.float64], side: int, shares: tuple[float, float]) -> Whole:
    """Return top, left, height and width of random boxes in whole pixels, shape (n, 4).

    A box that would stick out is cut to the image, where torchvision draws again: one draw is one
    box.
    """
    area = side * side * (shares[0] + (shares[1] - shares[0]) * draws[:, AREA])
    aspect = np.exp(ASPECTS[0] + (ASPECTS[1] - ASPECTS[0]) * draws[:, ASPECT])
    height, width = (np.clip(np.rint(np.sqrt(a)), 1, side) for a in (area / aspect, area * aspect))
    top, left = (
        np.floor(draws[:, TOP] * (side - height + 1)),
        np.floor(draws[:, LEFT] * (side - width + 1)),
    )
    return np.stack([top, left, height, width], axis=1).astype(np.int64)


def random_box(
    width: int, height: int, draws: Sequence[float], shares: tuple[float, float]
) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a random part of an image, as torchvision's
    ``RandomResizedCrop`` does.

    ``draws`` in [0, 1) are those of :func:`augmented`, then two more for each further attempt: of
    ten the first box that fits is taken, else the largest middle part whose aspect ratio is
    allowed.
    """
    for area, aspect in zip(draws[AREA::2], draws[ASPECT::2], strict=True):
        share = shares[0] + (shares[1] - shares[0]) * area
        ratio = math.exp(ASPECTS[0] + (ASPECTS[1] - ASPECTS[0]) * aspect)
        wide, high = (
            round(math.sqrt(width * height * share * factor)) for factor in (ratio, 1 / ratio)
        )
        if 0 < wide <= width and 0 < high <= height:
            top, left = int(draws[TOP] * (height - high + 1)), int(draws[LEFT] * (width - wide + 1))
            return left, top, left + wide, top + high
    wide, high = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


def crop(pixels: Pixels, tops: Whole, lefts: Whole, size: int, *, padding: int = 0) -> Pixels:
    """Cut a square out of each image, black all around for ``padding`` pixels; (0, 0) is the corner
    of the black.
    """
    if padding:
        pixels = np.pad(pixels, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    n, height, width, channels = pixels.shape
    # so that a row of the result is one run of bytes
    rows = pixels.reshape(n, height, width * channels)
    windows = sliding_window_view(rows, (size, size * channels), axis=(1, 2))
    return windows[np.arange(n), tops, lefts * channels].reshape(n, size, size, channels)


def flip(pixels: Pixels, which: NDArray[np.bool_]) -> Pixels:
    """Mirror left and right the images of ``which``, shape (n,)."""
    chosen = np.flatnonzero(which)
    before = pixels[chosen]
    after = np.empty_like(before)
    # four times as fast as turning whole pixels of three bytes
    for channel in range(pixels.shape[3]):
        after[..., channel] = before[:, :, ::-1, channel]
    mirrored = pixels.copy()
    mirrored[chosen] = after
    return mirrored


def scale_boxes(pixels: Pixels, boxes: Whole, size: int) -> Pixels:
    """Scale a box of each image to a square of ``size``.

    ``boxes``, shape (n, 4), are top, left, height and width. Interpolates linearly, without a
    filter: for boxes up to twice ``size``.
    """
    n, side, _, channels = pixels.shape
    result = np.empty((n, size, size, channels), dtype=np.uint8)
    middle = (np.arange(size) + 0.5) / size
    step = max(1, AT_ONCE // (channels * side * side))
    for start in range(0, n, step):
        part = slice(start, start + step)
        images = torch.from_numpy(pixels[part].astype(np.float32)).permute(0, 3, 1, 2)
        top, left, height, width = (column[:, None] for column in boxes[part].T)
        # where each pixel of the result lies in its image, from -1 to 1; in float64 until the end,
        # for vector units round products by their place in the batch
        y, x = (
            2 * (first + middle * length) / side - 1
            for first, length in ((top, height), (left, width))
        )
        grid = np.empty((len(images), size, size, 2), dtype=np.float32)
        grid[..., 0], grid[..., 1] = x[:, None, :], y[:, :, None]
        sampled = functional.grid_sample(
            images, torch.from_numpy(grid), padding_mode="border", align_corners=False
        )
        result[part] = sampled.round_().clamp_(0, 255).byte().permute(0, 2, 3, 1).numpy()
    return result


def normalize(pixels: Pixels, mean: tuple[float, ...], std: tuple[float, ...]) -> torch.Tensor:
    """Return (pixels / 255 - mean) / std as float32, shape (n, channels, height, width), channels
    last in memory.
    """
    n, height, width, channels = pixels.shape
    images = torch.from_numpy(np.ascontiguousarray(pixels)).view(n, height * width * channels)
    values = (
        images.float()
        .sub_(_repeated(tuple(mean), height * width))
        .div_(_repeated(tuple(std), height * width))
    )
    return values.view(n, height, width, channels).permute(0, 3, 1, 2)


@lru_cache(maxsize=8)
def _repeated(values: tuple[float, ...], times: int) -> torch.Tensor:
    """Return a number of 0 to 255 for each value of an image: adding long rows is faster than
    adding threes.
    """
    return torch.tensor(values, dtype=torch.float64).mul(255).float().repeat(times)


def uniforms(seed: int, epoch: int, samples: ArrayLike, columns: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) that depend on seed, epoch and sample alone: not on the batch,
    worker or process.

    One row per sample, shape (n, columns); column 3 is the same however many there are.

    >>> bool((uniforms(0, 5, [7, 8], 3)[1] == uniforms(0, 5, [8], 3)).all())
    True
    """
    key = np.uint64(derive_seed(seed, "augment", epoch))
    streams = _mix(_mix(np.asarray(samples).astype(np.uint64) * STEP + STEP) + key)
    bits = _mix(streams[:, None] + np.arange(1, columns + 1).astype(np.uint64) * STEP)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Map 64 bits to 64 bits, one to one, so that a change of one bit changes half of them."""
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return bits ^ (bits >> np.uint64(31))
