"""How images and convolutions lie in memory: channels last where that is known to be safe."""

from typing import Any

import torch
from torch import Tensor, nn

from hyperproto.models import Backbone

__all__ = ["lay_out", "to_device"]


def lay_out(network: nn.Module) -> bool:
    """Lay the weights of our own convolutional networks out channels last, and return whether that was done.

    On a CPU this saves a tenth of training and a third of evaluation. A user's own network stays as it is: a
    ``view`` of its activations may rely on the usual order. Values, names and files are the same either way.
    """
    if not isinstance(network, Backbone) or not any(isinstance(part, nn.Conv2d) for part in network.modules()):
        return False
    if next(network.parameters()).device.type == "mps":
        return False
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return True


def to_device(value: Any, device: torch.device, *, channels_last: bool = False) -> Any:
    """Move a tensor, or each of a dict of them."""
    if not isinstance(value, Tensor):
        return {name: to_device(tensor, device, channels_last=channels_last) for name, tensor in value.items()}
    if device.type == "mps" and value.dtype == torch.float64:
        value = value.float()  # MPS has no float64
    value = value.to(device, non_blocking=True)
    return value.contiguous(memory_format=torch.channels_last) if channels_last and value.ndim == 4 else value
