"""One step of training: where it is computed, the gradient of a batch, and the descent."""

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.sgd import sgd

from hyperproto._core.errors import NonFiniteLossError
from hyperproto._core.files import Plain
from hyperproto._core.processes import join_group, own_device
from hyperproto.data.examples import Values, index_targets
from hyperproto.models import Backbone
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import ResolvedSettings

T = TypeVar("T")

TINY = 1e-30  # in place of 0 labels
PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Machine:
    """Where this process computes, which of how many it is, and in what precision.

    ``scaler`` is there in half precision alone, whose small gradients would vanish.
    """

    device: torch.device
    rank: int = 0
    processes: int = 1
    precision: torch.dtype | None = None
    scaler: torch.amp.GradScaler | None = None

    @classmethod
    def here(cls, mixed_precision: str | None = None) -> Self:
        """Return this process's, and join the others."""
        rank, processes = join_group()
        device = own_device()
        scaler = torch.amp.GradScaler(device.type) if mixed_precision == "fp16" else None
        return cls(device, rank, processes, PRECISIONS.get(mixed_precision or ""), scaler)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        if self.processes == 1:
            return values
        total = values.clone()
        torch.distributed.all_reduce(total)
        return total

    def gather(self, value: T) -> list[T]:
        """Return the value of each process."""
        if self.processes == 1:
            return [value]
        values: list[T] = [value] * self.processes
        torch.distributed.all_gather_object(values, value)
        return values

    def share_buffers(self, module: nn.Module) -> None:
        """Give every process the buffers of the first, whose batch statistics are the ones that are
        stored.
        """
        if self.processes > 1:
            for buffer in module.buffers():
                torch.distributed.broadcast(buffer, src=0)


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed what a network on ``device`` draws from: dropout, augmentation.

    On a CPU only its own generator: ``torch.manual_seed`` also records a call, with the whole stack
    as text, for every kind of device that is absent, which takes longer than a small step and is
    never freed.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def use_channels_last(network: nn.Module) -> bool:
    """Store the weights of our own convolutional networks channels last, and return whether that
    was done.

    On a CPU this saves a tenth of training and a third of evaluation. A user's own network stays as
    it is: a ``view`` of its activations may rely on the usual order. Values, names and files are
    the same either way.
    """
    if not isinstance(network, Backbone) or not any(
        isinstance(part, nn.Conv2d) for part in network.modules()
    ):
        return False
    if next(network.parameters()).device.type == "mps":
        return False
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return True


def move(value: Values, device: torch.device, *, channels_last: bool = False) -> Values:
    """Move a tensor to a device, or each of a dict of them."""
    if isinstance(value, Mapping):
        return {
            name: move(each, device, channels_last=channels_last) for name, each in value.items()
        }
    if device.type == "mps" and value.dtype == torch.float64:
        value = value.float()  # MPS has no float64
    value = value.to(device, non_blocking=True)
    if channels_last and value.ndim == 4:
        value = value.contiguous(memory_format=torch.channels_last)
    return value


class Objective(nn.Module):
    """Network and loss as one module, so that processes average the gradients of all parameters.

    Buffers of the network are sent to every process at every step. Those of a space are not: its
    prototypes never change, and what else there is must be the same everywhere by itself.
    """

    def __init__(
        self, network: nn.Module, space: OutputSpace, settings: ResolvedSettings, machine: Machine
    ) -> None:
        super().__init__()
        self.network, self.of_space = network, nn.ParameterList(space.parameters())
        # as methods: a space that is an attribute would be a part of this module, buffers and all
        self.losses, self.counts = space.losses, space.label_counts
        self.reduction = settings.reduction
        self.mixed = machine.precision is not None
        self.precision: AbstractContextManager[object] = nullcontext()
        if self.mixed:
            self.precision = torch.autocast(machine.device.type, machine.precision)

    def forward(
        self, inputs: Values, targets: Targets, weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of a batch, shape (n, dim), and the loss of each task, (num_tasks,)."""
        with self.precision:
            z = self.network(inputs)
            if weight is None:
                losses = by_name(self.losses(z, targets, reduction=self.reduction))
            else:
                options: Any = {"sample_weight": weight.to(z.dtype)}  # which baselines do not take
                losses = by_name(self.losses(z, targets, reduction="sum", **options))
                if self.reduction == "mean":
                    # not over the weights: a batch of heavy rows takes a longer step, as if they
                    # were repeated
                    for name, count in self.counts(targets).items():
                        losses[name] = losses[name] / count.to(losses[name].dtype).clamp_min(TINY)
        terms = torch.stack([loss.float() if self.mixed else loss for loss in losses.values()])
        return (z.float() if self.mixed else z), terms


class Gradients:
    """The gradient of a whole batch, however many parts and processes share it."""

    def __init__(
        self, network: nn.Module, space: OutputSpace, settings: ResolvedSettings, machine: Machine
    ) -> None:
        self.space, self.machine = space, machine
        self.alone = Objective(network, space, settings, machine)
        self.shared: DistributedDataParallel | None = None
        if machine.processes > 1:
            machine.share_buffers(space)
            own = None if machine.device.type == "cpu" else [machine.device]
            self.shared = DistributedDataParallel(self.alone, device_ids=own)
        self.mean = settings.reduction == "mean"
        # the most rows of this process's share of a batch to compute at a time
        self.part: int | None = None
        if settings.accumulate > 1:
            self.part = -(-settings.batch_size // (machine.processes * settings.accumulate))

    def __call__(
        self, inputs: Values, targets: Targets, weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add the gradients of a batch to the parameters'; return its loss and outputs, detached.

        With several processes the loss is this one's part, such that their average is the loss of
        the whole batch.
        """
        whole, parts = None, [(inputs, targets, weight)]
        if self.part is not None:
            parts = list(_split(inputs, targets, weight, self.part))
        if self.mean and (self.shared is not None or len(parts) > 1):
            whole = self.machine.sum(self._counts(targets))
        scaler, losses, outputs = self.machine.scaler, [], []
        for index, part in enumerate(parts, 1):
            # processes average gradients once, at the last part
            quiet = self.shared is not None and index < len(parts)
            with self.shared.no_sync() if self.shared is not None and quiet else nullcontext():
                z, terms = (self.shared or self.alone)(*part)
                if self.shared is not None:
                    terms = terms * self.machine.processes  # which their average undoes
                if whole is not None:
                    # each task's mean is over the labels that are there, in the whole batch
                    counts = self._counts(part[1]).to(terms.dtype)
                    terms = terms * (counts / whole.to(terms.dtype).clamp_min(TINY))
                loss = terms.sum()
                scaled = loss if scaler is None else scaler.scale(loss)
                scaled.backward()
            losses.append(loss.detach())
            outputs.append(z.detach())
        if len(parts) == 1:
            return losses[0], outputs[0]
        return torch.stack(losses).sum(), torch.cat(outputs)

    def _counts(self, targets: Targets) -> Tensor:
        """Return how much the mean of each task is a mean of. Shape (num_tasks,)."""
        return torch.stack(list(self.space.label_counts(targets).values()))


def count_parts(rows: int, part: int) -> int:
    """Return in how many parts to compute: none larger than ``part`` except to spare a single row
    being alone.

    Batch normalization needs two rows.

    >>> [count_parts(rows, 32) for rows in (1, 32, 33, 128)], count_parts(3, 2)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(-(-rows // part), rows // 2 if part > 1 else rows))


def _split(
    inputs: Values, targets: Targets, weight: Tensor | None, part: int
) -> Iterator[tuple[Values, Targets, Tensor | None]]:
    """Yield even parts of a batch."""
    rows = len(next(iter(by_name(targets).values())))
    for ids in torch.arange(rows).tensor_split(count_parts(rows, part)):
        some = slice(int(ids[0]), int(ids[-1]) + 1)
        own = None if weight is None else weight[some]
        yield index_targets(inputs, some), index_targets(targets, some), own


class LossSum:
    """Adds up the losses of an epoch, and stops at the first that is not finite.

    Reading a value waits for the device, so on accelerators it reads every fifty steps.

    Attributes
    ----------
    steps : int
        How many finite losses there were; after a stop, the index in the epoch of the batch that
        failed.
    total, last : float
        Their sum, and the last of them.
    """

    def __init__(self, epoch: int, *, every: int) -> None:
        self.epoch, self.every = epoch, every
        self.steps, self.total, self.last = 0, 0.0, math.nan
        self._pending: list[Tensor] = []

    def add(self, loss: Tensor) -> None:
        """Add the loss of one step."""
        self._pending.append(loss.detach())
        if len(self._pending) >= self.every:
            self.read()

    def mean(self, machine: Machine) -> float:
        """Return the mean loss of a step over the epoch; with several processes, of the whole
        batch.
        """
        total = torch.tensor(self.read(), dtype=torch.float32, device=machine.device)
        summed, count = machine.sum(total).tolist()
        return float(summed / max(count, 1))

    def read(self) -> tuple[float, int]:
        """Read the losses that were not yet read; return the sum of all, and how many they are."""
        values = torch.stack(self._pending).tolist() if self._pending else []
        self._pending.clear()
        for value in values:
            if not math.isfinite(value):
                raise NonFiniteLossError(
                    f"The loss became {value} in epoch {self.epoch + 1}, step "
                    f"{self.steps + 1}; training stopped."
                )
            self.total, self.steps, self.last = self.total + value, self.steps + 1, value
        return self.total, self.steps


class GradientDescent:
    """Stochastic gradient descent with momentum, by the function that takes the steps of
    ``torch.optim.SGD``.

    Any ``torch.optim.Optimizer`` loads torch's compiler when it is made, which takes longer than a
    small fit and that nothing here uses (``python -m benchmarks startup``).
    """

    def __init__(self, parameters: list[nn.Parameter], settings: ResolvedSettings) -> None:
        group = {"params": parameters, "lr": settings.lr, "momentum": settings.momentum}
        self.param_groups: list[Plain] = [group | {"weight_decay": settings.weight_decay}]
        self.state: dict[nn.Parameter, dict[str, Tensor | None]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Go one step downhill."""
        options = dict(self.param_groups[0])
        moved = [each for each in options.pop("params") if each.grad is not None]
        buffers = [self.state.get(parameter, {}).get("momentum_buffer") for parameter in moved]
        gradients = [parameter.grad for parameter in moved]
        sgd(moved, gradients, buffers, **options, dampening=0, nesterov=False, maximize=False)
        for parameter, buffer in zip(moved, buffers, strict=True):
            self.state[parameter] = {"momentum_buffer": buffer}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def state_dict(self) -> Plain:
        """Return what is remembered, by the numbers of parameters."""
        known = {parameter: index for index, parameter in enumerate(self.param_groups[0]["params"])}
        return {"state": {known[parameter]: kept for parameter, kept in self.state.items()}}

    def load_state_dict(self, stored: Plain) -> None:
        """Take back what :meth:`state_dict` returned."""
        parameters = self.param_groups[0]["params"]
        for index, kept in stored["state"].items():
            device = parameters[index].device
            self.state[parameters[index]] = {name: value.to(device) for name, value in kept.items()}


AnyOptimizer: TypeAlias = Optimizer | GradientDescent


def take_step(optimizer: AnyOptimizer, machine: Machine) -> None:
    """Go one step downhill."""
    if machine.scaler is None:
        optimizer.step()
    else:
        machine.scaler.step(optimizer)  # type: ignore[arg-type]  # any with groups will do
        machine.scaler.update()
    optimizer.zero_grad()
