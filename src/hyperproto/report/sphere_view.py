"""Outputs on S²: a still picture, and a page to turn with the mouse that shows the image of the
point under it.
"""

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain
from hyperproto.codes.certificate import Certificate
from hyperproto.report import pages
from hyperproto.report.projection import nearest

ELEVATION, AZIMUTH = 22, 35  # degrees: where the viewer stands
FIRST = 2  # the trace of the first class, after those of the sphere
COLUMNS = 32  # images in a row of the sheet that holds them all


@dataclass(frozen=True, eq=False)
class SphereView:
    """Outputs on S², the first axis pointing up: the one input of the picture and of the page.

    Attributes
    ----------
    points : array, shape (n, 3) or (epochs, n, 3)
        Unit outputs, of the end of training or after each of the first epochs; the axis of a range
        is first, as the space orders them.
    labels : array of int, shape (n,)
        True class of each point.
    prototypes : array, shape (num_classes, 2) or (num_classes, 3)
        Class prototypes; of two numbers, in the plane of the last two axes.
    names : tuple of str
        Class names.
    values : array, shape (n,), optional
        True number of each point.
    value_name : str
        What the number is, with its unit.
    images : array of uint8, shape (n, height, width), optional
        The image of each point.
    certificate : Certificate, optional
        That of the prototypes, which the page lists.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    prototypes: NDArray[np.float64]
    names: tuple[str, ...]
    values: NDArray[np.float64] | None = None
    value_name: str = ""
    images: NDArray[np.uint8] | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        shape = self.points.shape
        if len(shape) not in (2, 3) or shape[-1] != 3:
            raise InputError("points", "lie on S², of shape (n, 3) or (epochs, n, 3)", shape)
        for name in ("labels", "values", "images"):
            given = getattr(self, name)
            if given is not None and len(given) != shape[-2]:
                raise InputError(name, f"be as many as the {shape[-2]} points", len(given))

    @property
    def frames(self) -> NDArray[np.float64]:
        """The points with the first axis along z, as the paper draws them. Shape (epochs, n, 3)."""
        return self.points.reshape(-1, *self.points.shape[-2:])[..., [1, 2, 0]]

    @property
    def xyz(self) -> NDArray[np.float64]:
        """The points of the last epoch. Shape (n, 3)."""
        return self.frames[-1]

    @property
    def prototypes_xyz(self) -> NDArray[np.float64]:
        """The prototypes, on the equator where the pole is that of a range. Shape (num_classes,
        3).
        """
        if self.prototypes.shape[1] == 2:
            return np.pad(self.prototypes, ((0, 0), (0, 1)))
        return self.prototypes[:, [1, 2, 0]]

    @property
    def colors(self) -> NDArray[np.str_]:
        """The color of each point's class. Shape (n,)."""
        return np.array(pages.class_colors(len(self.names)))[self.labels]


def draw_sphere(view: SphereView, path: str | Path, *, title: str = "") -> None:
    """Draw the points colored by the class and, where they have one, by the number, and write PNG
    or SVG.
    """
    colorings = {} if view.values is None else {f"Colored by {view.value_name}": view.values}
    count = 1 + len(colorings)
    in_front = view.xyz @ viewer_from(ELEVATION, AZIMUTH) > 0
    with pages.new_picture(path, 5.5 * count, 5.6) as figure:
        if title:
            figure.suptitle(title)
        every = colorings | {"Colored by class": view.colors}
        for place, (about, colors) in enumerate(every.items(), start=1):
            panel = sphere_panel(figure, 100 + 10 * count + place, about)
            limits: Plain = {}
            if colors is view.values:
                limits = {"cmap": "viridis", "vmin": colors.min(), "vmax": colors.max()}
            # what lies behind shines through
            for side, alpha in ((~in_front, 0.08), (in_front, 0.95)):
                style = {"s": 10, "depthshade": False, "alpha": alpha, "linewidths": 0}
                cloud = panel.scatter(*view.xyz[side].T, c=colors[side], **limits, **style)
            if limits:
                figure.colorbar(cloud, ax=panel, shrink=0.6, label=view.value_name, pad=0.02)
            named = zip(view.names, pages.class_colors(len(view.names)), strict=True)
            for point, (name, color) in zip(view.prototypes_xyz, named, strict=True):
                panel.plot(*np.outer(point, [0, 1]), color=color, linewidth=1)
                look = {"ha": "center", "va": "center", "weight": "bold"}
                panel.text(*(1.18 * point), name, color=color, **look)


def viewer_from(elevation: float, azimuth: float) -> NDArray[np.float64]:
    """Return the direction in which the viewer stands, from two angles in degrees. Shape (3,)."""
    up, around = np.deg2rad([elevation, azimuth])
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def sphere_panel(figure: Any, position: int, title: str) -> Any:
    """Add an empty sphere: a light grid, no axes."""
    panel = figure.add_subplot(position, projection="3d")
    grid = pages.ball(across=37, down=19)
    panel.plot_wireframe(*grid, color="#999999", linewidth=0.25, alpha=0.5)
    panel.set_box_aspect((1, 1, 1), zoom=1.45)
    panel.set_axis_off()
    panel.view_init(elev=ELEVATION, azim=AZIMUTH)
    panel.set_title(title)
    return panel


def write_sphere_page(view: SphereView, path: str | Path, *, title: str) -> None:
    """Write the page. It needs no network; ``#point=17&epoch=2`` in its address shows point 17 as
    after epoch 2.
    """
    frames = view.frames.round(3)
    data: Plain = {
        "frames": frames.swapaxes(1, 2).tolist() if len(frames) > 1 else [],
        "epochs": list(range(1, len(frames) + 1)),
        "first": FIRST,
        "labels": view.labels.tolist(),
        "names": view.names,
        "values": None if view.values is None else view.values.round(1).tolist(),
        "valueName": view.value_name,
    }
    if view.images is not None:
        height, width = view.images.shape[1:]
        sheet = pages.image_sheet(view.images, COLUMNS)
        data |= {"sheet": sheet, "columns": COLUMNS, "width": width, "height": height}
    facts = {} if view.certificate is None else pages.certificate_rows(view.certificate)
    parts = {
        "FIGURE": pages.plot_html(_figure(view), name="sphere"),
        "FACTS": pages.table_html(facts.items()),
    }
    pages.write_page(path, "sphere_page.html", title, data, parts)


def _figure(view: SphereView) -> Plain:
    """Describe the plot: one cloud for each class, which the legend switches, the prototypes, and
    the sphere.
    """
    # the sphere first: plotly takes what was drawn last for what is under the pointer
    data = [pages.sphere_surface(), pages.sphere_grid()]
    rows = [np.flatnonzero(view.labels == index) for index in range(len(view.names))]
    colors = pages.class_colors(len(view.names))
    legend = []  # its colors stay those of the classes when the points are colored by a number
    for name, color, some in zip(view.names, colors, rows, strict=True):
        about = {"name": html.escape(name), "legendgroup": name}
        cloud = pages.scatter(
            view.xyz[some],
            "markers",
            hoverinfo="none",
            showlegend=False,
            marker={"color": color, "size": 4, "coloraxis": "coloraxis"},
            customdata=some.tolist(),
            **about,
        )
        data.append(cloud)
        nowhere = np.full((1, 3), np.nan)
        legend.append(pages.scatter(nowhere, "markers", marker={"color": color}, **about))
    over = {
        "x": 0.99,
        "xanchor": "right",
        "y": 0.93,
        "bgcolor": "rgba(255, 255, 255, 0.6)",
        "itemsizing": "constant",
    }
    layout = pages.SCENE | {"showlegend": True, "legend": over}
    if view.values is not None:
        layout |= _colorings(view, view.values, [view.values[some].tolist() for some in rows])
    return {"data": [*data, _prototypes(view), *legend], "layout": layout}


def _colorings(view: SphereView, values: NDArray[np.float64], by_class: list[list[float]]) -> Plain:
    """Describe the scale of a number, and the buttons that color the clouds by it or by class."""
    colors = pages.class_colors(len(view.names))
    ways = {"by class": (colors, False), f"by {view.value_name}": (by_class, True)}
    clouds = list(range(FIRST, FIRST + len(by_class)))
    buttons = [
        {
            "label": html.escape(label),
            "method": "update",
            "args": [{"marker.color": way}, {"coloraxis.showscale": scale}, clouds],
        }
        for label, (way, scale) in ways.items()
    ]
    title = {"text": html.escape(view.value_name), "side": "right"}
    menu = {"type": "buttons", "direction": "right", "x": 0.02, "y": 0.98, "xanchor": "left"}
    return {
        "coloraxis": {
            "colorscale": "Viridis",
            "colorbar": {"title": title, "len": 0.6, "x": 0, "y": 0.4},
            "showscale": False,
            "cmin": float(values.min()),
            "cmax": float(values.max()),
        },
        "updatemenus": [menu | {"buttons": buttons}],
    }


def _prototypes(view: SphereView) -> Plain:
    """Describe the prototypes, each with its name outside of the sphere, and how far the nearest
    other one is.
    """
    spots, names = view.prototypes_xyz, view.names
    ids, cosines, _ = nearest(spots @ spots.T, np.arange(len(spots)), 1)
    angles = np.degrees(np.arccos(np.clip(cosines[:, 0], -1, 1)))
    line = {"color": "#222222", "width": 1}
    return pages.scatter(
        1.08 * spots,
        "markers+text",
        name="prototypes",
        marker={
            "symbol": "diamond",
            "size": 6,
            "color": pages.class_colors(len(names)),
            "line": line,
        },
        text=[pages.scene_text(name) for name in names],
        textfont={"size": 18, "color": "#111111"},
        hoverinfo="text",
        hovertext=[
            html.escape(f"prototype of {name}, {angle:.1f}° from that of {names[other]}")
            for name, angle, other in zip(names, angles, ids[:, 0], strict=True)
        ],
    )
