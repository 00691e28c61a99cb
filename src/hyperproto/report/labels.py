"""Classes as dots with their names, each at the nearest place around its dot where it covers no other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto.report.pictures import plain_text

__all__ = ["draw_names", "place_labels"]

Array = NDArray[np.float64]

DIRECTIONS = 24
RINGS = (1.0, 1.6, 2.4, 3.4, 4.6, 6.0, 8.0, 10.5)  # distances from the point, in line heights
SIDEWAYS = 0.15  # line heights by which a name at the side of its point is better than one above it
COVERED = 1.2  # line heights that covering another point is as bad as
FONT, SMALL_FONT = 10.0, 5.0  # points
ROOMY = 80  # names in one panel from which on the letters shrink
FAR = 0.7  # label heights between a name and its dot from which on a line joins them
LINE = {"linewidth": 0.5, "alpha": 0.6, "zorder": 2}


def draw_names(axes: Any, points: Array, names: list[str], colors: list[str]) -> int:
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
    """Return the center of each label; NaN for one that finds no free place.

    Parameters
    ----------
    points : array, shape (n, 2)
        What is labeled, in pixels.
    sizes : array, shape (n, 2)
        Width and height of each label, in pixels.
    limits : (left, bottom, right, top)
        Labels stay inside, in pixels.

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
