"""The tensors that training changes, by name, out of network and space and back."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto.spaces import OutputSpace, Sphere

__all__ = ["fill", "read_tensors", "weights_of"]


def weights_of(network: nn.Module, space: OutputSpace) -> dict[str, Tensor]:
    """Return a copy of every tensor that training changed, on the CPU; prototypes have a file of their own."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    if not isinstance(space, Sphere):
        tensors |= {f"space.{name}": tensor for name, tensor in space.state_dict().items()}
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def fill(network: nn.Module, space: OutputSpace, tensors: dict[str, Tensor]) -> None:
    """Copy weights into a network and a space that were built to match."""
    for prefix, module in (("network.", network), ("space.", space)):
        own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        if prefix == "space." and not own:
            continue
        try:
            module.load_state_dict(own)
        except RuntimeError as error:
            first = str(error).splitlines()[-1].strip()
            raise InputError(f"The weights do not fit the {prefix[:-1]} given ({first}).") from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file, or say in a sentence why it cannot be read."""
    try:
        return load_file(path)
    except SafetensorError as error:
        raise InputError(f'"{path}" is not a readable safetensors file ({error}).') from None
