"""Classes as dots with their names: beside the dot on a map, pointing outward on a circle."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto.report.circle_labels import outward, spread
from hyperproto.report.labels import place_labels

__all__ = ["name_around", "name_beside"]

Array = NDArray[np.float64]

FONT, SMALL_FONT = 10.0, 5.0  # points
ROOMY = 80  # names in one panel from which on the letters shrink
FAR = 0.7  # label heights between a name and its dot from which on a line joins them
LINE = {"linewidth": 0.5, "alpha": 0.6, "zorder": 2}


def name_beside(axes: Any, points: Array, names: list[str], colours: list[str]) -> int:
    """Draw dots (n, 2) with their names around them; return how many names found no room."""
    if not names:
        return 0
    size = max(SMALL_FONT, FONT * min(1, ROOMY / len(names)) ** 0.4)
    texts = _dots(axes, points, names, colours, size)
    renderer = axes.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([[box.width + 3, 1.1 * size * axes.figure.dpi / 72] for box in boxes])
    spots = axes.transData.transform(points)
    centres = place_labels(spots, sizes, tuple(axes.get_window_extent(renderer).extents))
    back = axes.transData.inverted()
    for text, spot, centre, extent in zip(texts, spots, centres, sizes, strict=True):
        text.set_visible(not np.isnan(centre[0]))
        if np.isnan(centre[0]):
            continue
        text.set_position(back.transform(centre))
        edge = np.clip(spot, centre - extent / 2, centre + extent / 2)
        if np.linalg.norm(edge - spot) > FAR * extent[1]:
            axes.plot(*back.transform([spot, edge]).T, color=text.get_color(), **LINE)
    return int(np.isnan(centres[:, 0]).sum())


def name_around(axes: Any, points: Array, names: list[str], colours: list[str]) -> int:
    """Draw dots (n, 2) on the unit circle with their names outside; return how many names found no room."""
    radius = axes.get_window_extent().width / (2 * axes.get_xlim()[1]) * 72 / axes.figure.dpi  # in points
    line = 1.15 * 1.06  # of a letter's height, at the radius where names start
    size = float(np.clip(2 * np.pi * radius / (len(names) * line), SMALL_FONT, FONT))
    room = int(2 * np.pi * radius / (size * line))
    step = -(-len(names) // room)  # where not all fit, every second or third is named
    texts = _dots(axes, points, names, colours, size)
    turn = np.arctan2(points[:, 1], points[:, 0])
    named = np.argsort(turn, kind="stable")[::step]
    for text in texts:
        text.set_visible(False)
    for i, angle in zip(named, spread(turn[named], size * line / radius), strict=True):
        way = np.array([np.cos(angle), np.sin(angle)])
        texts[i].set(visible=True, position=1.06 * way, **outward(float(angle)))
        axes.plot(*np.array([1.01 * points[i], 1.05 * way]).T, color=colours[i], **LINE)
    return len(names) - len(named)


def _dots(axes: Any, points: Array, names: list[str], colours: list[str], size: float) -> list[Any]:
    axes.scatter(*points.T, s=2.2 * size, c=colours, linewidths=0, zorder=3)
    return [
        axes.text(0, 0, name.replace("$", r"\$"), color=colour, fontsize=size, ha="center", va="center", zorder=4)
        for name, colour in zip(names, colours, strict=True)
    ]
