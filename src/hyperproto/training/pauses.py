"""When to pause for a checkpoint in the middle of an epoch: when it is time, or when somebody asks the run to end."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from accelerate import Accelerator

__all__ = ["Pauses"]

AGREE_EVERY = 50  # steps; processes must pause at the same one, and asking each other takes time


class Pauses:
    """Says after each step whether a checkpoint is due.

    While it is entered, the first Ctrl-C or SIGTERM only asks: the step under way is finished and a checkpoint
    written, since half a step cannot be resumed. The second acts at once.

    Parameters
    ----------
    seconds : float
        How often a checkpoint is due.
    active : bool
        Whether there is a folder to write to; if not, nothing is ever due and signals are left alone.
    """

    def __init__(self, seconds: float, accelerator: Accelerator, *, active: bool) -> None:
        self.seconds, self.accelerator, self.active = seconds, accelerator, active
        self.asked: int | None = None
        self._alone = accelerator.num_processes == 1
        self._next = time.monotonic() + seconds
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self.active and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hand_back()

    def due(self, step: int) -> bool:
        """Return whether to write a checkpoint after the step of this number; every process gets the same answer."""
        if not self.active or (not self._alone and step % AGREE_EVERY):
            return False
        wanted = self.asked is not None or time.monotonic() >= self._next
        if not self._alone:
            wants = torch.tensor([float(wanted), float(self.asked or 0)], device=self.accelerator.device)
            anyone, asked = self.accelerator.reduce(wants, reduction="sum").tolist()
            wanted = anyone > 0
            if asked and self.asked is None:
                self.asked = int(signal.SIGTERM)  # another process was asked to end
        return wanted

    def written(self) -> None:
        """Start counting the seconds anew."""
        self._next = time.monotonic() + self.seconds

    def end_if_asked(self, sentence: str) -> None:
        """End as whoever sent the signal expects, now that the checkpoint is there."""
        if self.asked is None:
            return
        self._hand_back()
        if self.asked == signal.SIGINT:
            raise KeyboardInterrupt(sentence)
        signal.raise_signal(self.asked)
        raise SystemExit(128 + self.asked)  # only where the signal was handled or ignored

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = number
        self._hand_back()

    def _hand_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
