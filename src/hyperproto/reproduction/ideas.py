"""Figures 1 and 2 from their records: the sphere, its marks, and the way of one output."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.pages import coordinates, page_head, sphere_grid
from hyperproto.report.pictures import picture_format

__all__ = ["draw_ideas", "write_idea_page"]

MARK, PATH, CIRCLE = "#0072B2", "#E69F00", "#40B0A6"
ELEVATION, AZIMUTH = 30.0, -60.0  # degrees, from where the sphere is seen
VIEWER = np.array(
    [
        np.cos(np.radians(ELEVATION)) * np.cos(np.radians(AZIMUTH)),
        np.cos(np.radians(ELEVATION)) * np.sin(np.radians(AZIMUTH)),
        np.sin(np.radians(ELEVATION)),
    ]
)
POLE_UP = [1, 2, 0]  # the axis of a range is drawn upwards, as the paper does

Look = dict[str, Any]


def draw_ideas(looks: Sequence[tuple[str, Look]], path: str | Path) -> None:
    """Draw a sphere for each look, beside each other; write PNG or SVG."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing the idea")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * max(1, len(looks)), 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for index, (title, look) in enumerate(looks):
        axes: Any = figure.add_subplot(1, len(looks), index + 1, projection="3d")
        _draw_sphere(axes)
        _draw_look(axes, look)
        axes.set_title(title)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, fontsize=8, frameon=False)
    with replacing(path) as beside:
        figure.savefig(beside, format=form)


def _draw_look(axes: Any, look: Look) -> None:
    """Draw marks, path and circle, the far side of the sphere paler."""
    marks, path, is_range = _points(look["marks"]), _points(look["path"]), look["target"] == 0
    dots = {"color": MARK, "s": 40, "depthshade": False}
    near = marks @ VIEWER > 0
    axes.scatter(*marks[near].T, label="poles: the bounds" if is_range else "prototypes", **dots)
    axes.scatter(*marks[~near].T, alpha=0.35, **dots)
    if is_range:
        axes.plot(*_equator().T, color=CIRCLE, label="its value: cosine 0 to the upper pole")
    else:
        ring = {"facecolors": "none", "edgecolors": PATH, "linewidths": 2, "s": 110}
        axes.scatter(*marks[0], label="the prototype of its class", depthshade=False, **ring)
    axes.plot(*path.T, color=PATH, linewidth=2, label="the output, moved by the gradient")
    axes.scatter(*path[-1], color=PATH, s=30, depthshade=False)


def write_idea_page(looks: Sequence[tuple[str, Look]], path: str | Path, *, title: str) -> None:
    """Write a page with each sphere to turn with the mouse; it needs no network."""
    io_module = require("plotly.io", extra="plots", purpose="Writing the interactive page")
    parts = [
        f"<h2>{html.escape(name)}</h2>"
        + io_module.to_html(
            _figure(look), include_plotlyjs=index == 0, full_html=False, config={"displaylogo": False}
        )
        for index, (name, look) in enumerate(looks)
    ]
    page = f"{page_head(title)}</head><body><h1>{html.escape(title)}</h1>"
    with replacing(path) as beside:
        beside.write_text(page + "\n".join(parts) + "</body></html>\n", encoding="utf-8")


def _figure(look: Look) -> dict[str, Any]:
    marks = {"mode": "markers", "marker": {"size": 5, "color": MARK}, **coordinates(_points(look["marks"]))}
    way = {"mode": "lines", "line": {"width": 6, "color": PATH}, **coordinates(_points(look["path"]))}
    circle = {"mode": "lines", "line": {"width": 4, "color": CIRCLE}, **coordinates(_equator())}
    shown = [marks, way] + ([circle] if look["target"] == 0 else [])
    hidden = {"visible": False}
    scene = {"xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "aspectmode": "cube"}
    data = [{"type": "scatter3d", "hoverinfo": "skip", **held} for held in shown]
    return {"data": [*data, sphere_grid()], "layout": {"showlegend": False, "height": 520, "scene": scene}}


def _points(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows, dtype=np.float64)[:, POLE_UP]


def _equator() -> NDArray[np.float64]:
    angles = np.linspace(0, 2 * np.pi, 120)
    return np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)


def _draw_sphere(axes: Any) -> None:
    up, around = np.meshgrid(np.linspace(0, np.pi, 13), np.linspace(0, 2 * np.pi, 25))
    ball = np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)
    axes.plot_wireframe(*ball, color="#999999", alpha=0.25, linewidth=0.5)
    axes.view_init(elev=ELEVATION, azim=AZIMUTH)
    axes.set_box_aspect((1, 1, 1), zoom=1.5)
    axes.set_axis_off()
