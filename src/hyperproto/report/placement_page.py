"""One self-contained page: placed classes to turn, and the neighbors of each in the prior and in
the placement.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_integer, names_or_numbers
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain
from hyperproto.codes.measure import row_blocks
from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes
from hyperproto.report import pages
from hyperproto.report.projection import nearest, project

NAMED = 400  # classes up to which every name is written; beyond, names come with the pointer
PLACEMENT_LINE = "#0072B2"

Array = NDArray[np.float64]
Neighbors = dict[str, list[Any]]


def write_placement_page(
    prototypes: Prototypes,
    path: str | Path,
    *,
    title: str,
    prior: Prior | None = None,
    k: int = 5,
) -> None:
    """Write the page. It needs no network, and ``#class=rose`` in its address shows the class
    "rose".

    Parameters
    ----------
    prototypes : Prototypes
        What was placed, listed with its certificate. More than three dimensions are projected, and
        the page says with what error.
    path : str or Path
        Where to write.
    title : str
        The page's title.
    prior : Prior, optional
        What is known about the classes; without it only the placement's neighbors are shown.
    k : int, default 5
        How many neighbors on each side.
    """
    neighbors = find_neighbors(prototypes, prior, k)
    projection = project(prototypes.vectors.numpy(force=True), min(3, prototypes.dim))
    names = names_or_numbers(prototypes.names, prototypes.num_classes)
    flat = 3 - projection.points.shape[1]  # a circle lies on the sphere
    points = np.pad(projection.points, ((0, 0), (0, flat)))
    figure = _scene(points, names, sphere=projection.is_exact)
    parts = {
        "FACTS": pages.table_html(pages.prototype_rows(prototypes).items()),
        "OVERLAP": html.escape(overlap_sentence(neighbors)),
        "SENTENCE": html.escape(projection.sentence),
        "FIGURE": pages.plot_html(figure, name="placement", scrollZoom=True),
    }
    drawn, has_prior = points.round(4).tolist(), any(neighbors["prior"])
    data = {"names": names, "points": drawn, "hasPrior": has_prior, **neighbors}
    pages.write_page(path, "placement_page.html", title, data, parts)


def find_neighbors(prototypes: Prototypes, prior: Prior | None, k: int) -> Neighbors:
    """Return the k nearest classes of each class by the "prior" and by the "placement", the nearest
    first.

    Each is a pair: the class, and the prior's similarity or the cosine of the prototypes. By the
    prior it is None for a class that the prior does not know. "tied" tells where others are placed
    as near as the last one listed, to three digits.
    """
    vectors, count = prototypes.vectors.numpy(force=True), prototypes.num_classes
    k = min(check_integer(k, "k", at_least=1), count - 1)
    known = np.zeros(count, dtype=bool) if prior is None else prior.known
    if len(known) != count:
        raise InputError(
            "prior", f"be for the {count} classes that were placed", f"one for {len(known)}"
        )
    in_prior = min(k, int(known.sum()) - 1)
    neighbors: Neighbors = {"prior": [], "placement": [], "tied": []}
    for block in row_blocks(count, count):
        own = np.arange(block.start, block.stop)
        ids, cosines, tied = nearest(vectors[own] @ vectors.T, own, k)
        neighbors["placement"] += np.stack([ids, cosines.round(3)], axis=2).tolist()
        neighbors["tied"] += tied.tolist()
        near: list[Any] = [None] * len(own)
        if prior is not None and in_prior > 0:
            similarity = np.where(known, prior.similarity[own], -np.inf)
            ids, values, _ = nearest(similarity, own, in_prior)
            near = np.stack([ids, values.round(3)], axis=2).tolist()
        neighbors["prior"] += [
            pairs if known[i] else None for i, pairs in zip(own, near, strict=True)
        ]
    return neighbors


def overlap_sentence(neighbors: Neighbors) -> str:
    """Return how far the neighbors by the prior and by the placement agree, and how far chance
    would.
    """
    shares = [
        len({i for i, _ in near} & {i for i, _ in placed}) / len(near)
        for near, placed in zip(neighbors["prior"], neighbors["placement"], strict=True)
        if near
    ]
    if not shares:
        return "There is no prior to compare with."
    k, others = len(neighbors["placement"][0]), len(neighbors["placement"]) - 1
    return (
        f"Of the {k} nearest in the prior, {np.mean(shares):.0%} are among the {k} nearest in "
        "the placement "
        f"(mean of {len(shares)} classes; by chance {k / others:.0%})."
    )


def _scene(points: Array, names: Sequence[str], *, sphere: bool) -> Plain:
    """Return data and layout for classes at points (K, 3), with the grid of the sphere where they
    are on it.

    The first two traces are the lines that the page's script fills.
    """
    lines = {
        "prior": {"color": "#D55E00", "width": 3, "dash": "dot"},
        "placement": {"color": PLACEMENT_LINE, "width": 4, "dash": "solid"},
    }
    data = [
        pages.scatter(points[:0], "lines", line=line, name=name, hoverinfo="skip", showlegend=False)
        for name, line in lines.items()
    ]
    data += [pages.sphere_grid(), pages.sphere_surface()] if sphere else []
    cloud = pages.scatter(
        points,
        "markers+text" if len(names) <= NAMED else "markers",
        text=[pages.scene_text(name) for name in names],
        hovertext=[html.escape(name) for name in names],
        hoverinfo="text",
        textposition="top center",
        textfont={"size": 11, "color": PLACEMENT_LINE},
        marker={"size": 4, "color": PLACEMENT_LINE},
        customdata=list(range(len(names))),
    )
    return {"data": [*data, cloud], "layout": pages.SCENE | {"showlegend": False}}
