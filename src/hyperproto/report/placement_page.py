"""One self-contained page: placed classes to turn, and the neighbors of each in the prior and in the placement."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes
from hyperproto.report.groups import colors_of
from hyperproto.report.neighbors import Neighbor, NeighborTable, compare_neighbors, overlap_sentence
from hyperproto.report.pages import SCENE, certificate_rows, coordinates, plot_html, sphere_grid, write_page
from hyperproto.report.projection import project

TEMPLATE = Path(__file__).with_name("placement_page.html")
NAMED = 400  # classes up to which every name is written; beyond, names come with the pointer
PRIOR_LINE, PLACEMENT_LINE = "#D55E00", "#0072B2"

Array = NDArray[np.float64]


def write_placement_page(
    prototypes: Prototypes,
    path: str | Path,
    *,
    title: str,
    prior: Prior | None = None,
    groups: Sequence[object] | None = None,
    k: int = 5,
) -> None:
    """Write the page. It needs no network, and ``#class=rose`` in its address shows the class "rose".

    Parameters
    ----------
    prototypes : Prototypes
        What was placed, listed with its certificate. More than three dimensions are projected, and the page says
        with what error.
    path : str or Path
        Where to write.
    title : str
        The page's title.
    prior : Prior, optional
        What is known about the classes; without it only the placement's neighbors are shown.
    groups : sequence, length K, optional
        Classes of one group share a color; :func:`~hyperproto.report.groups.prior_groups` makes groups of a prior.
    k : int, default 5
        How many neighbors on each side.
    """
    table = compare_neighbors(prototypes, prior, k=k)
    projection = project(prototypes.vectors.numpy(force=True), min(3, prototypes.dim))
    names = [row.name for row in table.rows]
    points = np.pad(projection.points, ((0, 0), (0, 3 - projection.points.shape[1])))  # a circle lies on the sphere
    figure = _scene(points, names, groups, sphere=projection.is_exact)
    facts = {"classes": str(prototypes.num_classes), "dimensions": str(prototypes.dim)}
    facts |= certificate_rows(prototypes.certificate)
    parts = {
        "FACTS": "".join(f"<tr><th>{n}</th><td>{html.escape(v)}</td></tr>" for n, v in facts.items()),
        "OVERLAP": html.escape(overlap_sentence(table)),
        "SENTENCE": html.escape(projection.sentence),
        "FIGURE": plot_html(figure, name="placement", scrollZoom=True),
    }
    write_page(path, TEMPLATE, title, _data(table, points), parts)


def _data(table: NeighborTable, points: Array) -> dict[str, Any]:
    """Return what the page's script works with; neighbors are [class, value] pairs."""
    number = {row.name: i for i, row in enumerate(table.rows)}

    def pairs(neighbors: tuple[Neighbor, ...] | None) -> list[list[float]] | None:
        return None if neighbors is None else [[number[n.name], round(n.value, 3)] for n in neighbors]

    return {
        "names": [row.name for row in table.rows],
        "points": points.round(4).tolist(),
        "prior": [pairs(row.prior) for row in table.rows],
        "placement": [pairs(row.placement) for row in table.rows],
        "tied": [row.tied for row in table.rows],
        "hasPrior": table.overlap is not None,
    }


def _scene(points: Array, names: Sequence[str], groups: Sequence[object] | None, *, sphere: bool) -> dict[str, Any]:
    """Return data and layout for classes at points (K, 3), with the grid of the sphere where they are on it.

    The first two traces are the lines that the page's script fills. Classes of one group are one trace, and so can
    be hidden together in the legend.
    """
    data: list[dict[str, Any]] = [
        {"type": "scatter3d", "mode": "lines", "line": {"color": color, "width": width, "dash": dash}, "name": name}
        | {"hoverinfo": "skip", "showlegend": False, "x": [], "y": [], "z": []}
        for name, color, width, dash in (("prior", PRIOR_LINE, 3, "dot"), ("placement", PLACEMENT_LINE, 4, "solid"))
    ]
    data += [sphere_grid()] if sphere else []
    labels = np.array([""] * len(names) if groups is None else [str(group) for group in groups], dtype=object)
    for label, color in colors_of(groups, len(names)).items():
        ids = np.flatnonzero(labels == label).tolist()
        escaped = [html.escape(names[i]) for i in ids]
        cloud = {
            "type": "scatter3d",
            "mode": "markers+text" if len(names) <= NAMED else "markers",
            "text": escaped,
            "hovertext": escaped,
            "hoverinfo": "text",
            "textposition": "top center",
            "textfont": {"size": 11, "color": color},
            "marker": {"size": 4, "color": color},
            "customdata": ids,
            "name": html.escape(label),
        }
        data.append(cloud | coordinates(points[ids]))
    legend = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "font": {"size": 11}}
    return {"data": data, "layout": SCENE | {"showlegend": groups is not None, "legend": legend}}
