"""Parts that more than one backbone is made of."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from hyperproto._core.registry import choose

__all__ = ["SHORTCUTS", "BasicBlock", "PooledShortcut", "conv", "initialise", "output_layer", "pool_all", "stage"]


def conv(in_channels: int, out_channels: int, *, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    """Make a convolution that keeps the size at stride 1; without bias, since a batch norm follows."""
    return nn.Conv2d(in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, bias=False)


def pool_all(maps: Tensor) -> Tensor:
    """Average over all places: (n, channels, height, width) to (n, channels)."""
    return functional.adaptive_avg_pool2d(maps, 1).flatten(1)  # quicker than mean((2, 3)), in either memory format


def output_layer(features: int, out_dim: int, *, feature_norm: bool) -> nn.Sequential:
    """Make the one linear layer at the end, with or without a norm before it that has no weights.

    Averages of what ReLU leaves are positive and share a large mean: outputs start out in nearly one direction, along
    which a loss of cosines has little gradient. The norm takes that mean away.
    """
    norm = [nn.BatchNorm1d(features, affine=False)] if feature_norm else []
    return nn.Sequential(*norm, nn.Linear(features, out_dim))


def initialise(network: nn.Module, *, mode: Literal["fan_in", "fan_out"] = "fan_out") -> None:
    """Draw the weights of all convolutions as He et al. (2015) do; norms and linear layers keep torch's defaults."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")


class PooledShortcut(nn.Module):
    """A shortcut without parameters: average over 2 x 2 pixels, then channels of zeros."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.added = out_channels - in_channels

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, in_channels, height, width) to (n, out_channels, height / 2, width / 2), rounded up."""
        halved = functional.avg_pool2d(maps, 2, ceil_mode=True)
        return functional.pad(halved, (0, 0, 0, 0, 0, self.added))


def _convolved(in_channels: int, out_channels: int, kernel: int) -> nn.Module:
    return nn.Sequential(conv(in_channels, out_channels, kernel=kernel, stride=2), nn.BatchNorm2d(out_channels))


SHORTCUTS = {
    "conv3x3": lambda i, o: _convolved(i, o, 3),  # the authors', CIFAR-100 and ImageNet-200
    "conv1x1": lambda i, o: _convolved(i, o, 1),  # the authors', CUB and OmniArt
    "pool": PooledShortcut,
}


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut, which is plain at stride 1."""

    def __init__(self, in_channels: int, out_channels: int, *, stride: int, shortcut: str) -> None:
        super().__init__()
        self.conv1 = conv(in_channels, out_channels, stride=stride)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = conv(out_channels, out_channels)
        self.norm2 = nn.BatchNorm2d(out_channels)
        build = choose(shortcut, SHORTCUTS, what="shortcut")
        self.shortcut = nn.Identity() if stride == 1 else build(in_channels, out_channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, in_channels, height, width) to (n, out_channels, height / stride, width / stride), rounded up."""
        out: Tensor = functional.relu(self.norm1(self.conv1(maps)), inplace=True)
        out = self.norm2(self.conv2(out))
        out += self.shortcut(maps)
        return functional.relu(out, inplace=True)


def stage(in_channels: int, out_channels: int, blocks: int, *, shortcut: str) -> nn.Sequential:
    """Chain basic blocks; the first halves the size where it changes the number of channels."""
    stride = 1 if in_channels == out_channels else 2
    first = BasicBlock(in_channels, out_channels, stride=stride, shortcut=shortcut)
    rest = [BasicBlock(out_channels, out_channels, stride=1, shortcut=shortcut) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)
