"""Weights from a file: numbers only, nothing in it is run or imported."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto._core.files import Plain, as_path
from hyperproto.models.backbone import Backbone

RENAMED: tuple[Callable[[str], str], ...] = (
    lambda key: key,
    lambda key: f"network.{key}",  # in the file of a run
    lambda key: f"module.{key}",  # by DataParallel
    lambda key: key.removeprefix("network."),  # by torchvision or timm itself
)


def load_weights(network: Backbone, path: str | Path) -> bool:
    """Fill in the weights of a file: a state dict, as safetensors or as ``torch.save`` writes it.

    Weights before the output must all be there. Those of the output are taken where all fit, and
    stay as drawn where not; returned is which. The folder of a run stands for its
    ``last.safetensors``.
    """
    path = as_path(path)
    path = path / "last.safetensors" if path.is_dir() else path
    if not path.is_file():
        raise MissingDataError(f'"{path}"', "be a file of weights", "no such file")
    try:
        stored: Plain = (
            load_file(path)
            if path.suffix == ".safetensors"
            else torch.load(path, "cpu", weights_only=True)
        )
        for wrapped in ("state_dict", "model"):
            stored = stored.get(wrapped, stored)
        tensors = {key: value for key, value in stored.items() if isinstance(value, Tensor)}
    except Exception as error:  # of a damaged pickle anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        rule = "be a state dict, as safetensors or torch.save writes it"
        raise InputError(f'"{path}"', rule, reason) from None
    return adopt_weights(network, tensors, f'"{path}"')


def adopt_weights(network: Backbone, weights: Mapping[str, Tensor], where: str) -> bool:
    """Fill in weights by their names, as :func:`load_weights` does; ``where`` they come from is for
    an error.
    """
    own = network.state_dict()
    body = [key for key in own if not key.startswith(network.output_prefix)]

    def rename_by(rename: Callable[[str], str]) -> dict[str, Tensor]:
        """Return the weights that fit, by their own names."""
        pairs = ((key, weights.get(rename(key))) for key in own)
        return {
            key: tensor
            for key, tensor in pairs
            if tensor is not None and tensor.shape == own[key].shape
        }

    known = max(map(rename_by, RENAMED), key=lambda found: len(found.keys() & set(body)))
    # older files do not count their batches
    absent = [key for key in body if key not in known and not key.endswith("num_batches_tracked")]
    if absent:
        got = f'{len(absent)} of {len(body)} missing or of another shape, such as "{min(absent)}"'
        raise InputError(where, f'hold the weights of "{network.name}"', got)
    whole = known.keys() >= own.keys() - set(body)
    taken = known if whole else {key: known[key] for key in body if key in known}
    network.load_state_dict(own | taken)
    return whole
