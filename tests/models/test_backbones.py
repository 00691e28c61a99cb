import pytest
import torch

from hyperproto.models import BACKBONES, DigitNet, create_backbone


def test_out_dim_is_an_argument_and_the_config_rebuilds_the_network():
    network = DigitNet(7, size=16, width=4)
    assert network(torch.rand(3, 1, 16, 16)).shape == (3, 7)
    twin = create_backbone(network.name, **network.config)
    twin.load_state_dict(network.state_dict())
    assert set(BACKBONES) >= {"digit-net"}


def test_outputs_start_out_in_more_than_one_direction():
    torch.manual_seed(0)
    z = DigitNet(3)(torch.rand(64, 1, 8, 8))
    assert torch.nn.functional.normalize(z).mean(dim=0).norm() < 0.8


def test_an_unknown_backbone_gets_a_suggestion():
    with pytest.raises(ValueError, match='Unknown backbone "digitnet".*Did you mean "digit-net"?'):
        create_backbone("digitnet", out_dim=3)
    with pytest.raises(ValueError, match="`out_dim` must be at least 1; got 0"):
        DigitNet(0)
