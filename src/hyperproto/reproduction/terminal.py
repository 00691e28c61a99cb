"""A grid in the terminal."""

from typing import Any

from hyperproto.reproduction.grid import Grid, best_rows, ours, papers, what_ours_is

__all__ = ["print_grid"]


def print_grid(grid: Grid, console: Any = None) -> None:
    """Print ours, and below it what the paper has; the best of ours in a column is bold."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = console or Console()
    over = f"\n{what_ours_is(grid)}" if grid.experiment.trained else ""
    table = Table(title=escape(grid.experiment.title + over), show_lines=True)
    table.add_column("ours; the paper's below")
    for column in grid.columns:
        table.add_column(escape(column), justify="right")
    best = {column: best_rows(grid, column) for column in grid.columns}
    for row in grid.rows:
        cells = []
        for column in grid.columns:
            held = grid.cells.get((row, column))
            mine = "" if held is None else escape(ours(held, grid.experiment.decimals))
            mine = f"[bold]{mine}[/bold]" if row in best[column] and mine else mine
            theirs = "" if held is None else papers(held.entry.paper, grid.experiment.decimals)
            cells.append(f"{mine}\n[dim]{theirs}[/dim]" if theirs else mine)
        table.add_row(escape(row) + ("\n[dim]past the paper[/dim]" if grid.is_past(row) else ""), *cells)
    console.print(table)
    for remark in grid.remarks:
        console.print(escape(remark), soft_wrap=True, highlight=False)
