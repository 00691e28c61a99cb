"""One self-contained page: the sphere to turn with the mouse, and the image behind the point under it."""

import base64
import html
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from hyperproto._core.extras import require
from hyperproto._version import __version__
from hyperproto.report.html_page import write_page
from hyperproto.report.sphere_grid import coordinates, sphere_grid
from hyperproto.report.sphere_picture import CLASS_COLOURS
from hyperproto.report.sphere_view import SphereView

__all__ = ["write_sphere_page"]

TEMPLATE = Path(__file__).with_name("sphere_page.html")
CAMERA = {"eye": {"x": 1.0, "y": 0.8, "z": 0.5}}
COLUMNS = 32  # images in a row of the sheet that holds them all


def write_sphere_page(view: SphereView, path: str | Path, *, title: str) -> None:
    """Write the page. It needs no network, and ``#point=17`` in its address shows point 17."""
    io_module = require("plotly.io", extra="plots", purpose="Writing the interactive page")
    figure = io_module.to_html(
        _figure(view),
        include_plotlyjs=True,
        full_html=False,
        div_id="sphere",
        config={"displaylogo": False, "responsive": True},
    )
    height, width = view.images.shape[1:]
    facts = {
        "sheet": _image_sheet(view),
        "columns": COLUMNS,
        "width": width,
        "height": height,
        "names": [view.names[label] for label in view.labels],
        "values": [round(float(value), 1) for value in view.values],
        "valueName": view.value_name,
    }
    parts = {"FACTS": json.dumps(facts).replace("<", "\\u003c"), "VERSION": __version__, "FIGURE": figure}
    write_page(path, TEMPLATE, title, parts)


def _figure(view: SphereView) -> dict[str, Any]:
    """Describe the plot: two clouds, one for each colouring, of which a button shows one."""
    ids = list(range(len(view.points)))
    by_class = [CLASS_COLOURS[label % len(CLASS_COLOURS)] for label in view.labels]
    by_value = {
        "color": view.values.tolist(),
        "colorscale": "Viridis",
        "colorbar": {"title": view.value_name},
    }
    clouds = [
        _cloud(view.xyz, ids, {"color": by_class, "size": 4}, visible=True),
        _cloud(view.xyz, ids, {**by_value, "size": 4}, visible=False),
    ]
    names = {
        "type": "scatter3d",
        "mode": "text",
        "text": [html.escape(name) for name in view.names],
        "textfont": {
            "size": 20,
            "color": [CLASS_COLOURS[i % len(CLASS_COLOURS)] for i in range(len(view.names))],
        },
        "hoverinfo": "skip",
        **coordinates(1.15 * view.prototypes_xyz),
    }
    hidden = {"visible": False}
    buttons = [
        {"label": label, "method": "restyle", "args": [{"visible": [*shown, True, True]}]}
        for label, shown in (("by class", [True, False]), (f"by {view.value_name}", [False, True]))
    ]
    layout = {
        "showlegend": False,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "scene": {"xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "aspectmode": "cube", "camera": CAMERA},
        "updatemenus": [
            {
                "type": "buttons",
                "direction": "right",
                "x": 0.02,
                "y": 0.98,
                "xanchor": "left",
                "buttons": buttons,
            }
        ],
    }
    return {"data": [*clouds, names, sphere_grid()], "layout": layout}


def _cloud(xyz: Any, ids: list[int], marker: dict[str, Any], *, visible: bool) -> dict[str, Any]:
    shape = {"type": "scatter3d", "mode": "markers", "hoverinfo": "none", "visible": visible}
    return {**shape, **coordinates(xyz), "customdata": ids, "marker": marker}


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
