"""Network and space from what a run's config says about them, which is not to be trusted.

A config comes from wherever the folder came from. It can name a network of ours and give it numbers, no more; numbers
that ask for more memory than the weights beside them account for are refused before any is taken.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hyperproto._core.errors import HyperprotoError, InputError
from hyperproto.baselines import space_from_dict
from hyperproto.models import create_backbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace

__all__ = ["build_network", "build_space", "stored_prototypes"]

MOST = 2**24  # of any whole number: classes, columns, dimensions
MOST_LAYERS = 2000
WEIGHTS = ("last.safetensors", "best.safetensors", "checkpoint.safetensors")


def build_network(described: Any, folder: Path) -> nn.Module:
    """Build a network of ours, with fresh weights, from its name and numbers."""
    with _explained(folder, "network"):
        _check_numbers(described, "network")
        for layers in (described.get("depth", 0), *described.get("blocks", ())):
            if layers > MOST_LAYERS:
                raise InputError(f"A stored network must have at most {MOST_LAYERS} layers; it says {layers}.")
        _check_size(described, folder)
        return create_backbone(**described)


def build_space(described: Any, folder: Path) -> OutputSpace:
    """Build a space of ours around the prototypes that are stored: nothing is placed again."""
    with _explained(folder, "space"):
        _check_numbers(described, "space")
        return space_from_dict(described, stored_prototypes(folder, described))


def stored_prototypes(folder: Path, space: dict[str, Any]) -> dict[str, Prototypes]:
    """Read the prototypes of each class task of a stored sphere."""
    named = [task["name"] for task in space["tasks"] if task["task"] == "classes"]
    if space["kind"] not in ("sphere", "composite"):
        named = []
    files = {name: folder / f"prototypes.{index}.safetensors" for index, name in enumerate(named)}
    for name, file in files.items():
        if not file.is_file():
            raise FileNotFoundError(f'The prototypes of "{name}" must be in "{file}"; there is no such file.')
    return {name: Prototypes.load(file) for name, file in files.items()}


def _check_numbers(value: Any, what: str) -> None:
    """Refuse whole numbers that no run of ours has."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item, what)
    elif isinstance(value, int) and abs(value) > MOST:
        raise InputError(f"Numbers of a stored {what} must be at most {MOST}; it says {value:.3g}.")


def _check_size(described: dict[str, Any], folder: Path) -> None:
    """Build the network without memory first, and compare it with the weights that are to be filled in."""
    held = max((path.stat().st_size for name in WEIGHTS if (path := folder / name).is_file()), default=None)
    if held is None:
        return
    skeleton: nn.Module | None = None
    with torch.device("meta"), suppress(NotImplementedError):  # some of timm's and torchvision's need real numbers
        skeleton = create_backbone(**described)
    needed = 0 if skeleton is None else sum(weights.numel() for weights in skeleton.parameters())
    if needed > held:  # a number takes a byte at the very least
        raise InputError(f"The network has {needed:,} weights, and the files beside it hold {held:,} bytes.")


@contextmanager
def _explained(folder: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged config leads to into a sentence that names the file."""
    try:
        yield
    except (HyperprotoError, OSError) as error:
        raise type(error)(f'The {what} of "{folder}" cannot be built. {error}') from None
    except (AttributeError, ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f'The {what} of "{folder}" cannot be built from its config.json ({type(error).__name__}: {reason}). '
            "It may have been edited."
        ) from None
