"""A progress bar for reading a big file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Report", "reading_progress"]

Report = Callable[[int], None]


@contextmanager
def reading_progress(path: Path, *, show: bool | None) -> Iterator[Report]:
    """Give a function that takes the number of bytes read; it shows them where standard error is a terminal."""
    from rich.console import Console

    console = Console(stderr=True, force_terminal=show)
    if not console.is_terminal:
        yield lambda done: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(f"reading {path.name}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=path.stat().st_size)
        yield lambda done: bar.update(task, completed=done)
