"""The registry: which known code has K points in D dimensions with the smallest maximum cosine.

Subsets and zero-padding keep the maximum cosine, so a code of K' >= K points in D' <= D dimensions
serves K points in D dimensions. Nothing is built to answer.

``codes.csv`` lists single codes: which function makes them, and its parameter, which is how often
the code is derived, a dimension, or an eigenvalue of a graph.

``sections.csv`` lists sections found by ``tools/find_sections.py``: which anchors of which parent,
how many points, which cosine. The numbers are measured, the cosine in accordance with (c - τ)/(1 -
τ) of :mod:`~hyperproto.codes.algebra.entry`; tests build them again.
"""

import csv
import math
from functools import cache
from importlib import resources

import numpy as np

from hyperproto._core.checks import check_integer
from hyperproto.codes.algebra import graphs, lattices
from hyperproto.codes.algebra.entry import Entry, derive, fixed, section, unit_rows
from hyperproto.codes.algebra.families import (
    family_entries,
    quadric_entry,
    sign_entry,
    unitary_entry,
)
from hyperproto.codes.algebra.quadratic import FormSet
from hyperproto.codes.measure import Array

TABLE = "sections.csv"
PARENTS = (
    "E8 roots",
    "Barnes-Wall 16",
    "equiangular 276",
    "Leech derived 1",
    "Leech",
    "construction A 12",
)


def best_entry(num_points: int, dim: int) -> Entry | None:
    """Return the entry of the least maximum cosine for ``num_points`` points in ``dim`` dimensions,
    if any fits.

    Among equals the one with the least padding, then with the fewest points to spare. Closed forms
    (K <= 2D, D = 2) are not in the registry: ask :func:`hyperproto.codes.certificate.closed_form`
    first.

    >>> best_entry(200, 25).name, best_entry(1_000_000, 1024).max_cosine
    ('equiangular 276 derived 1', 0.03125)
    """
    check_integer(num_points, "num_points", at_least=2)
    check_integer(dim, "dim", at_least=2)
    fitting = [
        entry for entry in single_entries() if entry.num_points >= num_points and entry.dim <= dim
    ]
    return min((*fitting, *family_entries(num_points, dim)), key=entry_order, default=None)


def entry_order(entry: Entry) -> tuple[float, int, int]:
    """Return the key by which entries are compared, the best least."""
    return round(entry.max_cosine, 12), -entry.dim, entry.num_points


def single_entries() -> tuple[Entry, ...]:
    """Return every entry that is not a member of a parametrized family."""
    return exact_entries() + section_entries()


@cache
def exact_entries() -> tuple[Entry, ...]:
    """Return every code of ``codes.csv``, in the order of dimension: sharp configurations and the
    parents of sections.
    """
    return tuple(map(_exact_entry, read_table("codes.csv")))


def _exact_entry(row: dict[str, str]) -> Entry:
    dim, cosine, parameter = int(row["dim"]), float(row["max_cosine"]), int(row["parameter"])

    def build() -> Array:
        made_of = row["made_of"]
        if made_of in GRAPHS:
            return graphs.spectral_code(GRAPHS[made_of](), parameter, dim)
        if made_of in IN_DIMENSIONS:
            return IN_DIMENSIONS[made_of](parameter)
        # deriving takes a cosine s to s / (1 + s), and in n steps to s / (1 + n s)
        return derive(WHOLE[made_of](), cosine / (1 - parameter * cosine), steps=parameter)

    return Entry(row["name"], int(row["num_points"]), dim, cosine, row["citation"], fixed(build))


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of this package."""
    with (resources.files("hyperproto.codes.algebra") / name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def equiangular_276() -> Array:
    """Return 552 points in 23 dimensions: Leech vectors v with v.w = 3 for a lattice vector w of
    norm 6.
    """
    vectors = lattices.leech_vectors()
    other = vectors[np.flatnonzero(np.abs(vectors @ vectors[0] - 1 / 4) < 1e-9)[0]]
    w = vectors[0] - other  # norm 4 + 4 - 2 = 6 where the shortest vectors have norm 4
    return section(vectors, w[None] / np.linalg.norm(w), 3 / math.sqrt(4 * 6))


def golay_signs(dim: int) -> Array:
    """Return the Golay words with zeros at the first 24 - dim places as signs of the others:
    distance 8.
    """
    words = lattices.golay_words()
    shortened = words[words[:, : 24 - dim].sum(axis=1) == 0][:, 24 - dim :]
    return unit_rows(1 - 2 * shortened)


WHOLE = {
    make.__name__: make
    for make in (
        lattices.icosahedron,
        lattices.cell_600,
        lattices.e8_roots,
        lattices.barnes_wall_16,
        lattices.leech_vectors,
        equiangular_276,
    )
}
IN_DIMENSIONS = {
    make.__name__: make
    for make in (lattices.construction_a, lattices.laminated, lattices.cohn_li, golay_signs)
}
GRAPHS = {
    make.__name__: make
    for make in (
        graphs.gewirtz_graph,
        graphs.hoffman_singleton_graph,
        graphs.m22_graph,
        graphs.higman_sims_graph,
    )
}


@cache
def parents() -> dict[str, Entry]:
    """Return the codes that sections are taken of, by name."""
    entries = [entry for entry in exact_entries() if entry.name in PARENTS]
    entries += [
        sign_entry(FormSet(bits, terms, kerdock=True))
        for bits, terms in ((4, 0), (4, 1), (6, 0), (8, 0))
    ]
    entries += [sign_entry(FormSet(bits, 1, kerdock=False)) for bits in (3, 5, 7)]
    entries += [quadric_entry(order) for order in (3, 4, 5, 7)]
    entries += [unitary_entry(order) for order in (7, 11, 13)]
    return {entry.name: entry for entry in entries}


@cache
def section_entries() -> tuple[Entry, ...]:
    """Return the entries of the table of sections."""
    return tuple(map(_section_entry, read_table(TABLE)))


def _section_entry(row: dict[str, str]) -> Entry:
    parent = parents()[row["parent"]]
    anchors = [int(word) for word in row["anchors"].split()]
    cosines = [float(word) for word in row["cosines"].split()]

    def build() -> Array:
        points = parent.build()
        return section(points, points[anchors], np.array(cosines))

    return Entry(
        f"section of {parent.name} at {row['anchors']} ({row['num_points']})",
        int(row["num_points"]),
        parent.dim - len(anchors),
        float(row["max_cosine"]),
        f"{parent.citation}; Delsarte, Goethals, Seidel (1977): section, its size measured",
        fixed(build),
    )
