"""Between the loop and the machine: devices, precision, processes, and the gradient of a batch they share."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hyperproto._core.processes import check_met, meet_other_processes
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import Head
from hyperproto.spec import ResolvedSettings

__all__ = ["Gradients", "accelerator_for", "count_parts", "seed_draws", "share_buffers", "take_step"]

Named: TypeAlias = dict[str, Tensor]  # by task


@contextmanager
def accelerator_for(mixed_precision: str | None) -> Iterator[Accelerator]:
    """Give an accelerator of a precision, and leave the user's own as it was.

    Accelerate has one precision for the whole process, so another one is set for the time being.
    """
    meet_other_processes()
    before = AcceleratorState().mixed_precision if AcceleratorState._shared_state else None
    change = before is not None and mixed_precision is not None and before != mixed_precision
    if change:
        AcceleratorState._reset_state()
    try:
        accelerator = Accelerator(mixed_precision=mixed_precision)
        check_met(accelerator.num_processes)
        yield accelerator
    finally:
        if change:
            AcceleratorState._reset_state()
            Accelerator(mixed_precision=before)


def share_buffers(network: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the buffers of the first, whose batch statistics are the ones that are stored."""
    if accelerator.num_processes > 1:
        for buffer in network.buffers():
            torch.distributed.broadcast(buffer, src=0)


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed what a network on ``device`` draws from: dropout, augmentation.

    On a CPU only its own generator: ``torch.manual_seed`` also records a call, with the whole stack as text, for
    every kind of device that is absent, which takes longer than a small step and is never freed.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


class Objective(nn.Module):
    """Network and space as one module, so that processes average the gradients of both."""

    def __init__(self, network: nn.Module, space: OutputSpace, reduction: Any) -> None:
        super().__init__()
        self.network, self.space, self.reduction = network, space, reduction

    def forward(self, inputs: Any, targets: Named) -> tuple[Tensor, Named]:
        """Return the outputs of a batch and the loss of each task."""
        z = self.network(inputs)
        return z, self.space.losses_by_task(z, targets, reduction=self.reduction)


class Gradients:
    """The gradient of a whole batch, however many parts and processes share it.

    Network and space are wrapped for the device, the precision and the number of processes at hand; ``parameters``
    are what an optimizer takes.
    """

    def __init__(
        self, network: nn.Module, space: OutputSpace, settings: ResolvedSettings, accelerator: Accelerator
    ) -> None:
        objective = Objective(network, space, settings.reduction)
        processes = accelerator.num_processes
        if processes > 1:
            for _, buffer in space.named_buffers():
                torch.distributed.broadcast(buffer, src=0)
            # prototypes never change: without this they would be sent to every process at every step
            heads = ((name, head) for name, head in space.named_modules() if isinstance(head, Head))
            fixed = [f"space.{name}.{buffer}" for name, head in heads for buffer in head._buffers]
            ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
            ignore(objective, fixed)  # type: ignore[no-untyped-call]
        self.space, self.accelerator = space, accelerator
        self.objective: nn.Module = accelerator.prepare(objective)
        self.shared = processes > 1
        self.mean = settings.reduction == "mean"
        # the most rows of this process's share of a batch to compute at a time
        self.part = -(-settings.batch_size // (processes * settings.accumulate)) if settings.accumulate > 1 else None

    def __call__(self, inputs: Any, targets: Named) -> tuple[Tensor, Tensor]:
        """Add the gradients of a batch to the parameters'; return its loss and outputs, detached.

        With several processes the loss is this one's part, such that their average is the loss of the whole batch.
        """
        parts = 1 if self.part is None else count_parts(len(next(iter(targets.values()))), self.part)
        whole = self._counts(targets, everywhere=True) if self.mean and (self.shared or parts > 1) else None
        scaler = self.accelerator.scaler  # only in half precision, whose small gradients would vanish
        done: list[tuple[Tensor, Tensor]] = []
        for x, y in zip(_split(inputs, parts), _split(targets, parts), strict=True):
            quiet = len(done) + 1 < parts and isinstance(self.objective, DistributedDataParallel)
            with self.objective.no_sync() if quiet else nullcontext():  # type: ignore[operator]
                z, losses = self.objective(x, y)
                terms = torch.stack(list(losses.values()))
                if self.shared:
                    terms = terms * self.accelerator.num_processes  # processes average gradients, this undoes it
                if whole is not None:  # each task's mean is over the labels that are there, in the whole batch
                    counts = self._counts(y, everywhere=False).to(terms.dtype)
                    terms = terms * (counts / whole.to(terms.dtype).clamp_min(1e-30))
                loss = terms.sum()
                (loss if scaler is None else scaler.scale(loss)).backward()
            done.append((loss.detach(), z.detach()))
        if parts == 1:
            return done[0]
        return torch.stack([loss for loss, _ in done]).sum(), torch.cat([z for _, z in done])

    def _counts(self, targets: Named, *, everywhere: bool) -> Tensor:
        counts = torch.stack(list(self.space.counts_by_task(targets).values()))
        if everywhere and self.shared:
            counts = self.accelerator.reduce(counts, reduction="sum")
        return counts


def take_step(optimizer: torch.optim.Optimizer, accelerator: Accelerator) -> None:
    """Go one step downhill. Accelerate's own step searches for optional packages every time, which takes 0.5 ms."""
    scaler = accelerator.scaler
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
    optimizer.zero_grad()


def count_parts(rows: int, part: int) -> int:
    """Return in how many parts to compute: none larger than ``part`` except to spare a single row being alone.

    Batch normalization needs two rows.

    >>> [count_parts(rows, 32) for rows in (1, 32, 33, 128)], count_parts(3, 2)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(-(-rows // part), rows // 2 if part > 1 else rows))


def _split(values: Any, parts: int) -> Iterator[Any]:
    """Yield even parts of a tensor, or of each of a dict of them."""
    if isinstance(values, Tensor):
        yield from values.tensor_split(parts)
    else:
        split = {name: value.tensor_split(parts) for name, value in values.items()}
        for index in range(parts):
            yield {name: value[index] for name, value in split.items()}
