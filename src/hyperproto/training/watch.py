"""The losses of an epoch, and a stop at the first that is not finite."""

import math

import torch
from accelerate import Accelerator
from torch import Tensor

from hyperproto._core.errors import NonFiniteLossError

__all__ = ["LossWatch"]


class LossWatch:
    """Remembers the losses of an epoch, and stops at the first that is not finite.

    Looking at a value waits for the device, so on accelerators it looks every fifty steps.

    Attributes
    ----------
    steps : int
        How many finite losses were seen; after a stop, the index in the epoch of the batch that failed.
    total, last : float
        Their sum, and the last of them.
    """

    def __init__(self, epoch: int, *, every: int) -> None:
        self.epoch, self.every = epoch, every
        self.steps, self.total, self.last = 0, 0.0, math.nan
        self._pending: list[Tensor] = []

    def see(self, loss: Tensor) -> None:
        """Take note of one step's loss."""
        self._pending.append(loss.detach())
        if len(self._pending) >= self.every:
            self.look()

    def mean(self, accelerator: Accelerator) -> float:
        """Return the mean loss of a step over the epoch; with several processes, of the whole batch."""
        self.look()
        total = torch.tensor([self.total, self.steps], dtype=torch.float32, device=accelerator.device)
        summed, count = accelerator.reduce(total, reduction="sum").tolist()
        return float(summed / max(count, 1))

    def look(self) -> None:
        """Look at the losses not yet looked at."""
        values = torch.stack(self._pending).tolist() if self._pending else []
        self._pending.clear()
        for value in values:
            if not math.isfinite(value):
                raise NonFiniteLossError(
                    f"The loss became {value} in epoch {self.epoch + 1}, step {self.steps + 1}; training stopped."
                )
            self.total, self.steps, self.last = self.total + value, self.steps + 1, value
