"""A table as a picture: a panel for each column, a line for each row, ours and the paper's as dots on it."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.pictures import picture_format
from hyperproto.reproduction.grid import Grid, ours
from hyperproto.reproduction.summary import Summary

__all__ = ["draw_dots", "row_bands"]

OURS, PAST, PAPER = "#0072B2", "#009E73", "#D55E00"
LINE, WIDTH, LABEL = 0.42, 2.1, 36  # inches a row, inches a column, characters of a row's name
TEXT = 0.15  # inches a line of a row's name
LIFT = 0.17  # ours above the line of its row, the paper's below, so that equal ones are both seen
UNITS = {"accuracy": "accuracy, %", "mae": "mean absolute error", **dict.fromkeys(("min", "mean", "max"), "1 - cos")}


def draw_dots(grid: Grid, path: str | Path) -> None:
    """Draw mean, standard deviation and every seed of ours, and the paper's; write PNG or SVG."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing a table")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bands = row_bands(grid)
    heights = [
        max(LINE, *(TEXT * (_label(row).count("\n") + 1.3) for row in band)) * len(band) + 0.6 for band in bands
    ]
    size = (3.2 + WIDTH * len(grid.columns), sum(heights) + 1.1)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(bands), len(grid.columns), squeeze=False, sharey="row", height_ratios=heights)
    for line, band in zip(panels, bands, strict=True):
        _draw_band(grid, band, line)
    _explain(figure, grid)
    with replacing(path) as beside:
        figure.savefig(beside, format=form)


def _height(band: Sequence[str]) -> float:
    """Return the inches of a band of rows, each as high as the longest name asks for."""
    lines = max(_label(row).count("\n") + 1 for row in band)
    return max(LINE, TEXT * (lines + 0.3)) * len(band) + 0.6


def row_bands(grid: Grid) -> list[tuple[str, ...]]:
    """Return the rows in bands of equal measures, for those of different ones cannot share an axis."""
    bands: dict[frozenset[str], list[str]] = {}
    for row in grid.rows:
        measures = frozenset(held.entry.measure for (name, _), held in grid.cells.items() if name == row)
        bands.setdefault(measures, []).append(row)
    return [tuple(rows) for rows in bands.values()]


def _draw_band(grid: Grid, band: Sequence[str], line: Sequence[Any]) -> None:
    """Draw a line of panels; panels of one unit have one scale."""
    limits = _limits([held for (row, _), held in grid.cells.items() if row in band])
    for axes, column in zip(line, grid.columns, strict=True):
        held = {row: grid.cells[row, column] for row in band if (row, column) in grid.cells}
        for row, summary in held.items():
            _draw_place(axes, summary, band.index(row), grid.experiment.decimals)
            axes.set_xlabel(_unit(summary), fontsize=8)
            axes.set_xlim(limits.get(_unit(summary)))
        axes.set_title(column, fontsize=10)
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8)
        axes.tick_params(axis="y", left=axes is line[0])
        axes.set_ylim(len(band) - 0.4, -0.6)
    line[0].set_yticks(range(len(band)), [_label(row) for row in band], fontsize=9)


def _label(row: str) -> str:
    """Break a long name, after a colon if it has one."""
    return "\n".join(fill(part, LABEL) for part in row.replace(": ", ":\n").split("\n"))


def _unit(held: Summary) -> str:
    return UNITS.get(held.entry.measure.rpartition("/")[2], held.entry.measure)


def _limits(every: Sequence[Summary]) -> dict[str, tuple[float, float]]:
    """Return for each unit a scale from 0 that holds all of ours and of the paper's, spreads included."""
    highest: dict[str, float] = {}
    for held in every:
        paper = held.entry.paper
        ends = [held.mean or 0, (held.mean or 0) + (held.std or 0), *held.values.values()]
        ends += [] if paper is None else [paper.mean + (paper.std or 0)]
        highest[_unit(held)] = max(highest.get(_unit(held), 0), *ends)
    return {unit: (0, 1.06 * high) for unit, high in highest.items() if high > 0}


def _draw_place(axes: Any, held: Summary, height: int, decimals: int) -> None:
    """Draw one place of the table; where nothing was run, or all of it diverged, say so."""
    colour = PAST if held.entry.past else OURS
    axes.axhline(height, color="#dddddd", linewidth=0.6, zorder=0)
    if held.mean is None:
        axes.annotate(
            *(ours(held, decimals), (0.02, height - LIFT)),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            color="#888888",
            va="center",
        )
    else:
        axes.errorbar(held.mean, height - LIFT, xerr=held.std, fmt="o", color=colour, markersize=5, capsize=2.5)
        if len(held.values) > 1:
            seeds = list(held.values.values())
            axes.plot(seeds, [height - LIFT] * len(seeds), "|", color=colour, markersize=9, alpha=0.7)
    if held.entry.paper is not None:
        paper = held.entry.paper
        look = {"fmt": "o", "color": PAPER, "markerfacecolor": "white", "markersize": 5, "capsize": 2.5}
        axes.errorbar(paper.mean, height + LIFT, xerr=paper.std, **look)


def _explain(figure: Any, grid: Grid) -> None:
    """Put title and legend above: which dots are ours, and that the paper's are of its own protocol."""
    from matplotlib.lines import Line2D

    trained = grid.experiment.trained
    spread = f", scale {grid.scale}, mean ± standard deviation; ticks are seeds" if trained else ""
    reduced = ", its own protocol" if trained and grid.scale != "full" else ""
    looks: dict[str, dict[str, str]] = {f"ours{spread}": {"color": OURS}}
    if any(map(grid.is_past, grid.rows)):
        looks["rows past the paper"] = {"color": PAST}
    if any(held.entry.paper for held in grid.cells.values()):
        looks[f"as the paper prints it{reduced}"] = {"color": PAPER, "markerfacecolor": "white"}
    handles = [Line2D([], [], marker="o", linestyle="", **look) for look in looks.values()]  # type: ignore[arg-type]
    width = round(figure.get_figwidth() * 11)
    figure.suptitle(fill(grid.experiment.title, width), fontsize=11)
    columns = len(looks) if width > 90 else 1
    figure.legend(handles, list(looks), loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
