"""One self-contained page: placed classes to turn, and the neighbours of each in the prior and in the placement."""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.extras import require
from hyperproto._version import __version__
from hyperproto.report.facts import fact_rows
from hyperproto.report.html_page import write_page
from hyperproto.report.named_vectors import named_vectors
from hyperproto.report.neighbour_print import overlap_sentence
from hyperproto.report.neighbours import Neighbour, NeighbourTable, compare_neighbours
from hyperproto.report.placement_scene import scene
from hyperproto.report.projection import project

__all__ = ["write_placement_page"]

TEMPLATE = Path(__file__).with_name("placement_page.html")
PLOT = {"displaylogo": False, "responsive": True, "scrollZoom": True}


def write_placement_page(
    prototypes: Any,
    path: str | Path,
    *,
    title: str,
    names: Sequence[str] | None = None,
    similarity: Any = None,
    known: Any = None,
    groups: Sequence[object] | None = None,
    k: int = 5,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write the page. It needs no network, and ``#class=rose`` in its address shows the class "rose".

    Parameters
    ----------
    prototypes : Prototypes, or array of shape (K, D)
        What was placed: unit rows. More than three dimensions are projected, and the page says with what error.
    path : str or Path
        Where to write.
    title : str
        The page's title.
    names : sequence of str, optional
        One name a class; the prototypes' own by default, or their numbers.
    similarity : array, shape (K, K), optional
        The prior, larger being nearer; without it only the placement's neighbours are shown.
    known : array of bool, shape (K,), optional
        Classes the prior knows; all by default.
    groups : sequence, length K, optional
        Classes of one group share a colour; :func:`~hyperproto.report.groups.prior_groups` makes groups of a prior.
    k : int, default 5
        How many neighbours on each side.
    facts : mapping, optional
        What to list beside the picture, nested or not; the prototypes' certificate by default.
    """
    writer = require("plotly.io", extra="plots", purpose="Writing the interactive page")
    vectors, names = named_vectors(prototypes, names)
    table = compare_neighbours(vectors, similarity, names=names, known=known, k=k)
    projection = project(vectors, min(3, vectors.shape[1]))
    figure = writer.to_html(
        scene(projection.points, names, groups, sphere=projection.is_exact),
        include_plotlyjs=True,
        full_html=False,
        div_id="placement",
        config=PLOT,
    )
    if facts is None:
        certificate = getattr(prototypes, "certificate", None)
        facts = certificate.to_dict() if certificate is not None else {}
    write_page(
        path,
        TEMPLATE,
        title,
        {
            "DATA": json.dumps(_data(table, projection.points)).replace("<", "\\u003c"),
            "FACTS": _fact_table({"classes": len(names), "dim": vectors.shape[1], **facts}),
            "OVERLAP": html.escape(overlap_sentence(table)),
            "SENTENCE": html.escape(projection.sentence),
            "VERSION": __version__,
            "FIGURE": figure,
        },
    )


def _data(table: NeighbourTable, points: NDArray[np.float64]) -> dict[str, Any]:
    """Return what the page's script works with; neighbours are [class, value] pairs."""
    number = {row.name: i for i, row in enumerate(table.rows)}

    def pairs(neighbours: tuple[Neighbour, ...] | None) -> list[list[float]] | None:
        return None if neighbours is None else [[number[n.name], round(n.value, 3)] for n in neighbours]

    return {
        "names": [row.name for row in table.rows],
        "points": points.round(4).tolist(),
        "prior": [pairs(row.prior) for row in table.rows],
        "placement": [pairs(row.placement) for row in table.rows],
        "tied": [row.tied for row in table.rows],
        "hasPrior": table.overlap is not None,
    }


def _fact_table(facts: Mapping[str, Any]) -> str:
    rows = (f"<tr><th>{html.escape(n)}</th><td>{html.escape(v)}</td></tr>" for n, v in fact_rows(facts))
    return "".join(rows)
