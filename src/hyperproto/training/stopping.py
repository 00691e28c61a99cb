"""Which epoch is best, and when training stops: when patience ends, or when somebody asks it to.

Which epoch is best is a pure function of the history: nothing to store, nothing to restore.
"""

import math
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from accelerate import Accelerator

from hyperproto._core.registry import unknown_choice

__all__ = ["GracefulShutdown", "best_epoch", "monitored", "out_of_patience"]

AGREE_EVERY = 50  # steps; processes must pause at the same one, and asking each other takes time


def monitored(record: dict[str, Any], monitor: str | None) -> float:
    """Return how good an epoch was, larger is better: an accuracy as it is, an error with its sign reversed.

    Parameters
    ----------
    record : dict
        One epoch of a run's history.
    monitor : str, optional
        The name of a validation measure (default: the first). NaN where nothing was measured.

    >>> monitored({"valid": {"kind/accuracy": 0.9, "size/mae": 0.25}}, "size/mae")
    -0.25
    """
    measures = record["valid"]
    if not measures:
        return math.nan
    name = next(iter(measures)) if monitor is None else monitor
    if name not in measures:
        raise unknown_choice(name, measures, what="measure to monitor")
    value = measures[name]
    if value is None:  # how files write NaN
        return math.nan
    return float(value) if name.endswith("accuracy") else -float(value)


def best_epoch(history: list[dict[str, Any]], monitor: str | None = None) -> int | None:
    """Return the index of the first epoch that no other surpasses; None where nothing was measured.

    >>> best_epoch([{"valid": {"accuracy": value}} for value in (0.5, 0.8, 0.7, 0.8)])
    1
    """
    best, where = -math.inf, None
    for index, record in enumerate(history):
        value = monitored(record, monitor)
        if value > best:
            best, where = value, index
    return where


def out_of_patience(history: list[dict[str, Any]], monitor: str | None, patience: int | None) -> bool:
    """Return whether the last ``patience`` epochs brought nothing better."""
    if patience is None or not history:
        return False
    where = best_epoch(history, monitor)
    return len(history) - (0 if where is None else where + 1) >= patience


class GracefulShutdown:
    """Says after each step whether a checkpoint is due.

    While it is entered, the first Ctrl-C or SIGTERM is only a request: the current step is finished and a checkpoint
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
        self.requested: int | None = None
        self._alone = accelerator.num_processes == 1
        self._next = time.monotonic() + seconds
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self.active and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._request)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore_handlers()

    def due(self, step: int) -> bool:
        """Return whether to write a checkpoint after the step of this number; every process gets the same answer."""
        if not self.active or (not self._alone and step % AGREE_EVERY):
            return False
        wanted = self.requested is not None or time.monotonic() >= self._next
        if not self._alone:
            wants = torch.tensor([float(wanted), float(self.requested or 0)], device=self.accelerator.device)
            anyone, requested = self.accelerator.reduce(wants, reduction="sum").tolist()
            wanted = anyone > 0
            if requested and self.requested is None:
                self.requested = int(signal.SIGTERM)  # another process got the request
        return wanted

    def checkpoint_written(self) -> None:
        """Start counting the seconds again."""
        self._next = time.monotonic() + self.seconds

    def stop_if_requested(self, sentence: str) -> None:
        """End as whoever sent the signal expects, now that the checkpoint is there."""
        if self.requested is None:
            return
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
