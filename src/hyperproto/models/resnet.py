"""Residual networks for small images, of any depth 6n + 2: the paper's ResNet-32, and smaller ones."""

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.models.backbone import Backbone, Presets
from hyperproto.models.inputs import check_images
from hyperproto.models.layers import conv, initialise, output_layer, pool_all, stage

__all__ = ["ResNet"]


class ResNet(Backbone):
    """Three stages of n basic blocks, of ``width``, twice and four times as many channels; depth 6n + 2.

    The paper's network for CIFAR-100 (32 px) and ImageNet-200 (64 px) has depth 32 and width 16. As in the authors'
    code its strided shortcuts are 3 x 3 convolutions. Any size of image will do, for all places are averaged at the
    end; then one linear layer, and no ReLU after it.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    depth : int, default 32
        8, 14, 20, 26, 32, ...: layers with weights, the shortcuts' not counted.
    width : int, default 16
        Channels of the first stage.
    channels : int, default 3
        Channels of the images.
    shortcut : {"conv3x3", "conv1x1", "pool"}, default "conv3x3"
        What stands beside a block that halves the size. "pool" has no parameters.
    feature_norm : bool, default False
        Normalise the averaged features over the batch before the last layer, so that outputs do not start out in
        nearly one direction. The paper's networks do not.
    """

    name = "resnet"
    presets: ClassVar[Presets] = {f"resnet-{depth}": {"depth": depth} for depth in (8, 14, 20, 32)}

    def __init__(
        self,
        out_dim: int,
        depth: int = 32,
        width: int = 16,
        channels: int = 3,
        shortcut: str = "conv3x3",
        feature_norm: bool = False,
    ) -> None:
        numbers = {"depth": depth, "width": width, "channels": channels}
        super().__init__(out_dim=out_dim, **numbers, shortcut=shortcut, feature_norm=bool(feature_norm))
        depth = check_integer(depth, "depth", at_least=8)
        width = check_integer(width, "width", at_least=1)
        self.channels = check_integer(channels, "channels", at_least=1)
        blocks, left = divmod(depth - 2, 6)
        if left:
            near = f"{6 * blocks + 2} or {6 * blocks + 8}"
            raise InputError(f"`depth` must be 6n + 2, such as 8, 14, 20 or 32; got {depth}. The nearest are {near}.")
        self.stem = conv(channels, width)
        self.norm = nn.BatchNorm2d(width)
        self.stages = nn.Sequential(
            stage(width, width, blocks, shortcut=shortcut),
            stage(width, 2 * width, blocks, shortcut=shortcut),
            stage(2 * width, 4 * width, blocks, shortcut=shortcut),
        )
        self.output = output_layer(4 * width, out_dim, feature_norm=feature_norm)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to outputs, shape (n, out_dim)."""
        check_images(images, self.channels)
        maps = functional.relu(self.norm(self.stem(images)), inplace=True)
        z: Tensor = self.output(pool_all(self.stages(maps)))
        return z
