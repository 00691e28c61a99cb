"""A still picture of placed classes with their names: a circle, two maps of a sphere, or a projection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import names_or_numbers
from hyperproto.prototypes import Prototypes
from hyperproto.report.groups import colors_of
from hyperproto.report.pictures import new_picture, plain_text
from hyperproto.report.projection import project

Array = NDArray[np.float64]

SIDE = 9.0  # inches of a panel
LEGEND_ROW, NOTE = 0.24, 0.57  # inches of a row of the legend, and of the sentence below
LEGEND_COLUMNS = 3

FONT, SMALL_FONT = 10.0, 5.0  # points
ROOMY = 80  # names in one panel from which on the letters shrink
# where a name may stand next to its dot: how far away, in points, and which of its ends is there
SIDES = ((4, 0, "left", "center"), (-4, 0, "right", "center"), (0, 4, "center", "bottom"), (0, -4, "center", "top"))


class Panel(NamedTuple):
    """One square of the picture: ``points`` (n, 2), the classes they stand for (n,), and lines behind them."""

    title: str
    points: Array
    ids: NDArray[np.int64]
    guides: list[Array]
    reach: float


def draw_placement(
    prototypes: Prototypes,
    path: str | Path,
    *,
    groups: Sequence[object] | None = None,
    title: str = "",
) -> None:
    """Draw the classes where they were placed and write PNG or SVG, whichever the name ends in.

    Two dimensions are drawn as a circle, three as maps of the two halves of the sphere, on which nothing is hidden,
    and more as a projection whose error is printed below it.

    Parameters
    ----------
    prototypes : Prototypes
        What was placed; classes without names are called by their numbers.
    path : str or Path
        Ends in ``.png`` or ``.svg``.
    groups : sequence, length K, optional
        Classes of one group share a color; :func:`~hyperproto.report.groups.prior_groups` makes groups of a prior.
    title : str, optional
        Printed above.
    """
    names = names_or_numbers(prototypes.names, prototypes.num_classes)
    colors = colors_of(groups, len(names))
    own = [colors["" if groups is None else str(groups[i])] for i in range(len(names))]
    panels, note = _panels(prototypes.vectors.numpy(force=True).astype(np.float64))
    rows = -(-len(colors) // LEGEND_COLUMNS) if len(colors) > 1 else 0
    bottom = NOTE + rows * LEGEND_ROW
    height = SIDE + bottom + (0.4 if title else 0.1)
    with new_picture(path, SIDE * len(panels), height, layout=None) as figure:
        figure.suptitle(plain_text(title), y=1 - 0.15 / height, va="top", fontsize=14)
        left_out = 0
        for column, panel in enumerate(panels):
            axes = figure.add_axes((column / len(panels), bottom / height, 1 / len(panels), SIDE / height))
            _prepare(axes, panel)
            left_out += _draw_names(axes, panel.points, [names[i] for i in panel.ids], [own[i] for i in panel.ids])
        if rows:
            _add_legend(figure, colors, (NOTE - 0.15) / height)
        note += f" {left_out} of {len(names)} names found no room." if left_out else ""
        figure.text(0.5, 0.1 / height, note, ha="center", va="bottom", fontsize=8.5, color="#444444")


def _panels(vectors: Array) -> tuple[list[Panel], str]:
    """Return what to draw, and the sentence below."""
    if vectors.shape[1] == 3:
        circles = [_ring() * np.sqrt(2) * np.sin(np.deg2rad(away) / 2) for away in (30, 60, 90)]  # and the rim
        maps = [Panel(title, points, ids, circles, 1.08) for title, points, ids in halves(vectors)]
        return maps, "Equal-area maps of the two halves of the sphere, seen from outside: left rim meets right rim."
    everyone = np.arange(len(vectors))
    if vectors.shape[1] == 2:
        return [Panel("", vectors, everyone, [_ring()], 1.3)], "The circle of two dimensions, as it is."
    projection = project(vectors, 2)
    points = projection.points / max(np.abs(projection.points).max(), 1e-300)
    return [Panel("", points, everyone, [], 1.08)], projection.sentence.replace(". Of", ".\nOf")


def _prepare(axes: Any, panel: Panel) -> None:
    """Set the limits of a square, and draw its title and the lines behind the classes."""
    axes.set(xlim=(-panel.reach, panel.reach), ylim=(-panel.reach, panel.reach), aspect="equal")
    axes.set_axis_off()
    axes.text(-1.02, 1.02, panel.title, va="top", fontsize=12, color="#444444")
    for line in panel.guides:
        axes.plot(*line.T, color="#cccccc", linewidth=0.6, zorder=0)


def _add_legend(figure: Any, colors: dict[str, str], bottom: float) -> None:
    marks = [figure.axes[0].scatter([], [], s=30, color=color) for color in colors.values()]
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, bottom), "ncols": LEGEND_COLUMNS}
    figure.legend(marks, [plain_text(label) for label in colors], fontsize=9, frameon=False, **place)


def halves(vectors: Array) -> list[tuple[str, Array, NDArray[np.int64]]]:
    """Return title, points (n, 2) in the unit disc, and classes (n,) of the front and of the back.

    Both are Lambert's azimuthal equal-area map, seen from outside: what leaves one map at its right rim enters the
    other at the left.
    """
    front, right = np.linalg.svd(vectors, full_matrices=False)[2][:2]  # most classes are far from this rim
    up = np.cross(front, right)
    maps = []
    for title, way, across in (("front", front, right), ("back", -front, -right)):
        depth = vectors @ way
        ids = np.flatnonzero(depth > 0 if title == "front" else depth >= 0)
        flat = np.column_stack([vectors[ids] @ across, vectors[ids] @ up])
        maps.append((title, flat / np.sqrt(1 + depth[ids])[:, None], ids))  # the rim, depth 0, has radius 1
    return maps


def _ring() -> Array:
    turn = np.linspace(0, 2 * np.pi, 361)
    return np.column_stack([np.cos(turn), np.sin(turn)])


def _draw_names(axes: Any, points: Array, names: list[str], colors: list[str]) -> int:
    """Draw dots (n, 2), each with its name where that covers no other; return how many names found no room."""
    size = max(SMALL_FONT, FONT * min(1.0, ROOMY / max(1, len(names))) ** 0.4)
    axes.scatter(*points.T, s=2.2 * size, c=colors, linewidths=0, zorder=3)
    renderer, ground = axes.figure.canvas.get_renderer(), axes.get_window_extent()
    taken: list[Any] = []
    for point, name, color in zip(points, names, colors, strict=True):
        style = {"fontsize": size, "color": color, "zorder": 4}
        text = axes.annotate(plain_text(name), point, (0, 0), textcoords="offset points", **style)
        for x, y, ha, va in SIDES:
            text.set(position=(x, y), ha=ha, va=va)
            box = text.get_window_extent(renderer)
            if not box.count_overlaps(taken) and ground.containsx(box.x0) and ground.containsx(box.x1):
                taken.append(box)
                break
        else:
            text.remove()
    return len(names) - len(taken)
