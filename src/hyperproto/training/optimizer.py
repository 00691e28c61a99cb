"""An optimizer that the caller makes, in place of gradient descent."""

import inspect
import json
from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor, nn
from torch.optim import Optimizer

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.files import Plain
from hyperproto.spec import TrainSettings
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
