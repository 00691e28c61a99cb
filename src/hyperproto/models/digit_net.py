"""A small convolutional network for small gray images, and the paper's network for rotated MNIST."""

from typing import ClassVar

from torch import Tensor, nn

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.models.backbone import Backbone, Presets, check_images

__all__ = ["DigitNet"]


class DigitNet(Backbone):
    """Two convolutional and two fully connected layers, as the paper's rotated-MNIST network; no ReLU at the end.

    The paper gives no more than those numbers of layers. ``"rotated-mnist"`` is this network for 28 x 28 pixels.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    size : int, default 8
        Height and width of the images, an even number.
    width : int, default 32
        Channels of the first convolution; the second has twice as many.
    channels : int, default 1
        Channels of the images.
    """

    name = "digit-net"
    presets: ClassVar[Presets] = {"rotated-mnist": {"size": 28}}

    def __init__(self, out_dim: int, size: int = 8, width: int = 32, channels: int = 1) -> None:
        super().__init__(out_dim=out_dim, size=size, width=width, channels=channels)
        self.size = check_integer(size, "size", at_least=2)
        if self.size % 2:
            raise InputError("size", "be even, since it is halved once", size, "Pad the images by a pixel.")
        self.channels = check_integer(channels, "channels", at_least=1)
        width = check_integer(width, "width", at_least=1)
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),  # (n, 2 width, size/2, size/2)
            nn.Flatten(),
            nn.Linear(2 * width * (size // 2) ** 2, 128),
            nn.BatchNorm1d(128),  # without it outputs start out in nearly one direction, a trap on S²
            nn.ReLU(inplace=True),
            nn.Linear(128, out_dim),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, size, size), to outputs, shape (n, out_dim)."""
        check_images(images, self.channels, size=self.size)
        z: Tensor = self.layers(images)
        return z
