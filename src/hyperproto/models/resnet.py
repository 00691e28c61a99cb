"""Residual networks: of any depth 6n + 2 for small images, and of 3, 4, 6 and 3 blocks for large
ones.
"""

from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto.models.backbone import (
    FeatureBackbone,
    Presets,
    check_images,
    conv,
    head,
    initialize,
    pool_all,
)

BLOCKS = (3, 4, 6, 3)
SHORTCUTS = {
    "conv3x3": 3,
    "conv1x1": 1,
}  # the authors': on CIFAR-100 and ImageNet-200, on CUB and OmniArt


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions added to a shortcut, which is the identity at stride 1."""

    def __init__(self, in_channels: int, out_channels: int, *, stride: int, shortcut: str) -> None:
        super().__init__()
        self.conv1 = conv(in_channels, out_channels, stride=stride)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = conv(out_channels, out_channels)
        self.norm2 = nn.BatchNorm2d(out_channels)
        kernel = choose(shortcut, SHORTCUTS, what="shortcut")
        halved = conv(in_channels, out_channels, kernel=kernel, stride=2) if stride > 1 else None
        self.shortcut = (
            nn.Identity() if halved is None else nn.Sequential(halved, nn.BatchNorm2d(out_channels))
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, in_channels, height, width) to (n, out_channels, height / stride, width /
        stride), rounded up.
        """
        out: Tensor = functional.relu(self.norm1(self.conv1(maps)), inplace=True)
        out = self.norm2(self.conv2(out))
        out += self.shortcut(maps)
        return functional.relu(out, inplace=True)


def stage(in_channels: int, out_channels: int, blocks: int, *, shortcut: str) -> nn.Sequential:
    """Chain basic blocks; the first halves the size where it changes the number of channels."""
    stride = 1 if in_channels == out_channels else 2
    first = BasicBlock(in_channels, out_channels, stride=stride, shortcut=shortcut)
    rest = [
        BasicBlock(out_channels, out_channels, stride=1, shortcut=shortcut)
        for _ in range(blocks - 1)
    ]
    return nn.Sequential(first, *rest)


class ResNet(FeatureBackbone):
    """Three stages of n basic blocks, of ``width``, twice and four times as many channels; depth 6n
    + 2.

    The paper's network for CIFAR-100 (32 px) and ImageNet-200 (64 px) has depth 32 and width 16. As
    in the authors' code its strided shortcuts are 3 x 3 convolutions. Any size of image will do,
    for all places are averaged at the end; then one linear layer, and no ReLU after it.

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
    shortcut : {"conv3x3", "conv1x1"}, default "conv3x3"
        The shortcut of a block that halves the size.
    feature_norm : bool, default False
        Normalize the averaged features over the batch before the last layer, so that outputs do not
        start out in nearly one direction. The paper's networks do not.
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
        super().__init__(
            out_dim=out_dim,
            depth=depth,
            width=width,
            channels=channels,
            shortcut=shortcut,
            feature_norm=feature_norm,
        )
        self.channels = channels
        blocks, left = divmod(depth - 2, 6)
        if left or blocks < 1:
            less = max(8, 6 * blocks + 2)
            near = f"The nearest are {less} and {less + 6}."
            raise InputError("depth", "be 6n + 2, such as 8, 14, 20 or 32", depth, near)
        self.stem = conv(channels, width)
        self.norm = nn.BatchNorm2d(width)
        self.stages = nn.Sequential(
            stage(width, width, blocks, shortcut=shortcut),
            stage(width, 2 * width, blocks, shortcut=shortcut),
            stage(2 * width, 4 * width, blocks, shortcut=shortcut),
        )
        self.num_features = 4 * width
        self.output = head(4 * width, out_dim, norm=feature_norm)
        initialize(self)

    def features(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to features, shape (n, num_features)."""
        check_images(images, self.channels)
        maps = functional.relu(self.norm(self.stem(images)), inplace=True)
        return pool_all(self.stages(maps))


class ResNet3463(FeatureBackbone):
    """Four stages of 3, 4, 6 and 3 basic blocks, of ``width`` channels, twice, four and eight times
    as many.

    With width 64 it is what the authors train on CUB-200 and OmniArt at 224 px. The paper calls it
    ResNet-32; He et al. (2016) call it ResNet-34.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    width : int, default 64
        Channels of the first stage; time and weights grow with its square.
    channels : int, default 3
        Channels of the images.
    feature_norm : bool, default False
        Normalize the averaged features over the batch before the last layer, so that outputs do not
        start out in nearly one direction. The paper's networks do not.
    """

    name = "resnet-3463"
    presets: ClassVar[Presets] = {"resnet-3463-small": {"width": 16}}

    def __init__(
        self, out_dim: int, width: int = 64, channels: int = 3, feature_norm: bool = False
    ) -> None:
        super().__init__(out_dim=out_dim, width=width, channels=channels, feature_norm=feature_norm)
        self.channels = channels
        self.stem = nn.Sequential(
            conv(channels, width, kernel=7, stride=2),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        widths = (width, width, 2 * width, 4 * width, 8 * width)
        self.stages = nn.Sequential(
            *(
                stage(i, o, n, shortcut="conv1x1")
                for (i, o), n in zip(pairwise(widths), BLOCKS, strict=True)
            )
        )
        self.num_features = 8 * width
        self.output = head(8 * width, out_dim, norm=feature_norm)
        initialize(self)

    def features(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to features, shape (n, num_features)."""
        check_images(images, self.channels)
        return pool_all(self.stages(self.stem(images)))
