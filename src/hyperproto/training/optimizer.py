"""What takes the steps: stochastic gradient descent, or an optimizer that the caller makes."""

import inspect
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.sgd import sgd

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.defaults import MOMENTUM
from hyperproto.spec import ResolvedSettings, TrainSettings


class GradientDescent:
    """Stochastic gradient descent with momentum, by the function that takes the steps of
    ``torch.optim.SGD``.

    Any ``torch.optim.Optimizer`` loads torch's compiler when it is made, which takes longer than a
    small fit and that nothing here uses (``python -m benchmarks startup``).
    """

    def __init__(self, parameters: list[nn.Parameter], **options: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": parameters, **options}]
        self.state: dict[nn.Parameter, dict[str, Any]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Go one step downhill."""
        (group,) = self.param_groups
        moved = [parameter for parameter in group["params"] if parameter.grad is not None]
        buffers = [self.state.get(parameter, {}).get("momentum_buffer") for parameter in moved]
        options = {name: value for name, value in group.items() if name != "params"}
        gradients = [parameter.grad for parameter in moved]
        sgd(moved, gradients, buffers, **options, dampening=0, nesterov=False, maximize=False)
        self.state |= {
            parameter: {"momentum_buffer": each}
            for parameter, each in zip(moved, buffers, strict=True)
        }

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return what is remembered, by the numbers of parameters."""
        known = {parameter: index for index, parameter in enumerate(self.param_groups[0]["params"])}
        return {"state": {known[parameter]: kept for parameter, kept in self.state.items()}}

    def load_state_dict(self, stored: dict[str, Any]) -> None:
        """Take back what :meth:`state_dict` returned."""
        parameters = self.param_groups[0]["params"]
        for index, kept in stored["state"].items():
            device = parameters[index].device
            self.state[parameters[index]] = {name: value.to(device) for name, value in kept.items()}


AnyOptimizer: TypeAlias = Optimizer | GradientDescent
MakeOptimizer: TypeAlias = Callable[[list[nn.Parameter]], Optimizer]
EXAMPLE = "Pass a function of parameters: lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)"


def build_optimizer(
    make: object,
    network: nn.Module,
    space: nn.Module,
    given: TrainSettings,
    chosen: ResolvedSettings,
) -> AnyOptimizer:
    """Return the optimizer of all parameters of a network and a space: by default that of the
    settings as chosen; those given must not speak of another.
    """
    parameters = [*network.parameters(), *space.parameters()]
    if make is None:
        return GradientDescent(
            parameters,
            lr=chosen.lr,
            momentum=chosen.momentum,
            weight_decay=chosen.weight_decay,
        )
    if not callable(make):
        rule = "be a function that makes one"
        raise InputTypeError("optimizer", rule, type(make).__name__, f"{EXAMPLE}.")
    own = {"lr": None, "momentum": MOMENTUM, "weight_decay": None}
    for name, default in own.items():
        if getattr(given, name) != default:
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


def describe_optimizer(optimizer: AnyOptimizer) -> dict[str, Any]:
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
