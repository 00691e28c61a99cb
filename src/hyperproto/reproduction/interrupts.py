"""Ctrl-C while cells run: begun ones end at a checkpoint, no other begins, and no process stays behind.

A terminal sends Ctrl-C to every process, ``kill`` to one. Whoever spreads the cells therefore passes the wish on, as
SIGTERM, which a worker that has heard it already ignores: a second signal would end it in the middle of a step.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Spreading", "all_or_nothing", "is_ending", "running_a_cell", "starting_workers"]

GRACE = 30.0  # seconds to write checkpoints in; what is lost after it are the steps since the last one
SIGNALS = (signal.SIGINT, signal.SIGTERM)
WORKERS = "LokyProcess"


class Spreading:
    """Of the process that spreads cells over others: the first signal is a wish, the second acts at once.

    Parameters
    ----------
    on_wish : callable, optional
        Called once, when the first signal comes.
    """

    def __init__(self, on_wish: Callable[[], None] | None = None) -> None:
        self.on_wish, self.asked = on_wish, 0
        self._before: dict[int, Any] = {}
        self._patience = threading.Timer(GRACE, signal.raise_signal, [signal.SIGINT])
        self._patience.daemon = True

    def __enter__(self) -> "Spreading":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._patience.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = number
        self._patience.start()
        for child in multiprocessing.active_children():
            if child.name.startswith(WORKERS) and child.pid is not None:
                os.kill(child.pid, signal.SIGTERM)
        if self.on_wish is not None:
            self.on_wish()


@contextmanager
def starting_workers() -> Iterator[None]:
    """Hold signals back from processes that are started here, until they run a cell and know what to do with them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What a worker has heard; it lives as long as its process."""

    ending = running = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C: end what is under way; training has a handler of its own above this one."""
        self.ending = True
        if self.running:
            raise KeyboardInterrupt

    def heed(self, number: int, frame: FrameType | None) -> None:
        """The wish that was passed on: begin nothing new."""
        self.ending = True


_WORKER = _Worker()


def is_ending() -> bool:
    """Whether this process, a worker, should not begin another cell."""
    return _WORKER.ending


@contextmanager
def running_a_cell() -> Iterator[None]:
    """In a worker: take signals as above while a cell runs."""
    if threading.current_thread() is threading.main_thread():  # Dask runs cells in threads, and ends them itself
        signal.signal(signal.SIGINT, _WORKER.interrupt)
        signal.signal(signal.SIGTERM, _WORKER.heed)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    _WORKER.running = True
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        _WORKER.ending = True
        raise
    finally:
        _WORKER.running = False


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Raise at the end of a block that was interrupted and returned all the same, as placing does with its best."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt
