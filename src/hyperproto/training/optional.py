"""Checks of what a caller of ``fit`` may ask for: an optimizer, weights of examples, a DataLoader,
validation data and a measure to monitor.
"""

import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.files import Plain
from hyperproto.data import Examples
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import ResolvedSettings, TrainSettings
from hyperproto.training.outputs import measure
from hyperproto.training.steps import AnyOptimizer

MakeOptimizer: TypeAlias = Callable[[list[nn.Parameter]], Optimizer]
EXAMPLE = "Pass a function of parameters: lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)"


def check_optimizer(
    make: object, parameters: list[nn.Parameter], given: TrainSettings
) -> Optimizer:
    """Return the optimizer that a caller's function makes of some parameters; the settings that
    were given must not speak of another.
    """
    if not callable(make):
        rule = "be a function that makes one"
        raise InputTypeError("optimizer", rule, type(make).__name__, f"{EXAMPLE}.")
    for name in ("lr", "momentum", "weight_decay"):
        if getattr(given, name) != getattr(TrainSettings, name):
            rule = "be left out with `optimizer`, which has its own"
            raise InputError(name, rule, getattr(given, name))
    built = make([parameter for parameter in parameters if parameter.requires_grad])
    kind = type(built).__name__
    if not isinstance(built, Optimizer):
        raise InputTypeError("optimizer", "return a torch.optim.Optimizer", kind, f"{EXAMPLE}.")
    closure = inspect.signature(built.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise InputError("optimizer", "take steps without computing the loss again", kind)
    known = set(map(id, parameters))
    if any(id(each) not in known for group in built.param_groups for each in group["params"]):
        raise InputError("optimizer", "have parameters of this network and space alone", "others")
    return built


def describe_optimizer(optimizer: AnyOptimizer) -> Plain:
    """Return its class and the options of its groups as plain values, by which it is compared where
    it goes on.
    """
    kind, groups = type(optimizer), []
    for group in optimizer.param_groups:
        options = {name: value for name, value in group.items() if name != "params"}
        options = json.loads(
            json.dumps(options, default=lambda v: v.tolist() if isinstance(v, Tensor) else repr(v))
        )
        groups.append(
            {"parameters": sum(parameter.numel() for parameter in group["params"]), **options}
        )
    return {"name": f"{kind.__module__}.{kind.__qualname__}", "groups": groups}


def check_scored(space: OutputSpace, data: Examples) -> None:
    """Check values that are only scored, where they are in memory: numbers may be out of bounds."""
    if data.targets is None:
        return
    if not space.tasks:
        space.check(data.targets)
    for name, task in space.tasks.items():
        task.check_scored(by_name(data.targets)[name], name)
    data.check_inputs()


def check_weight(given: object, data: Examples) -> Tensor:
    """Return the weight of each example, shape (n,)."""
    if data.loader is not None:
        rule = "be left out with a DataLoader, whose order nobody else knows"
        raise InputError("sample_weight", rule, advice="Pass its Dataset.")
    weight = torch.as_tensor(given)
    if weight.shape != (len(data),):
        raise InputError("sample_weight", f"have shape ({len(data)},)", tuple(weight.shape))
    if not (weight.isfinite().all() and weight.min() >= 0 and weight.max() > 0):
        spread = f"{weight.min():g} to {weight.max():g}"
        raise InputError("sample_weight", "be at least 0, and one of them greater", spread)
    return weight


def check_loader(loader: DataLoader[object], settings: TrainSettings, *, stored: bool) -> None:
    """Raise where a loader cannot be trained from, or a stored run could not be resumed with it."""
    if settings.batch_size is not None:
        rule = "be left out with a DataLoader, which has its own"
        raise InputError("batch_size", rule, settings.batch_size)
    own = any(getattr(part, "generator", None) for part in (loader, loader.sampler))
    if stored and (own or loader.persistent_workers):
        raise InputError(
            "The DataLoader of a run that is stored",
            "draw from torch's global generator, which each epoch seeds, or it could not be "
            "resumed",
            "a generator of its own" if own else "persistent_workers=True",
        )


@torch.no_grad()
def check_monitor(
    settings: ResolvedSettings,
    space: OutputSpace,
    z: Tensor,
    *,
    restore_best: bool,
    scored: Examples | None,
) -> None:
    """Say at once that a measure to monitor will not be there."""
    asked = {"patience": settings.patience, "monitor": settings.monitor}
    for name, value in (asked | {"restore_best": restore_best or None}).items():
        if scored is None and value is not None:
            rule = "be left out where there is no validation data to compare epochs by"
            raise InputError(name, rule, value)
    predicted: Targets = {}
    with suppress(InputError):  # an untrained network may point nowhere; the first epoch will tell
        predicted = space.predict(z)
    if settings.monitor is not None and len(predicted):
        choose(settings.monitor, measure(space, predicted, predicted), what="measure to monitor")
