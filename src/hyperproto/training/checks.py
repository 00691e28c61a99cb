"""What is looked at before the first step, so that a mistake costs a second and not an hour."""

import copy
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.utils.data import default_collate

from hyperproto._core.checks import check_finite_rows, check_output_width
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.data import Arrays, ImageData
from hyperproto.data.batches import AnyDataset
from hyperproto.defaults import InputKind
from hyperproto.spaces import OutputSpace, Range, Targets
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.spec import ResolvedSettings, TrainSettings
from hyperproto.training.best import monitored
from hyperproto.training.evaluate import measure
from hyperproto.training.outputs import move

__all__ = ["check_batches", "check_data", "check_keep", "check_monitor", "check_outputs"]


def check_keep(keep: str, folder: Any, valid: Any) -> None:
    """Say at once that the best weights cannot be kept."""
    choose(keep, {"last": 0, "best": 0}, what="weights to keep")
    if keep == "best" and valid is None:
        raise InputError('keep="best" compares epochs by validation data, and there is none. Pass valid=...')
    if keep == "best" and folder is not None:
        raise InputError(
            'keep="best" is for runs without a folder; got one. It holds both weights: hp.load(folder, which="best").'
        )


def check_data(space: OutputSpace, data: AnyDataset | None, *, scored: bool = False) -> None:
    """Look at all values once, where they are held in memory. Numbers that are only scored may be out of bounds."""
    if not isinstance(data, Arrays | ImageData):
        return
    space.check(_within_bounds(space, data.targets) if scored else data.targets)
    if isinstance(data, Arrays) and data.inputs.is_floating_point():
        hint = "Remove those rows, or fill in the missing values."
        check_finite_rows(data.inputs, "The inputs", advice=hint)


@torch.no_grad()
def check_outputs(network: nn.Module, space: OutputSpace, data: AnyDataset, accelerator: Accelerator) -> InputKind:
    """Try the network on one example, before anything is written; return what kind of input it takes."""
    inputs, _ = _first_example(data)
    weight = next(network.parameters(), None)
    if weight is not None and inputs.is_floating_point() and inputs.dtype == torch.float64 != weight.dtype:
        raise InputTypeError(
            f"The inputs are float64 and the network's weights {weight.dtype}. "
            'Pass inputs.float(), or array.astype("float32").'
        )
    z = _try(network, inputs, accelerator)
    check_output_width(z, space.dim)
    check_finite_rows(z, "The network's output", advice="Look for NaN in its weights.")
    return "images" if isinstance(inputs, Tensor) and inputs.ndim == 4 else "rows"


def check_batches(settings: ResolvedSettings, network: nn.Module, data: AnyDataset, accelerator: Accelerator) -> int:
    """Return how many examples each process must get in a step: 2 where the network cannot train on one, else 1."""
    n: int = len(data)  # type: ignore[arg-type]  # map-style data sets have a length
    size, processes, accumulate = settings.batch_size, accelerator.num_processes, settings.accumulate
    fewest, last = min(size, n) // processes, n % size // processes
    part = fewest if accumulate == 1 else min(fewest, -(-size // (processes * accumulate)))
    got = f"batch_size={size}, {processes} process{'es' * (processes > 1)}, accumulate={accumulate}, {n} examples"
    if fewest == 0:
        raise InputError(f"Each process must get an example a step; got {got}. Start fewer processes.")
    if (part > 1 and last != 1) or not _needs_two(network, data, accelerator):
        return 1
    if part == 1:
        raise InputError(
            "The network normalises over the batch, so each process must get two examples or more at a time; got "
            f"{got}. Give a larger batch, or compute it in fewer parts."
        )
    return 2


@torch.no_grad()
def _needs_two(network: nn.Module, data: AnyDataset, accelerator: Accelerator) -> bool:
    """Whether the network refuses to train on one example alone; asked of a copy, whose statistics may change."""
    inputs, _ = _first_example(data)
    with torch.random.fork_rng():
        try:
            copy.deepcopy(network).train()(move(inputs, accelerator.device))
        except ValueError as error:
            return "more than 1 value per channel" in str(error)
        except Exception:  # a network that cannot be copied, or has trouble that training will meet and name
            return False
    return False


@torch.no_grad()
def check_monitor(
    settings: TrainSettings,
    network: nn.Module,
    space: OutputSpace,
    valid: AnyDataset | None,
    accelerator: Accelerator,
) -> None:
    """Say at once that a measure to monitor will not be there."""
    for name in ("patience", "monitor"):
        if valid is None and getattr(settings, name) is not None:
            raise InputError(f"`{name}` compares epochs by validation data, and there is none. Pass valid=...")
    if valid is None or settings.monitor is None:
        return
    inputs, targets = _first_example(valid)
    try:
        predictions = space.predict(_try(network, inputs, accelerator))
    except InputError:
        return  # an untrained network may point nowhere; the first epoch will tell
    measures = measure(predictions, move(targets, accelerator.device))
    monitored({"valid": dict.fromkeys(measures, 0.0)}, settings.monitor)


def _within_bounds(space: OutputSpace, targets: Targets) -> Targets:
    """Return targets with finite numbers beyond the bounds at the nearer one."""
    if not isinstance(space, TaskSpace):
        return targets
    named = {space.names[0]: targets} if isinstance(targets, Tensor) else dict(targets)
    for name, task in space.tasks.items():
        if isinstance(task, Range) and isinstance(value := named.get(name), Tensor) and value.is_floating_point():
            named[name] = torch.where(value.isfinite(), value.clamp(task.low, task.high), value)
    return named[space.names[0]] if isinstance(targets, Tensor) else named


def _first_example(data: AnyDataset) -> tuple[Any, Any]:
    inputs, targets = data[slice(0, 1)] if isinstance(data, Arrays) else default_collate([data[0]])
    return inputs, targets


def _try(network: nn.Module, inputs: Any, accelerator: Accelerator) -> Tensor:
    was_training = network.training
    try:
        z: Tensor = network.eval()(move(inputs, accelerator.device))
        return z
    finally:
        network.train(was_training)
