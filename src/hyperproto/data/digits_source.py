"""scikit-learn's digits as a source, so that what trains on files trains on them too."""

from torch import Tensor

from hyperproto.data.arrays import Arrays
from hyperproto.data.digits import ROTATED_DIGITS, load_digits, load_rotated_digits
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.source import Bounds, Labels, Source, Split

__all__ = ["read_digits", "read_rotated_digits"]


def read_digits(*, seed: int = 0) -> Source:
    """Return scikit-learn's 1,797 digits of 8 by 8 pixels, with the target "digit"; the seed fixes the split."""
    train, held = load_digits(seed=seed)
    return Source(
        name="digits",
        train=_split(train),
        test=_split(held),
        targets={"digit": Labels([str(digit) for digit in range(10)])},
        preprocessing=_as_they_are(8),
    )


def read_rotated_digits(*, seed: int = 0, size: int = 8, copies: int = 8) -> Source:
    """Return the digits 2, 3, 4, 5, 7 turned by an angle in [0, 180) degrees, with the targets "digit" and "angle".

    Parameters
    ----------
    seed : int
        Fixes the held-out quarter and the angles.
    size : int
        Pixels a side.
    copies : int
        How often each training image is turned, each time by another angle.
    """
    train, held = load_rotated_digits(seed=seed, size=size, copies=copies)
    return Source(
        name="rotated-digits",
        train=_split(train),
        test=_split(held),
        targets={"digit": Labels(ROTATED_DIGITS), "angle": Bounds(0, 180)},
        preprocessing=_as_they_are(size),
    )


def _as_they_are(size: int) -> ImagePreprocessing:
    return ImagePreprocessing(size, mean=(0.0,), std=(1.0,))


def _split(data: Arrays) -> Split:
    """Return images in [0, 1] as bytes, and targets by name."""
    targets = {"digit": data.targets} if isinstance(data.targets, Tensor) else dict(data.targets)
    held = {name: target.double() if target.is_floating_point() else target for name, target in targets.items()}
    return Split((data.inputs * 255).round().byte(), held)
