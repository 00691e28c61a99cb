"""The gradient of a whole batch, whatever the number of parts and processes it is shared out to."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hyperproto.spaces import OutputSpace, Targets

__all__ = ["Gradients", "take_step"]


class Gradients:
    """Forward and backward of a batch, in parts where memory is short.

    Parameters
    ----------
    objective : nn.Module
        Gives the outputs of a batch and the loss of each task.
    part : int or None
        Most rows of this process's share of a batch to compute at a time; None takes it whole.
    """

    def __init__(
        self, objective: nn.Module, space: OutputSpace, reduction: str, accelerator: Accelerator, *, part: int | None
    ) -> None:
        self.objective, self.space, self.accelerator, self.part = objective, space, accelerator, part
        self.shared = accelerator.num_processes > 1
        self.mean = reduction == "mean"

    def __call__(self, inputs: Any, targets: Targets) -> tuple[Tensor, Tensor]:
        """Add the gradients of a batch to the parameters'; return its loss and outputs, detached.

        With several processes the loss is this one's part, such that their average is the loss of the whole batch.
        """
        parts = 1 if self.part is None else count_parts(_rows(targets), self.part)
        whole = self._counts(targets, everywhere=True) if self.mean and (self.shared or parts > 1) else None
        if parts == 1:
            return self._part(inputs, targets, whole)
        done: list[tuple[Tensor, Tensor]] = []
        for index, (x, y) in enumerate(zip(_split(inputs, parts), _split(targets, parts), strict=True), start=1):
            quiet = index < parts and isinstance(self.objective, DistributedDataParallel)
            with self.objective.no_sync() if quiet else nullcontext():  # type: ignore[operator]
                done.append(self._part(x, y, whole))
        return torch.stack([loss for loss, _ in done]).sum(), torch.cat([z for _, z in done])

    def _part(self, inputs: Any, targets: Targets, whole: Tensor | None) -> tuple[Tensor, Tensor]:
        z, losses = self.objective(inputs, targets)
        terms = _stack(losses)
        if self.shared:
            terms = terms * self.accelerator.num_processes  # processes average gradients, this undoes it
        if whole is not None:  # each task's mean is over the labels that are there, in the whole batch
            held = self._counts(targets, everywhere=False).to(terms.dtype)
            terms = terms * (held / whole.to(terms.dtype).clamp_min(1e-30))
        loss = terms.sum()
        scaler = self.accelerator.scaler  # only in half precision, whose small gradients would vanish
        (loss if scaler is None else scaler.scale(loss)).backward()
        return loss.detach(), z.detach()

    def _counts(self, targets: Targets, *, everywhere: bool) -> Tensor:
        counts = _stack(self.space.counts_by_task(self.space.by_task(targets)))
        if everywhere and self.shared:
            counts = self.accelerator.reduce(counts, reduction="sum")
        return counts


def take_step(optimizer: torch.optim.Optimizer, accelerator: Accelerator) -> None:
    """Go one step downhill. Accelerate's own step looks for optional packages every time, which takes 0.5 ms."""
    scaler = accelerator.scaler
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
    optimizer.zero_grad()


def count_parts(rows: int, part: int) -> int:
    """Return in how many parts to compute: none larger than ``part`` except to spare a single row being alone.

    Batch normalisation needs two rows.

    >>> [count_parts(rows, 32) for rows in (1, 32, 33, 128)], count_parts(3, 2)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(-(-rows // part), rows // 2 if part > 1 else rows))


def _rows(targets: Targets) -> int:
    return len(targets if isinstance(targets, Tensor) else next(iter(targets.values())))


def _stack(values: Targets) -> Tensor:
    return values.reshape(1) if isinstance(values, Tensor) else torch.stack(list(values.values()))


def _split(values: Any, parts: int) -> Iterator[Any]:
    """Yield even parts of a tensor, or of each of a dict of them."""
    if isinstance(values, Tensor):
        yield from values.tensor_split(parts)
    else:
        split = {name: value.tensor_split(parts) for name, value in values.items()}
        for index in range(parts):
            yield {name: value[index] for name, value in split.items()}
