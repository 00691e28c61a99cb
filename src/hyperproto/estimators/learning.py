"""From arrays to a trained network: what the estimators ask of the one loop."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from hyperproto._core.checks import check_integers
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.estimators.weighing import WEIGHT, WeightedSpace
from hyperproto.models import create_backbone, default_backbone
from hyperproto.spaces import Space
from hyperproto.training import Run, fit
from hyperproto.training.outputs import stack_outputs

__all__ = ["build_network", "hold_out", "outputs_of", "rows_of", "train_network"]

Rows = NDArray[np.intp]
AT_ONCE = 4096  # rows of a table through the network in prediction; images in a sixteenth of that


def build_network(
    backbone: str | Callable[[int, tuple[int, ...]], nn.Module],
    hidden: Sequence[int],
    out_dim: int,
    inputs: Tensor,
    seed: int,
) -> nn.Module:
    """Build the network for inputs of a shape, its weights fixed by the seed and in the precision of the inputs."""
    shape = tuple(inputs.shape[1:])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = _choose_network(backbone, hidden, out_dim, shape)
    if not isinstance(network, nn.Module):
        raise InputTypeError(f"`backbone` must give a torch module; got {type(network).__name__}.")
    return network.to(inputs.dtype)


def _choose_network(backbone: Any, hidden: Sequence[int], out_dim: int, shape: tuple[int, ...]) -> nn.Module:
    if callable(backbone):
        return backbone(out_dim, shape)  # type: ignore[no-any-return]
    if not isinstance(backbone, str):
        raise InputTypeError(
            f'`backbone` must be a name such as "auto" or "resnet-20", or a function of the output\'s width and the '
            f"shape of an input; got {type(backbone).__name__}."
        )
    if len(shape) == 1 and backbone in ("auto", "mlp"):
        widths = check_integers(list(hidden), "hidden", at_least=1)
        return create_backbone("mlp", out_dim=out_dim, in_features=shape[0], hidden=widths, norm="layer")
    if backbone == "auto":
        return default_backbone(out_dim, shape)
    if len(shape) == 1:
        raise InputError(f'`backbone` must be "auto" or "mlp" for a table; got "{backbone}", which takes images.')
    channels = {} if backbone == "digit-net" else {"channels": shape[0]}
    return create_backbone(backbone, out_dim=out_dim, **channels)


def hold_out(rows: Rows, share: float, seed: int, labels: NDArray[Any] | None) -> tuple[Rows, Rows]:
    """Return the rows to keep and those held out; classes in proportion where there are enough of each."""
    held = max(1, round(share * len(rows)))
    if held >= len(rows):
        raise InputError(f"`validation_fraction` must leave rows to train on; got {share:g} of {len(rows)}.")
    if labels is not None:
        _, counts = np.unique(labels[rows], return_counts=True)
        if counts.min() < 2 or min(held, len(rows) - held) < len(counts):
            labels = None
    stratify = None if labels is None else labels[rows]
    kept, taken = train_test_split(rows, test_size=held, random_state=seed % 2**32, stratify=stratify)
    return np.sort(kept), np.sort(taken)


def rows_of(inputs: Tensor, targets: Mapping[str, Tensor], rows: Rows) -> tuple[Tensor, dict[str, Tensor]]:
    """Return some rows of inputs and targets."""
    if len(rows) == len(inputs):
        return inputs, dict(targets)
    ids = torch.from_numpy(rows)
    return inputs.index_select(0, ids), {name: target.index_select(0, ids) for name, target in targets.items()}


def train_network(
    network: nn.Module,
    space: Space,
    train: tuple[Tensor, dict[str, Tensor]],
    valid: tuple[Tensor, dict[str, Tensor]] | None,
    weight: NDArray[np.float64] | None,
    **settings: Any,
) -> Run:
    """Train in place by :func:`hyperproto.training.fit`, and leave the network ready to predict."""
    inputs, targets = train
    objective: Space | WeightedSpace = space
    if weight is not None:
        objective = WeightedSpace(space)
        targets = {**targets, WEIGHT: torch.from_numpy(weight / weight.mean())}
    keep: Literal["last", "best"] = "last" if valid is None else "best"
    run = fit(
        network, objective, (inputs, targets), valid=valid, reduction="mean", progress=False, keep=keep, **settings
    )
    network.eval()
    return run


def outputs_of(network: nn.Module, inputs: Tensor) -> Tensor:
    """Return the outputs of inputs, shape (n, dim), a part at a time."""
    return stack_outputs(network, inputs, batch_size=AT_ONCE if inputs.ndim == 2 else AT_ONCE // 16)
