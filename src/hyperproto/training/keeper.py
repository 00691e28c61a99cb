"""Keeping a run in its folder while it is trained: checkpoints, and requests to end."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from hyperproto._core.files import Plain, read_records, write_json, write_json_lines
from hyperproto._core.processes import from_first
from hyperproto.training.checkpoint import (
    Checkpoint,
    TrainState,
    fill_weights,
    read_tensors,
    weights_of,
    write_tensors,
)
from hyperproto.training.folder import CHECKPOINT, RunFolder
from hyperproto.training.run import FORMAT, EpochTime, Run, best_epoch
from hyperproto.training.steps import LossSum

AGREE_EVERY = 50  # steps; processes must pause at the same one, and asking each other takes time


class Keeper:
    """Writes what a run can be resumed from, in the first process; every process takes part.

    While it is open, the first Ctrl-C or SIGTERM is only a request: the current step is finished
    and a checkpoint written, since half a step cannot be resumed. The second acts at once.

    Parameters
    ----------
    store : RunFolder
    state : TrainState
        What training changes.
    seconds : float
        How often a checkpoint is due within an epoch.
    """

    def __init__(self, store: RunFolder, state: TrainState, seconds: float) -> None:
        self.store, self.state, self.seconds = store, state, seconds
        self.machine = state.machine
        self.requested: int | None = None
        self._checkpoint: Checkpoint | None = None
        self._note: str | None = None
        self._next = time.monotonic() + seconds
        self._handlers: dict[int, Any] = {}

    @contextmanager
    def opened(self, run: Run, config: Plain, *, resume: bool) -> Iterator[None]:
        """Hold the folder and catch signals while the block lasts; with ``resume``, find the moment
        to continue from.
        """
        with self.store.held():
            opening = partial(self.store.open, config, run.space, resume=resume)
            self._checkpoint = from_first(opening)  # the others may have no such disk
            run.folder = self.store.path if self.machine.rank == 0 else None
            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGINT, signal.SIGTERM):
                    self._handlers[number] = signal.signal(number, self._request)
            try:
                yield
            finally:
                self._release_signals()

    def _release_signals(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = number
        self._release_signals()

    def begin(self, run: Run) -> tuple[int, int]:
        """Return the epoch and the step to continue from, with everything as it was then; write a
        checkpoint before the first.
        """
        if self._checkpoint is None:
            self.save(run, None, 0, 0)  # from here on the run can be resumed, weights included
            return 0, 0
        run.history[:] = self._checkpoint.state["history"]
        self._note = _note_on_machine(self._checkpoint, self.state.conditions)
        self.state.restore(self._checkpoint)
        return self._checkpoint.position

    def go_on(self, losses: LossSum) -> None:
        """Go back to the moment within an epoch, after the hook that was called at its start."""
        assert self._checkpoint is not None
        self.state.restore(self._checkpoint, losses)

    def is_due(self, step: int) -> bool:
        """Return whether to write a checkpoint after the step of this number; every process gets
        the same result.
        """
        if step == 1:  # what cannot be stored is refused now, not after an epoch
            self.state.optimizer_tensors()
        is_alone = self.machine.processes == 1
        if not is_alone and step % AGREE_EVERY:
            return False
        wanted = self.requested is not None or time.monotonic() >= self._next
        if is_alone:
            return wanted
        wants = [float(wanted), float(self.requested or 0)]
        anyone, requested = self.machine.sum(
            torch.tensor(wants, device=self.machine.device)
        ).tolist()
        if requested and self.requested is None:
            self.requested = int(signal.SIGTERM)  # another process got the request
        return bool(anyone > 0)

    def save(self, run: Run, losses: LossSum | None, epoch: int, step: int) -> None:
        """Write a checkpoint."""
        moment = self.state.take(losses, epoch=epoch, step=step, history=run.history)
        if moment is not None:
            moment.save(self.store.path / CHECKPOINT)
        self._next = time.monotonic() + self.seconds

    def end_epoch(self, run: Run, times: Plain) -> None:
        """Write an epoch and its weights; the checkpoint that makes it final comes after. Lines of
        an epoch that was not final go.
        """
        last = len(run.history) - 1
        if self._note is not None:
            run.history[last]["note"], self._note = self._note, None
        if self.machine.rank == 0:
            folder, weights = self.store.path, weights_of(run.network, run.space)
            write_tensors(folder / "last.safetensors", weights, format=FORMAT)
            if best_epoch(run.history, run.monitor) == last:
                write_tensors(folder / "best.safetensors", weights, format=FORMAT)
            path = folder / "times.jsonl"
            before = [line for line in read_records(EpochTime, path) if line["epoch"] < last]
            write_json_lines(path, [*before, times])
            write_json_lines(folder / "epochs.jsonl", run.history)
        self.save(run, None, last + 1, 0)

    def finish(self, run: Run) -> None:
        """Write the final measures."""
        if self.machine.rank == 0:
            write_json_lines(self.store.path / "epochs.jsonl", run.history)
            write_json(self.store.path / "metrics.json", run.metrics)

    def fill_best(self, run: Run) -> None:
        """Give a run the weights of an epoch before it was resumed."""
        read: Callable[[], dict[str, Tensor]] = partial(
            read_tensors, self.store.path / "best.safetensors"
        )
        fill_weights(run.network, run.space, from_first(read))

    def stop_if_requested(self, where: str) -> None:
        """End as whoever sent a signal expects, now that the checkpoint is there."""
        if self.requested is None:
            return
        self._release_signals()
        if self.requested == signal.SIGINT:
            advice = f"Continue with resume=True, or: hyperproto train --resume {self.store.path}"
            raise KeyboardInterrupt(f"Stopped {where}. {advice}")
        signal.raise_signal(self.requested)
        raise SystemExit(128 + self.requested)  # only where the signal was handled or ignored


def _note_on_machine(checkpoint: Checkpoint, machine: Plain) -> str | None:
    """Return what a record should say about a run that continues on another machine than it started
    on.
    """
    before = checkpoint.state["machine"]
    changed = [
        f"{name}={now} instead of {before.get(name)}"
        for name, now in machine.items()
        if before.get(name) != now
    ]
    if not changed:
        return None
    return f"continued with {', '.join(changed)}: equal to an unbroken run only to rounding"
