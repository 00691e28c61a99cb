"""A grid as Markdown, CSV and LaTeX."""

import csv
import io

from hyperproto.reproduction.grid import Grid, best_rows, ours, papers, what_ours_is

__all__ = ["to_csv", "to_latex", "to_markdown"]

FIELDS = (
    "name",
    "scale",
    "row",
    "column",
    "measure",
    "past_the_paper",
    "paper_mean",
    "paper_std",
    "mean",
    "std",
    "seeds",
    "seeds_asked",
    "diverged",
    "p_value",
    "against",
    "cells",
)
SPECIAL = str.maketrans(
    {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "~": r"\textasciitilde{}", "±": r"$\pm$", "²": "$^2$"}
)


def to_markdown(grid: Grid) -> str:
    """Return the table with what the paper prints in brackets, and the remarks."""
    lines = [
        f"# {grid.experiment.title}",
        "",
        f"{what_ours_is(grid)}; what the paper prints in brackets.",
        "",
    ]
    lines += [_line(["", *grid.columns]), _line(["---"] + ["---:"] * len(grid.columns))]
    best = {column: best_rows(grid, column) for column in grid.columns}
    for row in grid.rows:
        cells = []
        for column in grid.columns:
            held = grid.cells.get((row, column))
            mine = "" if held is None else ours(held, grid.experiment.decimals)
            theirs = "" if held is None else papers(held.entry.paper, grid.experiment.decimals)
            mine = f"**{mine}**" if mine and row in best[column] else mine
            cells.append(f"{mine} ({theirs})" if theirs else mine)
        lines.append(_line([row + (" *" if grid.is_past(row) else ""), *cells]))
    lines += ["", "\\* past the paper"] if any(map(grid.is_past, grid.rows)) else []
    return "\n".join([*lines, "", *(f"- {remark}" for remark in grid.remarks)]).rstrip() + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_csv(grid: Grid) -> str:
    """Return a line for every place of the table, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for (row, column), held in grid.cells.items():
        entry, paper = held.entry, held.entry.paper
        addresses = " ".join(record["address"] for record in held.records.values())
        values = (
            *(grid.experiment.name, grid.scale, row, column, entry.measure, entry.past),
            *((None, None) if paper is None else (paper.mean, paper.std)),
            *(held.mean, held.std, len(held.values), len(held.seeds), held.diverged),
            *(held.p_value, held.against, addresses),
        )
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()


def to_latex(grid: Grid) -> str:
    """Return a ``tabular`` for booktabs: ours, and the paper's below in small type."""
    head = " & ".join(["", *map(_escaped, grid.columns)])
    lines = [
        f"% {grid.experiment.title}; scale {grid.scale}; {what_ours_is(grid)}",
        rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
    ]
    lines += [r"\toprule", head + r" \\", r"\midrule"]
    best = {column: best_rows(grid, column) for column in grid.columns}
    was_past = False
    for row in grid.rows:
        if grid.is_past(row) and not was_past:
            lines.append(r"\midrule")
            was_past = True
        lines += _latex_row(grid, row, best)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(grid: Grid, row: str, best: dict[str, set[str]]) -> list[str]:
    held = [grid.cells.get((row, column)) for column in grid.columns]
    mine = ["" if cell is None else _escaped(ours(cell, grid.experiment.decimals)) for cell in held]
    bold = [
        rf"\textbf{{{cell}}}" if cell and row in best[name] else cell
        for cell, name in zip(mine, grid.columns, strict=True)
    ]
    theirs = ["" if cell is None else _escaped(papers(cell.entry.paper, grid.experiment.decimals)) for cell in held]
    lines = [" & ".join([_escaped(row), *bold]) + r" \\"]
    if any(theirs):
        small = [rf"{{\scriptsize {cell}}}" if cell else "" for cell in theirs]
        lines.append(" & ".join([r"{\scriptsize \quad paper}", *small]) + r" \\")
    return lines


def _escaped(text: str) -> str:
    return text.translate(SPECIAL)
