"""Backbones by name, those of torchvision and timm included, and the one by default."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from hyperproto._core.checks import check_integer, choose, unknown_choice
from hyperproto._core.errors import InputError
from hyperproto.defaults import InputKind, choose_backbone
from hyperproto.models.backbone import BACKBONES, Backbone
from hyperproto.models.libraries import LibraryNetwork


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


def default_backbone(out_dim: int, shape: Sequence[int], inputs: InputKind = "rows") -> Backbone:
    """Build a network for inputs of a shape, as :func:`hyperproto.defaults.choose_backbone` says.

    Parameters
    ----------
    out_dim : int
        Width of the output: ``space.dim``.
    shape : sequence of int
        Shape of one input: (columns,), or (channels, height, width).
    inputs : {"rows", "sparse rows", "images"}
        What the inputs are; sparse rows, such as texts, get dropout.

    Examples
    --------
    >>> default_backbone(100, (3, 32, 32)).config["depth"]
    8
    """
    shape = [check_integer(length, "shape", at_least=1) for length in shape]
    if len(shape) not in (1, 3):
        raise InputError("shape", "be (columns,) of a row or (channels, height, width) of an image", tuple(shape))
    name, options = choose_backbone(shape, inputs)
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
