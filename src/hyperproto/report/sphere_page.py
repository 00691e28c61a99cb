"""One self-contained page: the sphere to turn with the mouse, and the image of the point under it."""

import base64
import html
import io
from pathlib import Path
from typing import Any

import numpy as np

from hyperproto.report.pages import coordinates, plot_html, sphere_grid, write_page
from hyperproto.report.pictures import CLASS_COLORS
from hyperproto.report.sphere_picture import SphereView

__all__ = ["write_sphere_page"]

TEMPLATE = Path(__file__).with_name("sphere_page.html")
CAMERA = {"eye": {"x": 1.0, "y": 0.8, "z": 0.5}}
COLUMNS = 32  # images in a row of the sheet that holds them all


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
    hidden = {"visible": False}
    layout = {
        "showlegend": False,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "scene": {"xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "aspectmode": "cube", "camera": CAMERA},
        "updatemenus": [menu],
    }
    data = [
        {**cloud, "marker": {"color": view.colors.tolist(), "size": 4}, "visible": True},
        {**cloud, "marker": {**by_value, "size": 4}, "visible": False},
        names,
        sphere_grid(),
    ]
    return {"data": data, "layout": layout}


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
