"""Between the loop and the machine: devices, precision, processes, signals, and the gradient of a
shared batch.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hyperproto._core.errors import NonFiniteLossError
from hyperproto._core.processes import join_process_group, own_device
from hyperproto.data.preprocessing import is_sparse, take_rows
from hyperproto.models import Backbone
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import ResolvedSettings
from hyperproto.training.optimizer import AnyOptimizer

T = TypeVar("T")

TINY = 1e-30  # in place of 0 labels
AGREE_EVERY = 50  # steps; processes must pause at the same one, and asking each other takes time


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
        join_process_group()
        device, distributed = own_device(), torch.distributed
        precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(mixed_precision or "no")
        scaler = torch.amp.GradScaler(device.type) if mixed_precision == "fp16" else None
        if not (distributed.is_available() and distributed.is_initialized()):
            return cls(device, precision=precision, scaler=scaler)
        rank, processes = distributed.get_rank(), distributed.get_world_size()
        return cls(device, rank, processes, precision, scaler)

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

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


def move(value: Any, device: torch.device, *, channels_last: bool = False) -> Any:
    """Move a tensor to a device, or each of a dict of them."""
    if not isinstance(value, Tensor):
        return {
            name: move(tensor, device, channels_last=channels_last)
            for name, tensor in value.items()
        }
    if device.type == "mps" and value.dtype == torch.float64:
        value = value.float()  # MPS has no float64
    value = value.to(device, non_blocking=True)
    return (
        value.contiguous(memory_format=torch.channels_last)
        if channels_last and value.ndim == 4
        else value
    )


class Objective(nn.Module):
    """Network and loss as one module, so that processes average the gradients of all parameters.

    Buffers of the network are sent to every process at every step. Those of a space are not: its
    prototypes never change, and what else there is must be the same everywhere by itself.
    """

    def __init__(
        self, network: nn.Module, space: OutputSpace, reduction: Any, machine: Machine
    ) -> None:
        super().__init__()
        self.network, self.of_space = network, nn.ParameterList(space.parameters())
        self.losses: Callable[..., Targets] = space.losses
        self.counts = space.label_counts
        self.reduction = reduction
        self.precision: AbstractContextManager[object] = nullcontext()
        if machine.precision is not None:
            self.precision = torch.autocast(machine.device.type, machine.precision)

    def forward(
        self, inputs: Any, targets: Targets, weight: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the outputs of a batch and the loss of each task."""
        with self.precision:
            z = self.network(inputs)
            if weight is None:
                losses = by_name(self.losses(z, targets, reduction=self.reduction))
            else:
                weight = weight.to(z.dtype)
                losses = by_name(self.losses(z, targets, reduction="sum", sample_weight=weight))
            if weight is not None and self.reduction == "mean":
                # not over the weights: a batch of heavy rows takes a longer step, as if they were
                # repeated
                counts = self.counts(targets)
                losses = {
                    name: loss / counts[name].to(loss.dtype).clamp_min(TINY)
                    for name, loss in losses.items()
                }
        if isinstance(self.precision, torch.autocast):
            z, losses = z.float(), {name: loss.float() for name, loss in losses.items()}
        return z, losses


class Gradients:
    """The gradient of a whole batch, however many parts and processes share it.

    ``parameters`` are what an optimizer takes.
    """

    def __init__(
        self,
        network: nn.Module,
        space: OutputSpace,
        settings: ResolvedSettings,
        machine: Machine,
    ) -> None:
        machine.share_buffers(space)
        self.space, self.machine = space, machine
        self.shared = machine.processes > 1
        self.objective: nn.Module = Objective(network, space, settings.reduction, machine)
        if self.shared:
            own = None if machine.device.type == "cpu" else [machine.device]
            self.objective = DistributedDataParallel(self.objective, device_ids=own)
        self.mean = settings.reduction == "mean"
        # the most rows of this process's share of a batch to compute at a time
        self.part = (
            -(-settings.batch_size // (machine.processes * settings.accumulate))
            if settings.accumulate > 1
            else None
        )

    def __call__(
        self, inputs: Any, targets: Targets, weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Add the gradients of a batch to the parameters'; return its loss and outputs, detached.

        With several processes the loss is this one's part, such that their average is the loss of
        the whole batch.
        """
        parts = (
            1
            if self.part is None
            else count_parts(len(next(iter(by_name(targets).values()))), self.part)
        )
        whole = (
            self._counts(targets, everywhere=True)
            if self.mean and (self.shared or parts > 1)
            else None
        )
        scaler = self.machine.scaler
        done: list[tuple[Tensor, Tensor]] = []
        whole_batch = (inputs, targets, weight)
        split = zip(*(_split(values, parts) for values in whole_batch), strict=True)
        for x, y, w in [whole_batch] if parts == 1 else split:
            quiet = len(done) + 1 < parts and isinstance(self.objective, DistributedDataParallel)
            with self.objective.no_sync() if quiet else nullcontext():  # type: ignore[operator]
                z, losses = self.objective(x, y, w)
                terms = torch.stack(list(losses.values()))
                if self.shared:
                    # processes average gradients, this undoes it
                    terms = terms * self.machine.processes
                if (
                    whole is not None
                ):  # each task's mean is over the labels that are there, in the whole batch
                    counts = self._counts(y, everywhere=False).to(terms.dtype)
                    terms = terms * (counts / whole.to(terms.dtype).clamp_min(TINY))
                loss = terms.sum()
                scaled = loss if scaler is None else scaler.scale(loss)
                scaled.backward()  # type: ignore[no-untyped-call]
            done.append((loss.detach(), z.detach()))
        if parts == 1:
            return done[0]
        return torch.stack([loss for loss, _ in done]).sum(), torch.cat([z for _, z in done])

    def _counts(self, targets: Targets, *, everywhere: bool) -> Tensor:
        counts = torch.stack(list(self.space.label_counts(targets).values()))
        return self.machine.sum(counts) if everywhere else counts


def take_step(optimizer: AnyOptimizer, machine: Machine) -> None:
    """Go one step downhill."""
    scaler = machine.scaler
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)  # type: ignore[arg-type]  # any with groups will do
        scaler.update()
    optimizer.zero_grad()


def count_parts(rows: int, part: int) -> int:
    """Return in how many parts to compute: none larger than ``part`` except to spare a single row
    being alone.

    Batch normalization needs two rows.

    >>> [count_parts(rows, 32) for rows in (1, 32, 33, 128)], count_parts(3, 2)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(-(-rows // part), rows // 2 if part > 1 else rows))


def _split(values: Any, parts: int) -> Iterator[Any]:
    """Yield even parts of a tensor, or of each of a dict of them."""
    if values is None:
        yield from [None] * parts
    elif isinstance(values, Tensor) and is_sparse(values):
        yield from (take_rows(values, ids) for ids in torch.arange(len(values)).tensor_split(parts))
    elif isinstance(values, Tensor):
        yield from values.tensor_split(parts)
    else:
        split = {name: value.tensor_split(parts) for name, value in values.items()}
        for index in range(parts):
            yield {name: value[index] for name, value in split.items()}


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


class GracefulShutdown:
    """Says after each step whether a checkpoint is due.

    While it is entered, the first Ctrl-C or SIGTERM is only a request: the current step is finished
    and a checkpoint written, since half a step cannot be resumed. The second acts at once.

    Parameters
    ----------
    seconds : float
        How often a checkpoint is due.
    """

    def __init__(self, seconds: float, machine: Machine) -> None:
        self.seconds, self.machine = seconds, machine
        self.requested: int | None = None
        self._alone = machine.processes == 1
        self._next = time.monotonic() + seconds
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._request)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore_handlers()

    def due(self, step: int) -> bool:
        """Return whether to write a checkpoint after the step of this number; every process gets
        the same answer.
        """
        if not self._alone and step % AGREE_EVERY:
            return False
        wanted = self.requested is not None or time.monotonic() >= self._next
        if not self._alone:
            wants = torch.tensor(
                [float(wanted), float(self.requested or 0)], device=self.machine.device
            )
            anyone, requested = self.machine.sum(wants).tolist()
            wanted = anyone > 0
            if requested and self.requested is None:
                self.requested = int(signal.SIGTERM)  # another process got the request
        return wanted

    def checkpoint_written(self) -> None:
        """Start counting the seconds again."""
        self._next = time.monotonic() + self.seconds

    def stop(self, sentence: str) -> None:
        """End as whoever sent the signal expects, now that the checkpoint is there."""
        assert self.requested is not None
        self._restore_handlers()
        if self.requested == signal.SIGINT:
            raise KeyboardInterrupt(sentence)
        signal.raise_signal(self.requested)
        raise SystemExit(128 + self.requested)  # only where the signal was handled or ignored

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = number
        self._restore_handlers()

    def _restore_handlers(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()
