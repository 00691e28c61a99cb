"""The report of an experiment, from its records alone: in the terminal, as
Markdown, CSV and LaTeX.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hyperproto._core.errors import MissingExtraError
from hyperproto._core.files import replacing
from reproduction.experiment import SEEDS, Experiment
from reproduction.figures import draw_figures
from reproduction.grid import Grid, make_grid
from reproduction.summaries import Summary

FIELDS = (
    *(
        "name",
        "scale",
        "row",
        "column",
        "measure",
        "beyond_the_paper",
        "paper_mean",
        "paper_std",
        "mean",
        "std",
    ),
    *(
        "error",
        "seeds",
        "seeds_asked",
        "diverged",
        "difference",
        "against",
        "low",
        "high",
        "verdict",
        "cells",
    ),
)
SECTION = "\n## Scale "
SPECIAL = str.maketrans(
    {
        "%": r"\%",
        "&": r"\&",
        "_": r"\_",
        "#": r"\#",
        "~": r"\textasciitilde{}",
        "±": r"$\pm$",
        "²": "$^2$",
    }
)


def write_report(
    experiment: Experiment, scale: str, results: Path, folder: Path
) -> tuple[Grid, list[Path]]:
    """Write ``NAME-SCALE`` as .csv and .tex, figures as .png and .svg; nothing is trained.

    ``NAME.md`` has a section for every scale, of which this one is written anew. Without the
    packages that draw, numbers are reported all the same.

    Returns
    -------
    Grid, list of Path
        The numbers, and what was written.
    """
    grid = make_grid(experiment, scale, results)
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{experiment.name}-{scale}"
    pictures: list[Path] = []
    try:
        pictures = draw_figures(grid, stem)
    except MissingExtraError as error:
        grid = replace(grid, notes=(*grid.notes, f"No pictures: {error}."))
    page = folder / f"{experiment.name}.md"
    sections = read_sections(page) | {scale: to_section(grid)}
    texts = {
        page: to_page(experiment, sections),
        stem.with_name(f"{stem.name}.csv"): to_csv(grid),
        stem.with_name(f"{stem.name}.tex"): to_latex(grid),
    }
    for path, text in texts.items():
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8")
    return grid, [*texts, *pictures]


def read_sections(page: Path) -> dict[str, str]:
    """Return what a report says, by scale; nothing where there is none."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    parts = (part.partition("\n\n") for part in text.split(SECTION)[1:])
    return {scale: body.strip() for scale, _, body in parts}


def to_page(experiment: Experiment, sections: Mapping[str, str]) -> str:
    """Return the report of every scale, from the most to the least conclusive."""
    parts = [f"{SECTION}{scale}\n\n{sections[scale]}" for scale in SEEDS if scale in sections]
    return "\n".join([f"# {experiment.title}", *parts]) + "\n"


def to_markdown(grid: Grid) -> str:
    """Return the report of one scale."""
    return f"# {grid.experiment.title}\n\n{to_section(grid)}\n"


def to_section(grid: Grid) -> str:
    """Return the table with what the paper prints in brackets, and the notes."""
    lines = [f"{grid.caption}; what the paper prints in brackets.", ""]
    lines += [
        _markdown_line(["", *grid.columns]),
        _markdown_line(["---"] + ["---:"] * len(grid.columns)),
    ]
    for row, line in grid.lines():
        cells = [
            (f"**{shown.ours}**" if shown.is_best else shown.ours)
            + (f" ({shown.paper})" if shown.paper else "")
            for shown in line
        ]
        lines.append(_markdown_line([row + (" *" if grid.is_beyond(row) else ""), *cells]))
    lines += ["", "\\* beyond the paper"] if any(map(grid.is_beyond, grid.rows)) else []
    return "\n".join([*lines, "", *(f"- {note}" for note in grid.notes)]).rstrip()


def _markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_csv(grid: Grid) -> str:
    """Return a line for every entry of the table, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for (row, column), summary in grid.cells.items():
        entry, paper = summary.entry, summary.entry.paper
        values = (
            *(grid.experiment.name, grid.scale, row, column, entry.measure, entry.beyond),
            *((None, None) if paper is None else (paper.mean, paper.std)),
            *(
                summary.mean,
                summary.std,
                summary.error,
                len(summary.values),
                len(summary.seeds),
                summary.diverged,
            ),
            *_compared(summary),
            " ".join(record["address"] for record in summary.records.values()),
        )
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()


def _compared(summary: Summary) -> tuple[str, ...]:
    """Return by how much, than what, the interval, and whether an entry is better; several
    comparisons with semicolons.
    """
    comparisons = summary.comparisons
    gaps = ("" if one.difference is None else str(one.difference) for one in comparisons)
    return (
        "; ".join(gaps),
        "; ".join(one.against.entry.row for one in comparisons),
        *(
            "; ".join("" if one.interval is None else str(one.interval[end]) for one in comparisons)
            for end in (0, 1)
        ),
        "; ".join(one.verdict for one in comparisons),
    )


def to_latex(grid: Grid) -> str:
    """Return a ``tabular`` for booktabs: ours, and the paper's below in small type."""
    lines = [
        f"% {grid.experiment.title}; scale {grid.scale}; {grid.caption}",
        rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
        r"\toprule",
        _latex_line(["", *(column.translate(SPECIAL) for column in grid.columns)]),
        r"\midrule",
    ]
    first_beyond = next(filter(grid.is_beyond, grid.rows), None)
    for row, line in grid.lines():
        lines += [r"\midrule"] if row == first_beyond else []
        mine = [(shown.ours.translate(SPECIAL), shown.is_best) for shown in line]
        lines.append(
            _latex_line(
                [row.translate(SPECIAL), *(rf"\textbf{{{s}}}" if best else s for s, best in mine)]
            )
        )
        if any(shown.paper for shown in line):
            small = [
                rf"{{\scriptsize {shown.paper.translate(SPECIAL)}}}" if shown.paper else ""
                for shown in line
            ]
            lines.append(_latex_line([r"{\scriptsize \quad paper}", *small]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
