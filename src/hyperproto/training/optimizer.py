"""What takes the steps: stochastic gradient descent, or an optimizer that the caller makes."""

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.defaults import MOMENTUM
from hyperproto.spec import ResolvedSettings, TrainSettings

MakeOptimizer: TypeAlias = Callable[[list[nn.Parameter]], Optimizer]
EXAMPLE = "Pass a function of parameters: lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)"


def check_optimizer(make: Any, settings: TrainSettings) -> None:
    """Say before anything is built that an optimizer is none, or that settings would be ignored next to it."""
    if make is None:
        return
    if not callable(make):
        raise InputTypeError("optimizer", "be a function that makes one", type(make).__name__, f"{EXAMPLE}.")
    own = {"lr": None, "momentum": MOMENTUM, "weight_decay": None}
    for name, default in own.items():
        if getattr(settings, name) != default:
            raise InputError(name, "be left out with `optimizer`, which has its own", getattr(settings, name))


def build_optimizer(
    make: MakeOptimizer | None, network: nn.Module, space: nn.Module, settings: ResolvedSettings
) -> Optimizer:
    """Return the optimizer of all parameters of a network and a space, by default that of the settings."""
    parameters = list(nn.ModuleList([network, space]).parameters())
    if make is None:
        return SGD(parameters, lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay)
    built = make([parameter for parameter in parameters if parameter.requires_grad])
    if not isinstance(built, Optimizer):
        raise InputTypeError("optimizer", "return a torch.optim.Optimizer", type(built).__name__, f"{EXAMPLE}.")
    closure = inspect.signature(type(built).step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise InputError("optimizer", "take steps without computing the loss again", type(built).__name__)
    known = {id(parameter) for parameter in parameters}
    if any(id(parameter) not in known for group in built.param_groups for parameter in group["params"]):
        raise InputError("optimizer", "have parameters of this network and space alone", "others")
    return built


def describe_optimizer(optimizer: Optimizer) -> dict[str, Any]:
    """Return its class and the options of its groups as plain values, by which it is compared where it goes on."""
    kind, groups = type(optimizer), []
    for group in optimizer.param_groups:
        options = {name: _plain(value) for name, value in group.items() if name != "params"}
        groups.append({"parameters": sum(parameter.numel() for parameter in group["params"]), **options})
    return {"name": f"{kind.__module__}.{kind.__qualname__}", "groups": groups}


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
