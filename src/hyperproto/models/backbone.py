"""Networks that remember how they were built, so that a run can rebuild them from a name and numbers."""

from typing import Any

from torch import nn

from hyperproto._core.checks import check_integer
from hyperproto._core.registry import choose

__all__ = ["BACKBONES", "Backbone", "create_backbone"]

BACKBONES: dict[str, type["Backbone"]] = {}


class Backbone(nn.Module):
    """A network of ours: a name, and the numbers its constructor was given."""

    name: str

    def __init__(self, *, out_dim: int, **config: Any) -> None:
        super().__init__()
        self.config = {"out_dim": check_integer(out_dim, "out_dim", at_least=1), **config}

    def __init_subclass__(cls) -> None:
        BACKBONES[cls.name] = cls


def create_backbone(name: str, **config: Any) -> Backbone:
    """Build one of our networks by name."""
    return choose(name, BACKBONES, what="backbone")(**config)
