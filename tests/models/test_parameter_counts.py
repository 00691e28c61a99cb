"""Parameter counts, each with the sum that gives it."""

import pytest

from hyperproto.models import create_backbone


def conv(inputs: int, outputs: int, kernel: int = 3) -> int:
    """Weights of a convolution without bias, and of the norm after it."""
    return kernel * kernel * inputs * outputs + 2 * outputs


def linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def resnet(blocks: int, out_dim: int, shortcut: int) -> int:
    """Sum up stem, stages of 16, 32 and 64 channels, shortcuts with a kernel (0: none), and the
    linear layer.
    """
    total = conv(3, 16) + 2 * blocks * conv(16, 16) + linear(64, out_dim)
    for inputs, outputs in ((16, 32), (32, 64)):
        total += conv(inputs, outputs) + (2 * blocks - 1) * conv(outputs, outputs)
        total += conv(inputs, outputs, shortcut) if shortcut else 0
    return total


def four_stages(width: int, out_dim: int) -> int:
    """Sum up the 3-4-6-3 network: a 7 x 7 stem, and 1 x 1 shortcuts."""
    total = conv(3, width, 7) + 6 * conv(width, width) + linear(8 * width, out_dim)
    for outputs, blocks in ((2 * width, 4), (4 * width, 6), (8 * width, 3)):
        total += conv(outputs // 2, outputs) + (2 * blocks - 1) * conv(outputs, outputs)
        total += conv(outputs // 2, outputs, 1)
    return total


def dense(blocks: tuple[int, ...], growth: int, out_dim: int) -> int:
    """Sum up a DenseNet whose norms come before their convolutions."""
    width = 2 * growth
    total = 9 * 3 * width
    for index, layers in enumerate(blocks):
        if index:
            total += 2 * width + width * (width // 2)
            width //= 2
        for _ in range(layers):
            total += 2 * width + width * 4 * growth + 2 * 4 * growth + 9 * 4 * growth * growth
            width += growth
    return total + 2 * width + linear(width, out_dim)


CASES = [
    # stem 464 + stage 16: 23,360 + stage 32: 88,192 + stage 64: 351,488 + shortcuts 4,672 and
    # 18,560 + linear 6,500
    ("resnet-32", {}, 493_236, resnet(5, 100, 3)),  # the paper's, 0.493 M
    ("resnet-20", {}, 298_804, resnet(3, 100, 3)),
    ("resnet-14", {"shortcut": "conv1x1"}, 181_108, resnet(2, 100, 1)),
    ("resnet-8", {}, 104_372, resnet(1, 100, 3)),
    # 21,797,672 of ResNet-34 for 1,000 classes, less its last layer of 513,000, plus 512 x 100 +
    # 100
    ("resnet-3463", {}, 21_335_972, 21_797_672 - linear(512, 1000) + linear(512, 100)),
    ("resnet-3463", {"width": 64}, 21_335_972, four_stages(64, 100)),
    ("resnet-3463-small", {}, 1_348_148, four_stages(16, 100)),
    ("densenet-121", {}, 7_048_548, dense((6, 12, 24, 16), 32, 100)),  # about 7 M
    ("densenet-small", {}, 188_092, dense((6, 6, 6), 12, 100)),
    # 4,652,008 of EfficientNet-Lite0 for 1,000 classes, less its last layer; a hidden layer with
    # its norm, the output
    (
        "efficientnet-lite0",
        {},
        4_079_204,
        4_652_008 - linear(1280, 1000) + linear(1280, 512) + 2 * 512 + linear(512, 100),
    ),
    # 9 x 32 + 32 and 64, 9 x 32 x 64 + 64 and 128, (64 x 4 x 4) x 128 + 128 and 256, 128 x 100 +
    # 100
    (
        "digit-net",
        {},
        163_364,
        320 + 64 + 18_496 + 128 + linear(1024, 128) + 256 + linear(128, 100),
    ),
    (
        "rotated-mnist",
        {},
        1_637_924,
        320 + 64 + 18_496 + 128 + linear(12_544, 128) + 256 + linear(128, 100),
    ),
    (
        "feature-head",
        {"in_features": 1280},
        708_196,
        linear(1280, 512) + 1024 + linear(512, 100),
    ),
    ("mlp", {"in_features": 64}, 16_800, linear(64, 100) + 200 + linear(100, 100)),
]


@pytest.mark.parametrize(("name", "settings", "count", "by_hand"), CASES)
def test_a_network_has_as_many_parameters_as_its_layers_add_up_to(name, settings, count, by_hand):
    network = create_backbone(name, **{"out_dim": 100, **settings})
    assert sum(weight.numel() for weight in network.parameters()) == count
    assert by_hand == count
