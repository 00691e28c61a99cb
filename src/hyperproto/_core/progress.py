"""One progress bar for all long work: on standard error where it is a terminal, and silent
elsewhere, or where rich is not installed.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

REFRESH = 0.1  # seconds between updates: updating more often costs more than it shows


class ProgressBar:
    """What :func:`progress_bar` gives; every method does nothing where no bar is ``shown``."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task, self._due = bar, task, 0.0
        self.shown = bar is not None

    def update(
        self,
        completed: float,
        *,
        total: float | None = None,
        description: str | None = None,
        note: str | Callable[[], str] | None = None,
    ) -> None:
        """Show how much is completed, at most ten times a second; a callable ``note`` is called
        only then.
        """
        if not self.shown or (now := time.monotonic()) < self._due:
            return
        self._due = now + REFRESH
        fields = {} if note is None else {"note": note() if callable(note) else note}
        self._bar.update(
            self._task, completed=completed, total=total, description=description, **fields
        )

    def print(self, line: str) -> None:
        """Print a line above the bar."""
        if self.shown:
            self._bar.console.print(line, highlight=False)


_innermost: ContextVar[ProgressBar | None] = ContextVar("_innermost", default=None)


def report_progress(completed: float, total: float, note: str = "") -> None:
    """Update the innermost bar that is open, where there is one: long work need not be handed a
    bar.
    """
    if (bar := _innermost.get()) is not None:
        bar.update(completed, total=total, note=note)


@contextmanager
def progress_bar(
    description: str,
    total: float | None = None,
    *,
    show: bool | None = None,
    in_bytes: bool = False,
) -> Iterator[ProgressBar]:
    """Show a bar while the block runs.

    Parameters
    ----------
    description : str
        What is being done, left of the bar.
    total : float, optional
        How much there is to do; unknown by default, and :meth:`ProgressBar.update` can tell it
        later.
    show : bool, optional
        True and False decide; None (default) shows the bar where standard error is a terminal.
    in_bytes : bool
        The numbers are bytes of a file.
    """
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        yield ProgressBar()
        return
    console = Console(stderr=True, force_terminal=show)
    if not console.is_terminal:
        yield ProgressBar()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if in_bytes else TextColumn("{task.fields[note]}")
    columns = TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        opened = ProgressBar(bar, bar.add_task(description, total=total, note=""))
        outer = _innermost.set(opened)
        try:
            yield opened
        finally:
            _innermost.reset(outer)
