"""What holds for every backbone: shapes, rebuilding, gradients, memory formats, and how outputs
start.
"""

import json
import math

import pytest
import torch
from torch.nn.functional import normalize

from hyperproto.models import BACKBONES, Backbone, create_backbone

# name, what its constructor needs besides, shape of one input
CASES = [
    ("digit-net", {}, (1, 8, 8)),
    ("digit-net", {"size": 16, "width": 4, "channels": 3}, (3, 16, 16)),
    ("rotated-mnist", {}, (1, 28, 28)),
    ("resnet", {"depth": 14, "width": 4, "channels": 1}, (1, 28, 28)),
    ("resnet-8", {}, (3, 32, 32)),
    ("resnet-8", {"shortcut": "conv1x1", "width": 4}, (3, 17, 15)),
    ("resnet-8", {"feature_norm": True}, (3, 32, 32)),
    ("resnet-3463-small", {"feature_norm": True, "width": 2}, (3, 64, 64)),
    ("densenet-small", {"feature_norm": True}, (3, 16, 16)),
    ("resnet-14", {"shortcut": "conv1x1"}, (3, 16, 16)),
    ("resnet-20", {}, (3, 64, 64)),
    ("resnet-32", {}, (3, 32, 32)),
    ("resnet-32", {}, (3, 64, 64)),
    ("resnet-3463", {}, (3, 64, 64)),
    ("resnet-3463-small", {}, (3, 224, 224)),
    ("resnet-3463", {"width": 4}, (3, 32, 32)),
    ("densenet", {"blocks": [2, 1], "growth": 3, "reduction": 0.4}, (3, 9, 10)),
    ("densenet-121", {}, (3, 32, 32)),
    ("densenet-small", {}, (3, 32, 32)),
    ("efficientnet-lite0", {"hidden": [5], "dropout": 0}, (3, 64, 64)),
    ("feature-head", {"in_features": 9}, (9,)),
    ("mlp", {"in_features": 9}, (9,)),
    ("mlp", {"in_features": 9, "hidden": [5], "dropout": 0.2}, (9,)),
    ("mlp", {"in_features": 9, "hidden": []}, (9,)),
]
QUICK = [case for case in CASES if case[0] not in ("resnet-3463", "densenet-121") or case[1]]
every_case = pytest.mark.parametrize(("name", "settings", "shape"), CASES)
every_quick_case = pytest.mark.parametrize(("name", "settings", "shape"), QUICK)


def build(name: str, settings: dict) -> Backbone:
    torch.manual_seed(0)
    return create_backbone(name, out_dim=7, **settings)


def inputs_of(shape: tuple[int, ...], n: int = 2) -> torch.Tensor:
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(0))


def test_every_name_has_a_case():
    assert {name for name, _, _ in CASES} == set(BACKBONES)


@every_case
def test_outputs_are_as_wide_as_asked_for(name, settings, shape):
    with torch.no_grad():
        assert build(name, settings)(inputs_of(shape)).shape == (2, 7)


@every_case
def test_the_config_as_json_rebuilds_the_network(name, settings, shape):
    network = build(name, settings).eval()
    stored = json.loads(json.dumps({"name": network.name, **network.config}))
    torch.manual_seed(1)
    twin = create_backbone(**stored).eval()
    assert twin.config == network.config
    assert list(twin.state_dict()) == list(network.state_dict())
    twin.load_state_dict(network.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(
            twin(inputs_of(shape)), network(inputs_of(shape)), rtol=0, atol=0
        )


@every_quick_case
def test_every_weight_gets_a_gradient(name, settings, shape):
    network = build(name, settings).double()
    network(inputs_of(shape, n=4).double()).square().sum().backward()
    silent = [
        key
        for key, weight in network.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    # a bias right before a batch norm changes nothing, up to rounding: those of DigitNet may be
    # silent
    assert not [key for key in silent if not key.endswith("bias")]


@pytest.mark.parametrize(
    ("name", "settings", "shape"), [case for case in QUICK if len(case[2]) == 3]
)
def test_channels_last_changes_neither_outputs_nor_gradients(name, settings, shape):
    network = build(name, settings).double()
    inputs = inputs_of(shape, n=4).double()
    outputs, gradient = outputs_and_gradient(network, inputs)
    network.to(memory_format=torch.channels_last)
    again, gradient_again = outputs_and_gradient(
        network, inputs.contiguous(memory_format=torch.channels_last)
    )
    torch.testing.assert_close(again, outputs)
    torch.testing.assert_close(gradient_again, gradient)


def outputs_and_gradient(
    network: Backbone, inputs: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    network.zero_grad()
    outputs = network(inputs)
    outputs.square().sum().backward()
    return outputs.detach(), next(network.parameters()).grad.clone()


@every_quick_case
def test_inputs_are_left_as_they_are(name, settings, shape):
    inputs = inputs_of(shape, n=4)  # in-place ReLUs must not reach them
    before = inputs.clone()
    with torch.no_grad():
        build(name, settings)(inputs)
    torch.testing.assert_close(inputs, before, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "shape"), [("resnet-8", (3, 16, 16)), ("densenet-small", (3, 16, 16))]
)
def test_the_last_layer_is_linear_so_outputs_of_both_signs_come_out(name, shape):
    z = build(name, {})(inputs_of(shape, n=8))
    assert (z < 0).any()
    assert (z > 0).any()


@pytest.mark.parametrize("name", ["resnet-8", "resnet-3463-small"])
def test_convolutions_start_with_the_variance_of_he(name):
    convolution = build(name, {}).stages[-1][0].conv2  # fan out: 9 x out_channels
    expected = math.sqrt(2 / (9 * convolution.out_channels))
    assert convolution.weight.std().item() == pytest.approx(expected, rel=0.02)


def common_direction(name: str, settings: dict, shape: tuple[int, ...]) -> float:
    """Return the length of the mean unit output at the start: 1 where all outputs point one way."""
    torch.manual_seed(0)
    network = create_backbone(name, out_dim=20, **settings)
    with torch.no_grad():
        return normalize(network(torch.rand(64, *shape))).mean(dim=0).norm().item()


@pytest.mark.parametrize(
    ("name", "settings", "shape", "at_most"),
    [
        ("digit-net", {}, (1, 8, 8), 0.8),
        ("mlp", {"in_features": 64, "norm": "batch"}, (64,), 0.3),
        ("resnet-8", {"feature_norm": True}, (3, 16, 16), 0.3),
        ("resnet-3463-small", {"feature_norm": True}, (3, 32, 32), 0.3),
        ("densenet-small", {"feature_norm": True}, (3, 16, 16), 0.3),
        ("efficientnet-lite0", {}, (3, 64, 64), 0.6),  # normalized before the ReLU, not after it
    ],
)
def test_outputs_start_out_in_more_than_one_direction(name, settings, shape, at_most):
    assert common_direction(name, settings, shape) < at_most


@pytest.mark.parametrize("name", ["resnet-8", "densenet-small"])
def test_plain_pooled_features_start_out_in_nearly_one_direction(name):
    assert common_direction(name, {}, (3, 16, 16)) > 0.9  # what feature_norm is there for


@pytest.mark.parametrize(
    ("name", "settings", "shape"), [case for case in QUICK if case[0][:3] in ("res", "den", "eff")]
)
def test_features_can_take_the_place_of_images(name, settings, shape):
    network = build(name, settings).eval()
    with torch.no_grad():
        features = network.features(inputs_of(shape))
        assert features.shape == (2, network.num_features)
        torch.testing.assert_close(network(features), network(inputs_of(shape)), rtol=0, atol=0)


def test_a_perceptron_normalized_by_layer_treats_each_row_by_itself(generator):
    network = create_backbone("mlp", out_dim=2, in_features=3, hidden=[5], norm="layer").double()
    rows = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(network(rows)[:1], network(rows[:1]))
    with pytest.raises(
        ValueError, match='Unknown norm "batsh". Choose from: "batch", "layer", "none"'
    ):
        create_backbone("mlp", out_dim=2, in_features=3, norm="batsh")
