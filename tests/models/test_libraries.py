"""Networks of torchvision and timm, with stand-ins for the two libraries."""

import sys
from types import ModuleType
from typing import ClassVar

import pytest
import torch
from torch import nn

import hyperproto as hp
from hyperproto.data import ImagePreprocessing
from hyperproto.models import create_backbone
from tests.refusals import refuses


class TinyNet(nn.Module):
    pretrained_cfg: ClassVar = {
        "mean": [0.1, 0.2, 0.3],
        "std": [1, 2, 3],
        "url": "https://example.org",
    }

    def __init__(self, channels: int, num_classes: int) -> None:
        super().__init__()
        self.body = nn.Linear(channels, 6)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(6, num_classes))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.body(images.mean((2, 3))))


@pytest.fixture
def torchvision(monkeypatch) -> list[tuple]:
    """Put a torchvision in place that knows one classifier and one detector; return the calls it
    gets.
    """
    calls = []
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")

    def get_model(name, **settings):
        calls.append((name, settings))
        return TinyNet(3, settings.get("num_classes", 1000))

    models.list_models = lambda module=None: (
        ["resnet18"] if module is models else ["resnet18", "ssd300_vgg16"]
    )
    models.get_model = get_model
    package.models = models
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    return calls


@pytest.fixture
def timm(monkeypatch) -> list[tuple]:
    """Put a timm in place that knows one model; return the calls it gets."""
    calls = []
    package = ModuleType("timm")

    def create_model(name, **settings):
        calls.append((name, settings))
        return TinyNet(settings["in_chans"], settings.get("num_classes", 1000))

    package.list_models = lambda: ["resnet18"]
    package.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", package)
    return calls


def test_a_torchvision_model_comes_by_name_and_untrained(torchvision):
    network = create_backbone("torchvision:resnet18", out_dim=5)
    assert torchvision == [("resnet18", {"weights": None, "num_classes": 5})]
    assert network(torch.rand(2, 3, 8, 8)).shape == (2, 5)
    assert (network.name, network.config) == ("torchvision:resnet18", {"out_dim": 5, "channels": 3})


def test_a_timm_model_comes_by_name_untrained_and_with_any_channels(timm):
    network = create_backbone("timm:resnet18", out_dim=5, channels=1)
    assert timm == [("resnet18", {"pretrained": False, "num_classes": 5, "in_chans": 1})]
    assert network(torch.rand(2, 1, 8, 8)).shape == (2, 5)
    with refuses("images", "3 (RGB)"):
        network(torch.rand(2, 3, 8, 8))


@pytest.mark.usefixtures("timm")
def test_a_run_with_a_library_network_loads_again(tmp_path):
    network, space = create_backbone("timm:resnet18", out_dim=3), hp.Space(3, hp.Classes(4))
    images, labels = torch.rand(8, 3, 4, 4), torch.arange(8) % 4
    hp.fit(
        network,
        space,
        (images, labels),
        epochs=1,
        batch_size=4,
        folder=tmp_path / "run",
        progress=False,
    )
    again = hp.load(tmp_path / "run").network
    with torch.no_grad():
        torch.testing.assert_close(again(images), network.eval()(images))


@pytest.mark.usefixtures("torchvision", "timm")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "torchvision:resnet19",
            'Unknown model of torchvision "resnet19".*Did you mean "resnet18"',
        ),
        ("torchvision:ssd300_vgg16", 'Unknown model of torchvision "ssd300_vgg16"'),
        ("timm:hf-hub:someone/resnet18", 'Unknown model of timm "hf-hub:someone/resnet18"'),
        ("timm:local-dir:/tmp/model", 'Unknown model of timm "local-dir:/tmp/model"'),
        ("os:system", 'Unknown library of backbones "os". Choose from: "torchvision", "timm"'),
    ],
)
def test_only_the_libraries_own_classifiers_can_be_named(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        create_backbone(name, out_dim=3)


@pytest.mark.parametrize("setting", ["weights", "pretrained", "checkpoint_path"])
def test_nothing_but_numbers_is_passed_on(setting, torchvision, timm):
    for library in ("torchvision", "timm"):
        with pytest.raises(
            ValueError, match=f'Unknown setting of "{library}:resnet18" "{setting}"'
        ):
            create_backbone(f"{library}:resnet18", out_dim=3, **{setting: "anything"})
    assert not torchvision + timm


def test_torchvision_takes_three_channels_only():
    with refuses("channels", "1"):
        create_backbone("torchvision:resnet18", out_dim=3, channels=1)


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_missing_library_is_answered_by_what_to_type(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    with pytest.raises(
        ImportError,
        match=rf'"{library}:resnet18" needs {library}.*pip install "hyperproto\[vision\]"',
    ):
        create_backbone(f"{library}:resnet18", out_dim=3)


def test_a_colon_alone_is_not_enough():
    with pytest.raises(ValueError, match='Unknown library of backbones ""'):
        create_backbone(":resnet18", out_dim=3)


@pytest.mark.usefixtures("torchvision", "timm")
@pytest.mark.parametrize("name", ["torchvision:resnet18", "timm:resnet18"])
def test_features_are_what_the_last_layer_gets(name):
    network, images = create_backbone(name, out_dim=5).eval(), torch.rand(2, 3, 8, 8)
    features = network.features(images)
    torch.testing.assert_close(features, network.network.body(images.mean((2, 3))))
    torch.testing.assert_close(network(features), network(images))


@pytest.mark.usefixtures("timm")
def test_a_head_takes_the_place_of_the_last_layer_and_is_rebuilt_by_its_config():
    network = create_backbone("timm:resnet18", out_dim=5, hidden=[7]).eval()
    assert network.config == {"out_dim": 5, "channels": 3, "hidden": [7], "dropout": 0.3}
    assert [type(layer) for layer in network.output][-1] is nn.Linear
    twin = create_backbone(network.name, **network.config).eval()
    twin.load_state_dict(network.state_dict())
    images = torch.rand(2, 3, 8, 8)
    torch.testing.assert_close(twin(images), network(network.features(images)))


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("torchvision:resnet18", {"weights": "DEFAULT"}),
        ("timm:resnet18", {"pretrained": True, "in_chans": 3}),
    ],
)
@pytest.mark.parametrize("hidden", [None, [7]])
def test_pretrained_weights_are_the_librarys_except_for_the_output(
    name, asked, hidden, torchvision, timm
):
    network = create_backbone(name, out_dim=5, hidden=hidden)
    drawn = {key: value.clone() for key, value in network.state_dict().items()}
    network.load_pretrained()
    assert (torchvision + timm)[-1] == ("resnet18", asked)
    changed = {
        key for key, value in network.state_dict().items() if not torch.equal(value, drawn[key])
    }
    assert changed == {"network.body.weight", "network.body.bias"}


@pytest.mark.usefixtures("torchvision", "timm")
def test_timm_says_which_images_its_weights_were_made_for():
    pixels = create_backbone("timm:resnet18", out_dim=5).pixels
    assert pixels == ImagePreprocessing(128, mean=(0.1, 0.2, 0.3), std=(1, 2, 3))


def test_a_network_without_a_linear_layer_cannot_be_split(timm, monkeypatch):
    monkeypatch.setattr(sys.modules["timm"], "create_model", lambda *_, **__: nn.Conv2d(3, 5, 8))
    network = create_backbone("timm:resnet18", out_dim=5)
    assert network(torch.rand(2, 3, 8, 8)).shape[:2] == (2, 5)
    with refuses('The network "timm:resnet18"', "none"):
        network.features(torch.rand(2, 3, 8, 8))


@pytest.mark.parametrize(
    "error", [RuntimeError("operator nms does not exist"), ModuleNotFoundError("no x", name="x")]
)
def test_a_library_that_does_not_load_is_answered_by_a_sentence(error, monkeypatch):
    monkeypatch.delitem(sys.modules, "timm", raising=False)

    def fail(_):
        raise error

    monkeypatch.setattr("hyperproto._core.errors.import_module", fail)
    with pytest.raises(
        ImportError,
        match=r'"timm:resnet18" needs timm, which is installed but does not load: (op|no x)',
    ):
        create_backbone("timm:resnet18", out_dim=3)
