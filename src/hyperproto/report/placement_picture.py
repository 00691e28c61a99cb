"""A still picture of placed classes, labelled with their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.groups import colours_of
from hyperproto.report.label_drawing import name_around, name_beside
from hyperproto.report.named_vectors import named_vectors
from hyperproto.report.picture_format import picture_format
from hyperproto.report.projection import project
from hyperproto.report.sphere_map import graticule, halves

__all__ = ["draw_placement"]

Array = NDArray[np.float64]

SIDE = 9.0  # inches of a panel
LEGEND_ROW, NOTE = 0.24, 0.57  # inches of a row of the legend, and of the sentence below
LEGEND_COLUMNS = 3


class Panel(NamedTuple):
    """One square of the picture: ``points`` (n, 2), the classes they stand for (n,), and lines behind them."""

    title: str
    points: Array
    ids: NDArray[np.int64]
    guides: list[Array]
    reach: float


def draw_placement(
    prototypes: Any,
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    groups: Sequence[object] | None = None,
    title: str = "",
) -> None:
    """Draw the classes where they were placed and write PNG or SVG, whichever the name ends in.

    Two dimensions are drawn as a circle, three as maps of the two halves of the sphere, on which nothing is hidden,
    and more as a projection whose error is printed below it.

    Parameters
    ----------
    prototypes : Prototypes, or array of shape (K, D)
        What was placed: unit rows.
    path : str or Path
        Ends in ``.png`` or ``.svg``.
    names : sequence of str, optional
        One name a class; the prototypes' own by default, or their numbers.
    groups : sequence, length K, optional
        Classes of one group share a colour; :func:`~hyperproto.report.groups.prior_groups` makes groups of a prior.
    title : str, optional
        Printed above.
    """
    require("matplotlib", extra="plots", purpose="Drawing the placement")
    import matplotlib as mpl

    form = picture_format(path)
    vectors, names = named_vectors(prototypes, names)
    colours = colours_of(groups, len(names))
    own = [colours["" if groups is None else str(groups[i])] for i in range(len(names))]
    panels, note = _panels(np.asarray(vectors, dtype=np.float64))
    figure, squares = _empty(panels, colours, title)
    draw = name_around if vectors.shape[1] == 2 else name_beside
    left_out = 0
    for axes, panel in zip(squares, panels, strict=True):
        left_out += draw(axes, panel.points, [names[i] for i in panel.ids], [own[i] for i in panel.ids])
    note += f" {left_out} of {len(names)} names found no room." if left_out else ""
    figure.text(0.5, 0.1 / figure.get_figheight(), note, ha="center", va="bottom", fontsize=8.5, color="#444444")
    settings: dict[Any, Any] = {"svg.hashsalt": "hyperproto", "svg.fonttype": "none"}  # same bytes; names stay text
    with mpl.rc_context(settings), replacing(path) as beside:
        figure.savefig(beside, format=form, metadata={"Date": None} if form == "svg" else None)


def _panels(vectors: Array) -> tuple[list[Panel], str]:
    """Return what to draw, and the sentence below."""
    if vectors.shape[1] == 3:
        maps = [Panel(title, points, ids, graticule(), 1.08) for title, points, ids in halves(vectors)]
        return maps, "Equal-area maps of the two halves of the sphere, seen from outside: left rim meets right rim."
    everyone = np.arange(len(vectors))
    if vectors.shape[1] == 2:
        turn = np.linspace(0, 2 * np.pi, 361)
        ring = np.column_stack([np.cos(turn), np.sin(turn)])
        return [Panel("", vectors, everyone, [ring], 1.4)], "The circle of two dimensions, as it is."
    projection = project(vectors, 2)
    points = projection.points / max(np.abs(projection.points).max(), 1e-300)
    return [Panel("", points, everyone, [], 1.08)], projection.sentence.replace(". Of", ".\nOf")


def _empty(panels: list[Panel], colours: dict[str, str], title: str) -> tuple[Any, list[Any]]:
    """Return a figure and its squares, with title and legend, but no classes yet."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(colours) // LEGEND_COLUMNS) if len(colours) > 1 else 0
    bottom = NOTE + rows * LEGEND_ROW
    width, height = SIDE * len(panels), SIDE + bottom + (0.4 if title else 0.1)
    figure = Figure(figsize=(width, height), dpi=150)
    FigureCanvasAgg(figure)
    figure.suptitle(title.replace("$", r"\$"), y=1 - 0.15 / height, va="top", fontsize=14)
    squares = []
    for column, panel in enumerate(panels):
        axes = figure.add_axes((column / len(panels), bottom / height, SIDE / width, SIDE / height))
        axes.set(xlim=(-panel.reach, panel.reach), ylim=(-panel.reach, panel.reach), aspect="equal")
        axes.set_axis_off()
        axes.text(-1.02, 1.02, panel.title, va="top", fontsize=12, color="#444444")
        for line in panel.guides:
            axes.plot(*line.T, color="#cccccc", linewidth=0.6, zorder=0)
        squares.append(axes)
    if rows:
        marks = [squares[0].scatter([], [], s=30, color=colour) for colour in colours.values()]
        labels = [label.replace("$", r"\$") for label in colours]
        place = (0.5, (NOTE - 0.15) / height)
        figure.legend(
            marks, labels, ncols=LEGEND_COLUMNS, fontsize=9, loc="lower center", bbox_to_anchor=place, frameon=False
        )
    return figure, squares
