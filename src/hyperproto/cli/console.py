"""Where tables are printed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 140  # characters where no terminal sets a limit: rich would take 80, and break names


def table_console() -> "Console":
    """Return a console as wide as the terminal, or wide enough where there is none."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def text_table(rows: Iterable[Iterable[str]], *headings: str, title: str | None = None) -> "Table":
    """Return a table of plain text: brackets in it are no markup, and what is too long for a column folds."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=None if title is None else escape(title), show_header=bool(headings))
    for heading in headings:
        table.add_column(escape(heading), overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
