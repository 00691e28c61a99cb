"""Densely connected networks: DenseNet-121 as in appendix A of the paper, and a small one."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

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


class DenseLayer(nn.Module):
    """Norm, ReLU, 1 x 1 convolution to four times ``growth``; norm, ReLU, 3 x 3 convolution; joined
    to the input.
    """

    def __init__(self, in_channels: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(in_channels)
        self.conv1 = conv(in_channels, 4 * growth, kernel=1)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = conv(4 * growth, growth)

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, in_channels, height, width) to (n, in_channels + growth, height, width)."""
        new = self.conv1(functional.relu(self.norm1(maps), inplace=True))
        new = self.conv2(functional.relu(self.norm2(new), inplace=True))
        return torch.cat((new, maps), dim=1)


class DenseNet(FeatureBackbone):
    """Blocks of dense layers; between them a 1 x 1 convolution that leaves a share of the channels,
    at half the size.

    A 3 x 3 convolution at full size, ``2 growth`` channels wide, comes first, so the network suits
    small images. With blocks of 6, 12, 24 and 16 layers and growth 32 it is the authors'
    DenseNet-121. ``"densenet-small"`` is the DenseNet-BC of depth 40 and growth 12 of Huang et al.
    (2017).

    Parameters
    ----------
    out_dim : int
        Width of the output.
    blocks : sequence of int, default (6, 12, 24, 16)
        Dense layers of each block.
    growth : int, default 32
        Channels each dense layer adds.
    reduction : float, default 0.5
        Share of the channels kept between blocks.
    channels : int, default 3
        Channels of the images.
    feature_norm : bool, default False
        Normalize the averaged features over the batch before the last layer, so that outputs do not
        start out in nearly one direction. The paper's networks do not.
    """

    name = "densenet"
    presets: ClassVar[Presets] = {
        "densenet-121": {"blocks": (6, 12, 24, 16), "growth": 32},
        "densenet-small": {"blocks": (6, 6, 6), "growth": 12},
    }

    def __init__(
        self,
        out_dim: int,
        blocks: Sequence[int] = (6, 12, 24, 16),
        growth: int = 32,
        reduction: float = 0.5,
        channels: int = 3,
        feature_norm: bool = False,
    ) -> None:
        super().__init__(
            out_dim=out_dim,
            blocks=blocks,
            growth=growth,
            reduction=reduction,
            channels=channels,
            feature_norm=feature_norm,
        )
        self.channels, width = channels, 2 * growth
        if not blocks:
            raise InputError("blocks", "hold at least one number of layers", "none")
        self.least_size = 2 ** (len(blocks) - 1)  # every transition halves
        parts: list[nn.Module] = [conv(channels, width)]
        for index, layers in enumerate(blocks):
            parts += [transition(width, width := max(1, int(width * reduction)))] if index else []
            parts += [DenseLayer(width + i * growth, growth) for i in range(layers)]
            width += layers * growth
        self.parts = nn.Sequential(*parts, nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.num_features = width
        self.output = head(width, out_dim, norm=feature_norm)
        # differs from the authors' code, which keeps torch's default
        initialize(self, mode="fan_in")

    def features(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to features, shape (n, num_features)."""
        check_images(images, self.channels, at_least=self.least_size)
        return pool_all(self.parts(images))


def transition(in_channels: int, out_channels: int) -> nn.Sequential:
    """Make the part between two blocks: norm, ReLU, 1 x 1 convolution, mean over 2 x 2 pixels."""
    return nn.Sequential(
        nn.BatchNorm2d(in_channels),
        nn.ReLU(inplace=True),
        conv(in_channels, out_channels, kernel=1),
        nn.AvgPool2d(2),
    )
