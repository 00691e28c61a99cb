"""The residual network of four stages with 3, 4, 6 and 3 blocks, for large images."""

from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn

from hyperproto._core.checks import check_integer
from hyperproto.models.backbone import Backbone, Presets
from hyperproto.models.inputs import check_images
from hyperproto.models.layers import conv, initialise, output_layer, pool_all, stage

__all__ = ["ResNet3463"]

BLOCKS = (3, 4, 6, 3)


class ResNet3463(Backbone):
    """Four stages of 3, 4, 6 and 3 basic blocks, of ``width`` channels, twice, four and eight times as many.

    With width 64 it is what the authors train on CUB-200 and OmniArt at 224 px. The paper calls it ResNet-32; He et
    al. (2016) call it ResNet-34.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    width : int, default 64
        Channels of the first stage; time and weights grow with its square.
    channels : int, default 3
        Channels of the images.
    small_stem : bool, default False
        Begin with a 3 x 3 convolution at full size, for images of up to 64 px, instead of a 7 x 7 convolution and a
        maximum which leave a quarter of each side.
    feature_norm : bool, default False
        Normalise the averaged features over the batch before the last layer, so that outputs do not start out in
        nearly one direction. The paper's networks do not.
    """

    name = "resnet-3463"
    presets: ClassVar[Presets] = {"resnet-3463-small": {"width": 16}}

    def __init__(
        self,
        out_dim: int,
        width: int = 64,
        channels: int = 3,
        small_stem: bool = False,
        feature_norm: bool = False,
    ) -> None:
        choices = {"small_stem": bool(small_stem), "feature_norm": bool(feature_norm)}
        super().__init__(out_dim=out_dim, width=width, channels=channels, **choices)
        width = check_integer(width, "width", at_least=1)
        self.channels = check_integer(channels, "channels", at_least=1)
        first = conv(channels, width) if small_stem else conv(channels, width, kernel=7, stride=2)
        stem: list[nn.Module] = [first, nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        if not small_stem:
            stem.append(nn.MaxPool2d(3, stride=2, padding=1))
        self.stem = nn.Sequential(*stem)
        widths = (width, width, 2 * width, 4 * width, 8 * width)
        self.stages = nn.Sequential(
            *(stage(i, o, n, shortcut="conv1x1") for (i, o), n in zip(pairwise(widths), BLOCKS, strict=True))
        )
        self.output = output_layer(8 * width, out_dim, feature_norm=feature_norm)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to outputs, shape (n, out_dim)."""
        check_images(images, self.channels)
        z: Tensor = self.output(pool_all(self.stages(self.stem(images))))
        return z
