"""A still picture of placed classes with their names: a circle, two maps of a sphere, or a projection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto.report.groups import colors_of
from hyperproto.report.labels import draw_names
from hyperproto.report.neighbors import named_vectors
from hyperproto.report.pictures import new_picture, plain_text
from hyperproto.report.projection import project

__all__ = ["draw_placement", "halves"]

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
        One name per class (default: the prototypes' own, or their numbers).
    groups : sequence, length K, optional
        Classes of one group share a color; :func:`~hyperproto.report.groups.prior_groups` makes groups of a prior.
    title : str, optional
        Printed above.
    """
    vectors, names = named_vectors(prototypes, names)
    colors = colors_of(groups, len(names))
    own = [colors["" if groups is None else str(groups[i])] for i in range(len(names))]
    panels, note = _panels(np.asarray(vectors, dtype=np.float64))
    rows = -(-len(colors) // LEGEND_COLUMNS) if len(colors) > 1 else 0
    bottom = NOTE + rows * LEGEND_ROW
    height = SIDE + bottom + (0.4 if title else 0.1)
    with new_picture(path, SIDE * len(panels), height, layout=None) as figure:
        figure.suptitle(plain_text(title), y=1 - 0.15 / height, va="top", fontsize=14)
        left_out = 0
        for column, panel in enumerate(panels):
            axes = figure.add_axes((column / len(panels), bottom / height, 1 / len(panels), SIDE / height))
            _prepare(axes, panel)
            left_out += draw_names(axes, panel.points, [names[i] for i in panel.ids], [own[i] for i in panel.ids])
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
