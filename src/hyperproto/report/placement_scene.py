"""The plot inside the page of a placement, as plotly takes it: classes, their names, and lines to neighbours."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto.report.groups import colours_of
from hyperproto.report.sphere_grid import coordinates, sphere_grid

__all__ = ["scene"]

Array = NDArray[np.float64]

NAMED = 400  # classes up to which every name is written; beyond, names come with the pointer
PRIOR_LINE, PLACEMENT_LINE = "#D55E00", "#0072B2"
CAMERA = {"eye": {"x": 1.1, "y": 0.85, "z": 0.5}}


def scene(points: Array, names: Sequence[str], groups: Sequence[object] | None, *, sphere: bool) -> dict[str, Any]:
    """Return data and layout. The first two traces are the lines that the page's script fills.

    Parameters
    ----------
    points : array, shape (K, 2) or (K, 3)
        Where the classes are.
    names : sequence of str
        One a class.
    groups : sequence, length K, optional
        Classes of one group are one trace, and so can be hidden together in the legend.
    sphere : bool
        Whether the points lie on the circle or sphere, which is then drawn.
    """
    flat = points.shape[1] == 2
    kind = "scatter" if flat else "scatter3d"
    empty: dict[str, Any] = {axis: [] for axis in ("xy" if flat else "xyz")}
    lines = [
        {"type": kind, "mode": "lines", "line": {"color": colour, "width": width, "dash": dash}, "name": name}
        | {"hoverinfo": "skip", "showlegend": False, **empty}
        for name, colour, width, dash in (("prior", PRIOR_LINE, 3, "dot"), ("placement", PLACEMENT_LINE, 4, "solid"))
    ]
    clouds = []
    labels = np.array([""] * len(names) if groups is None else [str(group) for group in groups], dtype=object)
    for label, colour in colours_of(groups, len(names)).items():
        ids = [int(i) for i in np.flatnonzero(labels == label)]
        clouds.append(_cloud(kind, points, ids, [names[i] for i in ids], label, colour, len(names)))
    guides = [_ring() if flat else sphere_grid()] if sphere else []
    return {"data": [*lines, *guides, *clouds], "layout": _layout(flat=flat, legend=groups is not None)}


def _cloud(
    kind: str, points: Array, ids: list[int], names: list[str], label: str, colour: str, count: int
) -> dict[str, Any]:
    escaped = [html.escape(name) for name in names]
    return {
        "type": kind,
        "mode": "markers+text" if count <= NAMED else "markers",
        "text": escaped,
        "hovertext": escaped,
        "hoverinfo": "text",
        "textposition": _sides(points[ids]) if kind == "scatter" else "top center",
        "textfont": {"size": 11, "color": colour},
        "marker": {"size": 4 if kind == "scatter3d" else 8, "color": colour},
        "customdata": ids,
        "name": html.escape(label),
        **coordinates(points[ids]),
    }


def _sides(points: Array) -> list[str]:
    """Return the side of each dot away from the middle, where its name does not lie on the circle."""
    return [
        f"middle {'right' if x > 0 else 'left'}" if abs(x) > 0.3 else f"{'top' if y > 0 else 'bottom'} center"
        for x, y in points
    ]


def _ring() -> dict[str, Any]:
    turn = np.linspace(0, 2 * np.pi, 181)
    ring = coordinates(np.column_stack([np.cos(turn), np.sin(turn)]))
    return {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": {"color": "#cccccc", "width": 1}} | {
        "showlegend": False,
        **ring,
    }


def _layout(*, flat: bool, legend: bool) -> dict[str, Any]:
    hidden = {"visible": False}
    layout: dict[str, Any] = {
        "showlegend": legend,
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "font": {"size": 11}},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "hovermode": "closest",
        "plot_bgcolor": "#ffffff",
    }
    if flat:
        return layout | {"xaxis": hidden, "yaxis": {"visible": False, "scaleanchor": "x"}, "dragmode": "pan"}
    return layout | {
        "scene": {"xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "aspectmode": "data", "camera": CAMERA}
    }
