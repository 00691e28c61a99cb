"""Backbones by name, the default one, and the sentences for what cannot work."""

import pytest
import torch

from hyperproto._core.errors import InputTypeError
from hyperproto.models import (
    MLP,
    DenseNet,
    DigitNet,
    ResNet,
    ResNet3463,
    create_backbone,
    default_backbone,
)
from hyperproto.spec import NetworkSpec
from hyperproto.training.build import build_network
from tests.refusals import refuses


def test_an_unknown_backbone_gets_a_suggestion():
    with pytest.raises(ValueError, match='Unknown backbone "digitnet".*Did you mean "digit-net"?'):
        create_backbone("digitnet", out_dim=3)
    with refuses("out_dim", "0"):
        DigitNet(0)


def test_an_unknown_or_missing_setting_gets_a_sentence():
    with pytest.raises(
        ValueError, match='Unknown setting of "resnet-8" "dept".*Did you mean "depth"'
    ):
        create_backbone("resnet-8", out_dim=3, dept=14)
    with pytest.raises(ValueError, match='`in_features` must be given for the backbone "mlp"'):
        create_backbone("mlp", out_dim=3)


PLAIN = {"shortcut": "conv3x3", "feature_norm": False}  # as in the paper


def test_what_is_given_overrides_a_preset():
    network = create_backbone("resnet-32", out_dim=3, channels=1, width=2)
    assert network.config == {"out_dim": 3, "depth": 32, "width": 2, "channels": 1} | PLAIN


@pytest.mark.parametrize(
    ("shape", "kind", "config"),
    [
        ((30,), MLP, {"in_features": 30}),
        ((1, 8, 8), DigitNet, {"size": 8}),
        ((1, 16, 16), DigitNet, {"size": 16}),
        ((1, 15, 15), ResNet, {"depth": 8, "channels": 1}),
        ((1, 8, 16), ResNet, {"depth": 8, "channels": 1}),
        ((3, 16, 16), ResNet, {"depth": 8, "channels": 3}),
        ((1, 28, 28), ResNet, {"depth": 8, "channels": 1}),
        ((3, 40, 32), ResNet, {"depth": 8}),
        ((3, 64, 64), ResNet, {"depth": 20, "feature_norm": True}),
        ((3, 32, 81), ResNet3463, {"width": 16}),
        ((4, 224, 224), ResNet3463, {"width": 16, "channels": 4}),
    ],
)
def test_the_default_backbone_follows_the_shape_of_an_input(shape, kind, config):
    network = default_backbone(5, shape)
    assert isinstance(network, kind)
    assert network.config.items() >= {"out_dim": 5, **config}.items()
    with torch.no_grad():
        assert network.eval()(torch.zeros(1, *shape)).shape == (1, 5)


def test_the_perceptron_by_name_is_the_default_one():
    named = build_network(NetworkSpec(backbone="mlp"), (4,), "rows", 3, seed=0)
    assert named.config == default_backbone(3, (4,)).config


def test_a_perceptron_with_a_skip_adds_a_linear_map_of_its_inputs():
    rows, network = torch.randn(5, 4), default_backbone(3, (4,))
    last, hidden = network.layers[-1], network.layers[:-1](rows)
    expected = hidden @ last.weight[:, :100].T + rows @ last.weight[:, 100:].T + last.bias
    torch.testing.assert_close(network(rows), expected)
    assert MLP(3, 4, hidden=(), skip=True)(rows).shape == (5, 3)  # a linear map is all there is


@pytest.mark.parametrize("shape", [(), (3, 8), (2, 3, 8, 8)])
def test_a_shape_that_is_no_row_and_no_image_gets_a_sentence(shape):
    with pytest.raises(ValueError, match=r"`shape` must be \(columns,\) of a row or"):
        default_backbone(5, shape)


@pytest.mark.parametrize(
    "network", [ResNet(3, depth=8, width=2), ResNet3463(3, width=1), DenseNet(3, [1], growth=2)]
)
def test_grey_images_into_a_network_for_rgb_get_a_sentence(network):
    with refuses("images", "1 (gray)"):
        network(torch.zeros(2, 1, 32, 32))
    with refuses("images", "torch.uint8", InputTypeError):
        network(torch.zeros(2, 3, 32, 32, dtype=torch.uint8))
    with refuses("images", "(3, 32, 32)"):
        network(torch.zeros(3, 32, 32))


def test_images_of_a_size_that_cannot_work_get_a_sentence():
    with refuses("images", "28 x 28"):
        DigitNet(3)(torch.zeros(2, 1, 28, 28))
    with refuses("images", "3 x 9"):
        DenseNet(3, [1, 1, 1], growth=2)(torch.zeros(2, 3, 3, 9))


def test_rows_of_another_length_get_a_sentence():
    with refuses("rows", "(2, 5)"):
        MLP(3, 4)(torch.zeros(2, 5))
    with refuses("rows", "torch.int64", InputTypeError):
        MLP(3, 4)(torch.zeros(2, 4, dtype=torch.int64))


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: ResNet(3, depth=10), "`depth` must be 6n .* got 10. The nearest are 8 and 14"),
        (lambda: ResNet(3, depth=2), "`depth` must be 6n .* got 2. The nearest are 8 and 14"),
        (lambda: ResNet(3, depth=8, width=0), "`width` must be at least 1; got 0"),
        (lambda: ResNet(3, depth=8, channels=0), "`channels` must be at least 1; got 0"),
        (
            lambda: ResNet(3, depth=8, shortcut="conv3"),
            'Unknown shortcut "conv3".*Did you mean "conv3x3"',
        ),
        (lambda: ResNet3463(3, width=0), "`width` must be at least 1; got 0"),
        (lambda: DenseNet(3, blocks=[]), "`blocks` must hold at least one number of layers"),
        (lambda: DenseNet(3, blocks=[2, 0]), "`blocks` must be at least 1; got 0"),
        (lambda: DenseNet(3, reduction=1.5), "`reduction` must be .* at most 1; got 1.5"),
        (lambda: DenseNet(3, growth=0), "`growth` must be at least 1; got 0"),
        (lambda: DigitNet(3, size=7), "`size` must be even.*got 7"),
        (lambda: MLP(3, 4, hidden=(10**9,)), "`hidden` must be at most 16,777,216; got 1,000"),
        (lambda: MLP(3, 0), "`in_features` must be at least 1; got 0"),
        (lambda: MLP(3, 4, hidden=[0]), "`hidden` must be at least 1; got 0"),
        (lambda: MLP(3, 4, dropout=1.0), "`dropout` must be .* at most 0.99; got 1.0"),
    ],
)
def test_numbers_that_cannot_work_get_a_sentence(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()
