"""Backbones by name, those of torchvision and timm included, and the one by default.

Names of the two libraries are looked up in their own lists of models and nowhere else, weights are always drawn anew,
and nothing else is passed on: a config cannot make this download, import or unpickle anything.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from hyperproto._core.checks import check_integer, choose, unknown_choice
from hyperproto._core.errors import InputError
from hyperproto._core.extras import require
from hyperproto.defaults import choose_backbone
from hyperproto.models.backbone import BACKBONES, Backbone, check_images


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
        advice = "Repeat the gray channel three times, or take the model from timm."
        raise InputError("channels", "be 3 for the models of torchvision", channels, advice)
    models = require("torchvision.models", extra="vision", purpose=f'The backbone "torchvision:{model}"')
    known = dict.fromkeys(models.list_models(module=models))  # classifiers only
    choose(model, known, what="model of torchvision")
    built: nn.Module = models.get_model(model, weights=None, num_classes=out_dim)
    return built


def _from_timm(model: str, out_dim: int, channels: int) -> nn.Module:
    timm = require("timm", extra="vision", purpose=f'The backbone "timm:{model}"')
    choose(model, dict.fromkeys(timm.list_models()), what="model of timm")  # never "hf-hub:..." nor "local-dir:..."
    built: nn.Module = timm.create_model(model, pretrained=False, num_classes=out_dim, in_chans=channels)
    return built


LIBRARIES: dict[str, Callable[[str, int, int], nn.Module]] = {
    "torchvision": _from_torchvision,
    "timm": _from_timm,
}


def create_backbone(name: str, **config: Any) -> Backbone:
    """Build a network by name; docs/backbones.md lists them.

    Parameters
    ----------
    name : str
        One of ``BACKBONES``, such as ``"resnet-32"``; or ``"torchvision:resnet18"``, ``"timm:resnet18"`` where those
        libraries are installed.
    **config
        What the constructor takes, ``out_dim`` at least. It overrides what a preset says.

    Examples
    --------
    >>> network = create_backbone("resnet-32", out_dim=100)
    >>> network.name, network.config["depth"]
    ('resnet', 32)
    """
    if ":" in str(name):
        config = {"name": name, **config}
        build: Callable[..., Backbone] = LibraryNetwork
    else:
        build = choose(name, BACKBONES, what="backbone")
    _check_settings(name, build, config)
    return build(**config)


def default_backbone(out_dim: int, shape: Sequence[int]) -> Backbone:
    """Build a network for inputs of a shape, as :func:`hyperproto.defaults.choose_backbone` says.

    Parameters
    ----------
    out_dim : int
        Width of the output: ``space.dim``.
    shape : sequence of int
        Shape of one input: (columns,), or (channels, height, width).

    Examples
    --------
    >>> default_backbone(100, (3, 32, 32)).config["depth"]
    8
    """
    shape = [check_integer(length, "shape", at_least=1) for length in shape]
    if len(shape) not in (1, 3):
        raise InputError("shape", "be (columns,) of a row or (channels, height, width) of an image", tuple(shape))
    name, options = choose_backbone(shape)
    return create_backbone(name, out_dim=out_dim, **options)


def _check_settings(name: str, build: Callable[..., Backbone], config: dict[str, Any]) -> None:
    """Raise where the constructor does not take a setting, or lacks one."""
    taken = inspect.signature(build).parameters
    for given in config:
        if given not in taken:
            raise unknown_choice(given, [key for key in taken if key != "name"], what=f'setting of "{name}"')
    for key, parameter in taken.items():
        if parameter.default is inspect.Parameter.empty and key not in config:
            raise InputError(key, f'be given for the backbone "{name}"')
