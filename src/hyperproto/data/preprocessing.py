"""What is done to an input before the network sees it: fixed numbers that travel with the model."""

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from hyperproto._core.checks import check_integer
from hyperproto._core.registry import choose

__all__ = [
    "CIFAR_MEAN",
    "CIFAR_STD",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Augment",
    "ImagePreprocessing",
    "Preprocessing",
    "TablePreprocessing",
    "large_image_preprocessing",
    "preprocessing_from_dict",
]

CIFAR_MEAN, CIFAR_STD = (0.507, 0.487, 0.441), (0.267, 0.256, 0.276)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class ImagePreprocessing:
    """Scale the shorter side to ``resize``, take the centre, subtract ``mean`` and divide by ``std``.

    Attributes
    ----------
    size : int
        Height and width the network gets.
    mean, std : tuple of float
        One number a channel, for pixels in [0, 1]; their length is the number of channels (1 or 3).
    resize : int or None
        Length of the shorter side before the centre is cut out; None takes images of ``size`` as they are.
    """

    size: int
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    resize: int | None = None

    @property
    def channels(self) -> int:
        """How many channels an image has: 1 (grey) or 3 (RGB)."""
        return len(self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "images", **asdict(self)}


@dataclass(frozen=True)
class TablePreprocessing:
    """Take these columns, fill empty cells with the mean, subtract ``mean`` and divide by ``std``."""

    columns: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Describe it for a run's config."""
        return {"kind": "table", **asdict(self)}


Preprocessing: TypeAlias = ImagePreprocessing | TablePreprocessing


@dataclass(frozen=True)
class Augment:
    """How training images are varied; every draw is keyed by seed, epoch and sample.

    Attributes
    ----------
    padding : int
        Random crop after padding each side by so many black pixels; 0 does not crop.
    flip : bool
        Mirror left and right with probability one half.
    resized_crop : tuple of float, or None
        Smallest and largest share of the area of a random crop with aspect ratio 3/4 to 4/3, scaled to ``size``.
    rotation : float
        Turn by an angle drawn from -rotation to rotation degrees.
    """

    padding: int = 0
    flip: bool = False
    resized_crop: tuple[float, float] | None = None
    rotation: float = 0.0


def large_image_preprocessing(size: int = 224, resize: int | None = None) -> ImagePreprocessing:
    """Return the usual way with photographs: the shorter side to 8/7 of ``size``, 256 for 224, then the centre."""
    size = check_integer(size, "size", at_least=1)
    return ImagePreprocessing(size, resize=round(size * 8 / 7) if resize is None else resize)


def preprocessing_from_dict(values: dict[str, Any]) -> Preprocessing:
    """Rebuild what ``to_dict`` described."""
    kinds: dict[str, Any] = {"images": ImagePreprocessing, "table": TablePreprocessing}
    kind = choose(values["kind"], kinds, what="preprocessing")
    held = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items() if key != "kind"}
    made: Preprocessing = kind(**held)
    return made
