"""Accuracy after every epoch: a panel for each column, a line for each row."""

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.pictures import picture_format
from hyperproto.reproduction.grid import Grid

__all__ = ["draw_curves", "epoch_curve"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def epoch_curve(grid: Grid, row: str, column: str) -> Any:
    """Return the measure after every epoch, shape (seeds, epochs), of the seeds that ended well; None if none."""
    held = grid.cells.get((row, column))
    if held is None:
        return None
    factor = 100 if held.entry.percent else 1
    curves = [
        [factor * epoch["valid"][held.entry.measure] for epoch in record["epochs"]]
        for record in held.records.values()
        if record["state"] == "done" and record["epochs"]
    ]
    return np.array(curves) if curves else None


def draw_curves(grid: Grid, path: str | Path) -> None:
    """Draw the mean over seeds, and the range of the seeds as a band; write PNG or SVG."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing curves")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.5 + 4.5 * len(grid.columns), 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(grid.columns), squeeze=False)[0]
    for axes, column in zip(panels, grid.columns, strict=True):
        for index, row in enumerate(grid.rows):
            _draw_curve(axes, epoch_curve(grid, row, column), row, COLOURS[index % len(COLOURS)], grid.is_past(row))
        axes.set(xlabel="epoch", title=column if len(grid.columns) > 1 else "")
        axes.grid(alpha=0.3)
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("test accuracy, %")
    _explain(figure, panels, grid)
    with replacing(path) as beside:
        figure.savefig(beside, format=form)


def _explain(figure: Any, panels: Any, grid: Grid) -> None:
    """Put the title above and one legend for all panels below, where it covers nothing."""
    lines = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    width = round(figure.get_figwidth() * 10)
    figure.suptitle(fill(f"{grid.experiment.title}; scale {grid.scale}", width), fontsize=11)
    if lines:
        columns = 2 if len(panels) == 1 else 4
        title = "mean of the seeds, and their range as a band; dashed: past the paper"
        look = {"ncols": columns, "fontsize": 8, "title": title, "title_fontsize": 8, "frameon": False}
        figure.legend(list(lines.values()), list(lines), loc="outside lower center", **look)


def _draw_curve(axes: Any, curve: Any, row: str, colour: str, past: bool) -> None:
    if curve is None:
        return
    epochs = np.arange(1, curve.shape[1] + 1)
    axes.plot(epochs, curve.mean(axis=0), "--" if past else "-", color=colour, label=row, marker=".", markersize=3)
    if len(curve) > 1:
        axes.fill_between(epochs, curve.min(axis=0), curve.max(axis=0), color=colour, alpha=0.15, linewidth=0)
