"""Where tables and warnings are printed."""

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 140  # characters where no terminal sets a limit: rich would take 80, and break names


def table_console() -> "Console":
    """Return a console as wide as the terminal, or wide enough where there is none."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def print_table(
    rows: Iterable[Iterable[str]],
    *headings: str,
    title: str | None = None,
    numbers: Collection[str] = (),
) -> None:
    """Print a table of plain text, where there are rows: brackets in it are no markup, and long
    cells fold.

    ``numbers`` are the headings of columns that are aligned to the right.
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=None if title is None else escape(title), show_header=bool(headings))
    for heading in headings:
        table.add_column(
            escape(heading), overflow="fold", justify="right" if heading in numbers else "left"
        )
    for row in rows:
        table.add_row(*map(escape, row))
    if table.row_count:
        table_console().print(table)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as sentences, without the line of code they come from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"hyperproto: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
