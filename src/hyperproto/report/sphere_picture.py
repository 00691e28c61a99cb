"""A still picture of outputs on S²: once coloured by the number, once by the class."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.picture_format import picture_format
from hyperproto.report.sphere_view import SphereView

__all__ = ["CLASS_COLOURS", "draw_sphere"]

ELEVATION, AZIMUTH = 22, 35  # degrees: where the viewer stands
# colours that stay apart for most kinds of colour blindness (Okabe and Ito), black left out
CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")


def draw_sphere(view: SphereView, path: str | Path, *, title: str = "") -> None:
    """Draw both colourings side by side and write them as PNG or SVG."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing the sphere")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title)
    by_value = _panel(figure, 121, f"Coloured by {view.value_name}")
    by_class = _panel(figure, 122, "Coloured by class")
    colours = np.array([CLASS_COLOURS[label % len(CLASS_COLOURS)] for label in view.labels])
    limits = {"cmap": "viridis", "vmin": view.values.min(), "vmax": view.values.max()}
    in_front = view.xyz @ _towards_viewer() > 0
    for side, alpha in ((~in_front, 0.08), (in_front, 0.95)):  # what lies behind shines through
        style = {"s": 10, "depthshade": False, "alpha": alpha, "linewidths": 0}
        cloud = by_value.scatter(*view.xyz[side].T, c=view.values[side], **limits, **style)
        by_class.scatter(*view.xyz[side].T, c=colours[side], **style)
    figure.colorbar(cloud, ax=by_value, shrink=0.6, label=view.value_name, pad=0.02)
    for index, name in enumerate(view.names):
        colour = CLASS_COLOURS[index % len(CLASS_COLOURS)]
        x, y, z = view.prototypes_xyz[index]
        for panel in (by_value, by_class):
            panel.plot([0, x], [0, y], [0, z], color=colour, linewidth=1)
            panel.text(1.18 * x, 1.18 * y, z, name, color=colour, ha="center", va="center", weight="bold")
    with replacing(path) as beside:
        figure.savefig(beside, format=form)


def _towards_viewer() -> NDArray[np.float64]:
    up, around = np.deg2rad([ELEVATION, AZIMUTH])
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _panel(figure: Any, position: int, title: str) -> Any:
    """Add an empty sphere: a light grid, no axes."""
    panel = figure.add_subplot(position, projection="3d")
    across, down = np.mgrid[0 : 2 * np.pi : 37j, 0 : np.pi : 19j]
    panel.plot_wireframe(
        np.cos(across) * np.sin(down),
        np.sin(across) * np.sin(down),
        np.cos(down),
        color="#999999",
        linewidth=0.25,
        alpha=0.5,
    )
    panel.set_box_aspect((1, 1, 1), zoom=1.45)
    panel.set_axis_off()
    panel.view_init(elev=ELEVATION, azim=AZIMUTH)
    panel.set_title(title)
    return panel
