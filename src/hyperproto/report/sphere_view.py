"""Outputs on S²: a still picture, and a page to turn with the mouse that shows the image of the point under it."""

import base64
import html
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto.report.pages import CLASS_COLORS, SCENE, coordinates, new_picture, plot_html, sphere_grid, write_page

ELEVATION, AZIMUTH = 22, 35  # degrees: where the viewer stands
TEMPLATE = Path(__file__).with_name("sphere_page.html")
COLUMNS = 32  # images in a row of the sheet that holds them all


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


def write_sphere_page(view: SphereView, path: str | Path, *, title: str) -> None:
    """Write the page. It needs no network, and ``#point=17`` in its address shows point 17."""
    height, width = view.images.shape[1:]
    data = {
        "sheet": _image_sheet(view),
        "columns": COLUMNS,
        "width": width,
        "height": height,
        "names": [view.names[label] for label in view.labels],
        "values": [round(float(value), 1) for value in view.values],
        "valueName": view.value_name,
    }
    write_page(path, TEMPLATE, title, data, {"FIGURE": plot_html(_figure(view), name="sphere")})


def _figure(view: SphereView) -> dict[str, Any]:
    """Describe the plot: two clouds, one for each coloring, of which a button shows one."""
    by_value = {"color": view.values.tolist(), "colorscale": "Viridis", "colorbar": {"title": view.value_name}}
    cloud: dict[str, Any] = {"type": "scatter3d", "mode": "markers", "hoverinfo": "none", **coordinates(view.xyz)}
    cloud["customdata"] = list(range(len(view.points)))
    colors = [CLASS_COLORS[i % len(CLASS_COLORS)] for i in range(len(view.names))]
    names = {
        "type": "scatter3d",
        "mode": "text",
        "text": [html.escape(name) for name in view.names],
        "textfont": {"size": 20, "color": colors},
        "hoverinfo": "skip",
        **coordinates(1.15 * view.prototypes_xyz),
    }
    buttons = [
        {"label": label, "method": "restyle", "args": [{"visible": [*shown, True, True]}]}
        for label, shown in (("by class", [True, False]), (f"by {view.value_name}", [False, True]))
    ]
    menu = {"type": "buttons", "direction": "right", "x": 0.02, "y": 0.98, "xanchor": "left", "buttons": buttons}
    data = [
        {**cloud, "marker": {"color": view.colors.tolist(), "size": 4}, "visible": True},
        {**cloud, "marker": {**by_value, "size": 4}, "visible": False},
        names,
        sphere_grid(),
    ]
    return {"data": data, "layout": SCENE | {"showlegend": False, "updatemenus": [menu]}}


def _image_sheet(view: SphereView) -> str:
    """Return all images side by side as one PNG in a data address."""
    from PIL import Image

    count, height, width = view.images.shape
    rows = -(-count // COLUMNS)
    cells = np.zeros((rows * COLUMNS, height, width), dtype=np.uint8)
    cells[:count] = view.images
    sheet = cells.reshape(rows, COLUMNS, height, width).swapaxes(1, 2).reshape(rows * height, COLUMNS * width)
    buffer = io.BytesIO()
    Image.fromarray(sheet).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
