"""Networks that remember how they were built, so that a run can rebuild them from a name and numbers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeAlias

from torch import nn

from hyperproto._core.checks import check_integer

__all__ = ["BACKBONES", "Backbone", "Presets"]

Presets: TypeAlias = Mapping[str, Mapping[str, Any]]

BACKBONES: dict[str, Callable[..., "Backbone"]] = {}


class Backbone(nn.Module):
    """A network of ours: a name, and the numbers its constructor was given.

    A subclass that sets ``name`` can be had by that name, and by the names of its ``presets``.

    Attributes
    ----------
    name : str
        What :func:`~hyperproto.models.create_backbone` knows it by.
    presets : mapping from str to dict
        Names for settings of note, such as ``{"resnet-32": {"depth": 32}}``.
    config : dict
        Every argument of the constructor, as JSON has it: ``create_backbone(name, **config)`` builds the same.
    """

    name: str
    presets: ClassVar[Presets] = {}

    def __init__(self, *, out_dim: int, **config: Any) -> None:
        super().__init__()
        self.config = {"out_dim": check_integer(out_dim, "out_dim", at_least=1), **config}

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            BACKBONES[cls.name] = cls
            BACKBONES.update({name: partial(cls, **settings) for name, settings in cls.presets.items()})
