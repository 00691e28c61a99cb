"""A progress bar where somebody is looking, and nothing where nobody is."""

import time
from types import TracebackType
from typing import Any, Literal, Self

__all__ = ["TrainingProgress", "describe"]

REFRESH = 0.1  # seconds between updates: looking more often costs more than it shows


class TrainingProgress:
    """Epoch, loss, measures and time left, on a terminal; with ``show="lines"`` elsewhere a line an epoch."""

    def __init__(self, total_steps: int, epochs: int, *, show: bool | Literal["lines"] | None) -> None:
        from rich.console import Console

        console = Console(stderr=True, force_terminal=None if show == "lines" else show)
        self.epochs, self.total = epochs, total_steps
        self._lines = show == "lines"
        self._started = time.monotonic()
        self._bar: Any = None
        self._due = 0.0
        if console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}")
            self._bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
            self._task = self._bar.add_task("training", total=total_steps, note="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, epoch: int, step: int, loss: float, measures: dict[str, float]) -> None:
        """Show where training is; does nothing more often than ten times a second."""
        if self._bar is None or (now := time.monotonic()) < self._due:
            return
        self._due = now + REFRESH
        note = f"loss {loss:.4f}  {describe(measures)}"
        self._bar.update(self._task, completed=step, description=f"epoch {epoch + 1}/{self.epochs}", note=note)

    def end_epoch(self, record: dict[str, Any]) -> None:
        """Leave a line about an epoch, above the bar or alone."""
        if self._bar is None and not self._lines:
            return
        measured = describe(record["valid"])
        line = f"epoch {record['epoch'] + 1}/{self.epochs}  loss {record['loss']:.4f}  {measured}".rstrip()
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
        else:
            print(f"{line}  ({time.monotonic() - self._started:.0f} s)", flush=True)


def describe(measures: dict[str, float]) -> str:
    """Write measures as people read them: shares in per cent, errors in their own unit.

    >>> describe({"digit/accuracy": 0.951, "angle/mae": 5.5})
    'digit/accuracy 95.1 %  angle/mae 5.5'
    """
    return "  ".join(
        f"{name} {100 * value:.1f} %" if name.endswith("accuracy") else f"{name} {value:.3g}"
        for name, value in measures.items()
    )
