"""Networks of torchvision and timm by name, where those are installed.

Names are looked up in the two libraries' own lists of models and nowhere else, weights are always drawn anew, and
nothing else is passed on: a config cannot make this download, import or unpickle anything.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.extras import require
from hyperproto._core.registry import choose
from hyperproto.models.backbone import Backbone
from hyperproto.models.inputs import check_images

__all__ = ["LIBRARIES", "LibraryNetwork"]


class LibraryNetwork(Backbone):
    """An image classifier of torchvision or timm, whose last layer is ``out_dim`` wide; untrained.

    For trained weights, build the module with the library itself: ``hp.fit`` takes any ``nn.Module``.

    Parameters
    ----------
    name : str
        The library and the name it knows the model by: ``"torchvision:resnet18"``, ``"timm:resnet18"``.
    out_dim : int
        Width of the output.
    channels : int, default 3
        Channels of the images; torchvision's models take 3.
    """

    def __init__(self, name: str, out_dim: int, channels: int = 3) -> None:
        super().__init__(out_dim=out_dim, channels=channels)
        self.name = name
        self.channels = check_integer(channels, "channels", at_least=1)
        library, _, model = name.partition(":")
        build = choose(library, LIBRARIES, what="library of backbones")
        self.network = build(model, out_dim, channels)

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to outputs, shape (n, out_dim)."""
        check_images(images, self.channels)
        z: Tensor = self.network(images)
        return z


def _from_torchvision(model: str, out_dim: int, channels: int) -> nn.Module:
    if channels != 3:
        raise InputError(
            f"torchvision's models take 3 channels; got channels={channels}. "
            "Repeat the grey channel three times, or take the model from timm."
        )
    models = require("torchvision.models", extra="vision", purpose=f'The backbone "torchvision:{model}"')
    known = dict.fromkeys(models.list_models(module=models))  # classifiers only
    choose(model, known, what="model of torchvision")
    return _module(models.get_model(model, weights=None, num_classes=out_dim))


def _from_timm(model: str, out_dim: int, channels: int) -> nn.Module:
    timm = require("timm", extra="vision", purpose=f'The backbone "timm:{model}"')
    choose(model, dict.fromkeys(timm.list_models()), what="model of timm")  # never "hf-hub:..." nor "local-dir:..."
    return _module(timm.create_model(model, pretrained=False, num_classes=out_dim, in_chans=channels))


def _module(built: Any) -> nn.Module:
    assert isinstance(built, nn.Module)
    return built


LIBRARIES: dict[str, Callable[[str, int, int], nn.Module]] = {
    "torchvision": _from_torchvision,
    "timm": _from_timm,
}
