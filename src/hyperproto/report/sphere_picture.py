"""Outputs on S²: what there is to draw, as plain arrays, and a still picture of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto.report.pictures import CLASS_COLORS, new_picture

__all__ = ["SphereView", "draw_sphere", "sphere_panel"]

ELEVATION, AZIMUTH = 22, 35  # degrees: where the viewer stands


@dataclass(frozen=True, eq=False)
class SphereView:
    """Outputs of a joint task on S², the pole pointing up: the one input of the picture and of the page.

    Attributes
    ----------
    points : array, shape (n, 3)
        Unit outputs: the range's axis first, as the space orders them.
    labels : array of int, shape (n,)
        True class of each point.
    values : array, shape (n,)
        True number of each point.
    prototypes : array, shape (num_classes, 2)
        Class prototypes in the plane of the last two axes.
    names : tuple of str
        Class names.
    value_name : str
        What the number is, with its unit.
    images : array of uint8, shape (n, height, width)
        The image of each point.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    values: NDArray[np.float64]
    prototypes: NDArray[np.float64]
    names: tuple[str, ...]
    value_name: str
    images: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] != 3:
            raise InputError("points", "lie on S², of shape (n, 3)", self.points.shape)

    @property
    def xyz(self) -> NDArray[np.float64]:
        """The points with the pole along z, as the paper draws them. Shape (n, 3)."""
        return self.points[:, [1, 2, 0]]

    @property
    def prototypes_xyz(self) -> NDArray[np.float64]:
        """The prototypes on the equator. Shape (num_classes, 3)."""
        return np.column_stack([self.prototypes, np.zeros(len(self.prototypes))])

    @property
    def colors(self) -> NDArray[np.str_]:
        """The color of each point's class. Shape (n,)."""
        return np.array(CLASS_COLORS)[self.labels % len(CLASS_COLORS)]


def draw_sphere(view: SphereView, path: str | Path, *, title: str = "") -> None:
    """Draw the points twice, colored by the number and by the class, and write PNG or SVG."""
    with new_picture(path, 11, 5.6) as figure:
        if title:
            figure.suptitle(title)
        by_value = sphere_panel(figure, 121, f"Colored by {view.value_name}")
        by_class = sphere_panel(figure, 122, "Colored by class")
        limits = {"cmap": "viridis", "vmin": view.values.min(), "vmax": view.values.max()}
        up, around = np.deg2rad([ELEVATION, AZIMUTH])
        viewer = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
        in_front = view.xyz @ viewer > 0
        for side, alpha in ((~in_front, 0.08), (in_front, 0.95)):  # what lies behind shines through
            style = {"s": 10, "depthshade": False, "alpha": alpha, "linewidths": 0}
            cloud = by_value.scatter(*view.xyz[side].T, c=view.values[side], **limits, **style)
            by_class.scatter(*view.xyz[side].T, c=view.colors[side], **style)
        figure.colorbar(cloud, ax=by_value, shrink=0.6, label=view.value_name, pad=0.02)
        for index, name in enumerate(view.names):
            color = CLASS_COLORS[index % len(CLASS_COLORS)]
            x, y, z = view.prototypes_xyz[index]
            for panel in (by_value, by_class):
                panel.plot([0, x], [0, y], [0, z], color=color, linewidth=1)
                panel.text(1.18 * x, 1.18 * y, z, name, color=color, ha="center", va="center", weight="bold")


def sphere_panel(figure: Any, position: int, title: str) -> Any:
    """Add an empty sphere: a light grid, no axes."""
    panel = figure.add_subplot(position, projection="3d")
    across, down = np.mgrid[0 : 2 * np.pi : 37j, 0 : np.pi : 19j]
    grid = np.cos(across) * np.sin(down), np.sin(across) * np.sin(down), np.cos(down)
    panel.plot_wireframe(*grid, color="#999999", linewidth=0.25, alpha=0.5)
    panel.set_box_aspect((1, 1, 1), zoom=1.45)
    panel.set_axis_off()
    panel.view_init(elev=ELEVATION, azim=AZIMUTH)
    panel.set_title(title)
    return panel
