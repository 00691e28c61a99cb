"""The registry: which known code has K points in D dimensions with the smallest maximum cosine.

Subsets and zero-padding keep the maximum cosine, so a code of K' >= K points in D' <= D dimensions
serves K points in D dimensions. Nothing is built to answer.

``sections.csv`` lists sections found by ``tools/find_sections.py``: which anchors of which parent,
how many points, which cosine. The numbers are measured, the cosine in accordance with (c - τ)/(1 -
τ) of :mod:`~hyperproto.codes.algebra.entry`; tests build them again.
"""

import csv
import math
from collections.abc import Callable
from functools import cache, partial
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
DGS = "Delsarte, Goethals, Seidel (1977)"
SPLAG = "Conway, Sloane, Sphere Packings, Lattices and Groups"
LEVENSHTEIN = "Levenshtein (1979): optimal"


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
    """Return every single code, in the order of dimension: sharp configurations and the parents of
    sections.
    """
    golden = (1 + math.sqrt(5)) / 2
    codes: list[tuple[str, int, int, float, Callable[[], Array], str]] = [
        ("icosahedron", 12, 3, 1 / math.sqrt(5), lattices.icosahedron, LEVENSHTEIN),
        ("600-cell", 120, 4, golden / 2, lattices.cell_600, "Boroczky (1978): optimal"),
        ("E8 roots", 240, 8, 1 / 2, lattices.e8_roots, LEVENSHTEIN),
        ("Barnes-Wall 16", 4320, 16, 1 / 2, lattices.barnes_wall_16, f"{SPLAG}, chapter 4"),
        ("Leech", 196560, 24, 1 / 2, lattices.leech_vectors, LEVENSHTEIN),
        ("equiangular 276", 552, 23, 1 / 5, equiangular_276, f"{DGS}; {LEVENSHTEIN}"),
    ]
    for name, parent, s, top, sizes in (
        ("E8 roots", lattices.e8_roots, 1 / 2, 8, {7: 56, 6: 27, 5: 16, 4: 10}),
        (
            "Leech",
            lattices.leech_vectors,
            1 / 2,
            24,
            {23: 4600, 22: 891, 21: 336, 20: 170, 19: 100, 18: 66},
        ),
        ("equiangular 276", equiangular_276, 1 / 5, 23, {22: 275, 21: 162}),
    ):
        for dim, size in sizes.items():
            steps = top - dim
            build: Callable[[], Array] = partial(_derived, parent, s, steps)
            cosine = s / (1 + steps * s)
            codes.append(
                (f"{name} derived {steps}", size, dim, cosine, build, f"{DGS}: derived from {name}")
            )
    for name, graph, size, eigenvalue, dim, cosine in (
        ("Gewirtz", graphs.gewirtz_graph, 56, -4, 20, 1 / 15),
        ("Hoffman-Singleton", graphs.hoffman_singleton_graph, 50, -3, 21, 1 / 21),
        ("M22", graphs.m22_graph, 77, -6, 21, 1 / 12),
        ("Higman-Sims", graphs.higman_sims_graph, 100, -8, 22, 1 / 11),
    ):
        build = partial(_spectral, graph, eigenvalue, dim)
        codes.append(
            (
                f"{name} graph",
                size,
                dim,
                cosine,
                build,
                f"{DGS}: spectral embedding of the {name} graph",
            )
        )
    for name, kissing, sizes, citation in (
        (
            "construction A",
            lattices.construction_a,
            {9: 306, 10: 500, 11: 582, 12: 840},
            f"{SPLAG}, chapter 5",
        ),
        ("laminated", lattices.laminated, {17: 5346, 18: 7398, 22: 49896}, f"{SPLAG}, chapter 6"),
        ("Cohn-Li", lattices.cohn_li, {19: 11692, 20: 19448, 21: 29768}, "Cohn, Li (2024)"),
    ):
        codes += [
            (f"{name} {dim}", size, dim, 1 / 2, partial(kissing, dim), citation)
            for dim, size in sizes.items()
        ]
    for dim in range(18, 25):
        build = partial(golay_signs, dim)
        codes.append(
            (f"Golay signs {dim}", 1 << dim - 12, dim, 1 - 16 / dim, build, f"{SPLAG}, chapter 3")
        )
    entries = [
        Entry(name, size, dim, s, citation, fixed(build))
        for name, size, dim, s, build, citation in codes
    ]
    return tuple(sorted(entries, key=lambda entry: (entry.dim, entry.num_points)))


def _derived(parent: Callable[[], Array], max_cosine: float, steps: int) -> Array:
    return derive(parent(), max_cosine, steps=steps)


def _spectral(graph: Callable[[], graphs.Graph], eigenvalue: float, dim: int) -> Array:
    return graphs.spectral_code(graph(), eigenvalue, dim)


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
    with (resources.files("hyperproto.codes.algebra") / TABLE).open(encoding="utf-8") as lines:
        return tuple(_section_entry(row) for row in csv.DictReader(lines))


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
