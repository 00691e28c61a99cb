"""A progress bar for placement: how far the search is, the best maximum cosine, and the bound."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["placement_progress"]

Report = Callable[[int, int, float, float], None]


@contextmanager
def placement_progress(*, show: bool | None) -> Iterator[Report | None]:
    """Give a function that a search reports to, or None where nobody is looking.

    It takes the parts done, the parts in all, the best maximum cosine so far or NaN, and the bound.
    """
    from rich.console import Console

    console = Console(stderr=True, force_terminal=show)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("placing"), BarColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("placing", total=None, note="")

        def report(done: int, total: int, best: float, bound: float) -> None:
            found = "" if math.isnan(best) else f"maximum cosine {best:.6f}, "
            bar.update(task, completed=done, total=total, note=f"{found}bound {bound:.6f}")

        yield report
