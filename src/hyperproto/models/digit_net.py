"""A small convolutional network for small grey images."""

from torch import Tensor, nn

from hyperproto.models.backbone import Backbone

__all__ = ["DigitNet"]


class DigitNet(Backbone):
    """Two convolutional and two fully connected layers, as the paper's rotated-MNIST network; no ReLU at the end.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    size : int, default 8
        Height and width of the images, a multiple of 4.
    width : int, default 32
        Channels of the first convolution; the second has twice as many.
    """

    name = "digit-net"

    def __init__(self, out_dim: int, size: int = 8, width: int = 32) -> None:
        super().__init__(out_dim=out_dim, size=size, width=width)
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (n, 2 width, size/2, size/2)
            nn.Flatten(),
            nn.Linear(2 * width * (size // 2) ** 2, 128),
            nn.BatchNorm1d(128),  # without it outputs start out in nearly one direction, a trap on S²
            nn.ReLU(),
            nn.Linear(128, out_dim),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, 1, size, size), to outputs, shape (n, out_dim)."""
        z: Tensor = self.layers(images)
        return z
