"""Where tables are printed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["table_console"]

WIDE = 140  # characters where no terminal sets a limit: rich would take 80, and break names


def table_console() -> "Console":
    """Return a console as wide as the terminal, or wide enough where there is none."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDE)
