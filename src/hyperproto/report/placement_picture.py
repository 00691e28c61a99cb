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

# names: each at the nearest place around its dot where it covers no other
DIRECTIONS = 24
RINGS = (1.0, 1.6, 2.4, 3.4, 4.6, 6.0, 8.0, 10.5)  # distances from the point, in line heights
SIDEWAYS = 0.15  # line heights by which a name at the side of its point is better than one above it
COVERED = 1.2  # line heights that covering another point is as bad as
FONT, SMALL_FONT = 10.0, 5.0  # points
ROOMY = 80  # names in one panel from which on the letters shrink
FAR = 0.7  # label heights between a name and its dot from which on a line joins them
LINE = {"linewidth": 0.5, "alpha": 0.6, "zorder": 2}


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
    """Draw dots (n, 2) with their names around them; return how many names found no room."""
    if not names:
        return 0
    size = max(SMALL_FONT, FONT * min(1, ROOMY / len(names)) ** 0.4)
    axes.scatter(*points.T, s=2.2 * size, c=colors, linewidths=0, zorder=3)
    style = {"fontsize": size, "ha": "center", "va": "center", "zorder": 4}
    texts = [axes.text(0, 0, plain_text(n), color=color, **style) for n, color in zip(names, colors, strict=True)]
    renderer = axes.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([[box.width + 3, 1.1 * size * axes.figure.dpi / 72] for box in boxes])
    spots = axes.transData.transform(points)
    centers = place_labels(spots, sizes, tuple(axes.get_window_extent(renderer).extents))
    back = axes.transData.inverted()
    for text, spot, center, extent in zip(texts, spots, centers, sizes, strict=True):
        text.set_visible(not np.isnan(center[0]))
        if np.isnan(center[0]):
            continue
        text.set_position(back.transform(center))
        edge = np.clip(spot, center - extent / 2, center + extent / 2)
        if np.linalg.norm(edge - spot) > FAR * extent[1]:
            axes.plot(*back.transform([spot, edge]).T, color=text.get_color(), **LINE)
    return int(np.isnan(centers[:, 0]).sum())


def place_labels(points: Array, sizes: Array, limits: tuple[float, float, float, float]) -> Array:
    """Return the center (n, 2) of each label; NaN for one that finds no free place.

    All in pixels: what is labeled (n, 2), widths and heights of the labels (n, 2), and left, bottom, right and top
    of the ground on which they stay.

    Examples
    --------
    >>> place_labels(np.array([[0.0, 0.0]]), np.array([[20.0, 10.0]]), (-99, -99, 99, 99)).tolist()
    [[15.0, 0.0]]
    """
    line = float(np.median(sizes[:, 1]))
    turn = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ways = np.column_stack([np.cos(turn), np.sin(turn)])
    distance = np.repeat(RINGS, DIRECTIONS) - SIDEWAYS * np.tile(np.abs(ways[:, 0]), len(RINGS))
    centers = np.full_like(points, np.nan)
    for i, (point, size) in enumerate(zip(points, sizes, strict=True)):
        places = np.concatenate([point + ways * (size / 2 + (ring - 0.5) * line) for ring in RINGS])
        reach = np.ptp(places, axis=0) / 2 + size / 2  # nothing farther away can be in the way
        near = (np.abs(centers - point) < reach + sizes / 2).all(axis=1)  # NaN is nowhere
        free = ~_overlaps(places, size, centers[near], sizes[near]).any(axis=1)
        low, high = np.array(limits[:2]) + size / 2, np.array(limits[2:]) - size / 2
        free &= ((places >= low) & (places <= high)).all(axis=1)
        dots = points[(np.abs(points - point) < reach + line).all(axis=1)]
        covered = _overlaps(places, size, dots, np.full_like(dots, 0.5 * line)).sum(axis=1)
        if free.any():
            centers[i] = places[np.where(free, distance + COVERED * covered, np.inf).argmin()]
    return centers


def _overlaps(places: Array, size: Array, centers: Array, sizes: Array) -> NDArray[np.bool_]:
    """Return which boxes of one size at ``places`` (p, 2) meet which of the boxes (n, 2). Shape (p, n)."""
    reach = (size + sizes) / 2
    across, along = (np.abs(places[:, None, axis] - centers[:, axis]) < reach[:, axis] for axis in (0, 1))
    return across & along
