"""The single codes: one entry each, for the sharp configurations and the parents of sections."""

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from hyperproto.codes.algebra.entry import Entry, fixed
from hyperproto.codes.algebra.golay import golay_words, leech_vectors
from hyperproto.codes.algebra.graphs import (
    Graph,
    gewirtz_graph,
    higman_sims_graph,
    hoffman_singleton_graph,
    m22_graph,
    spectral_code,
)
from hyperproto.codes.algebra.kissing import barnes_wall_16, cohn_li, construction_a, laminated
from hyperproto.codes.algebra.polytopes import cell_600, e8_roots, icosahedron
from hyperproto.codes.algebra.section import derive, section
from hyperproto.codes.algebra.vectors import unit_rows
from hyperproto.codes.code import Array

__all__ = ["exact_entries"]

DGS = "Delsarte, Goethals, Seidel (1977)"
SPLAG = "Conway, Sloane, Sphere Packings, Lattices and Groups"
LEVENSHTEIN = "Levenshtein (1979): optimal"


@cache
def exact_entries() -> tuple[Entry, ...]:
    """Return every single code, in the order of dimension."""
    golden = (1 + math.sqrt(5)) / 2
    entries = [
        _entry("icosahedron", 12, 3, 1 / math.sqrt(5), icosahedron, LEVENSHTEIN, sharp=True),
        _entry("600-cell", 120, 4, golden / 2, cell_600, "Boroczky (1978): optimal"),
        _entry("E8 roots", 240, 8, 1 / 2, e8_roots, LEVENSHTEIN, sharp=True),
        _entry("Barnes-Wall 16", 4320, 16, 1 / 2, barnes_wall_16, f"{SPLAG}, chapter 4"),
        _entry("Leech", 196560, 24, 1 / 2, leech_vectors, LEVENSHTEIN, sharp=True),
        _entry("equiangular 276", 552, 23, 1 / 5, equiangular_276, f"{DGS}; {LEVENSHTEIN}", sharp=True),
        *_derived(),
        *_graphs(),
        *_kissing(),
        *_golay(),
    ]
    return tuple(sorted(entries, key=lambda entry: (entry.dim, entry.num_points)))


def _entry(
    name: str,
    num_points: int,
    dim: int,
    cosine: float,
    build: Callable[[], Array],
    citation: str,
    *,
    sharp: bool = False,
) -> Entry:
    return Entry(name, num_points, dim, cosine, citation, fixed(build), sharp=sharp)


def _derived() -> list[Entry]:
    """Return the codes derived from E8 and from the Leech lattice: cosine s, s/(1+s), s/(1+2s), ..."""
    chains: list[tuple[str, Callable[[], Array], dict[int, int], int, int]] = [
        ("E8 roots", e8_roots, {7: 56, 6: 27, 5: 16, 4: 10}, 8, 5),
        ("Leech", leech_vectors, {23: 4600, 22: 891, 21: 336, 20: 170, 19: 100, 18: 66}, 24, 22),
        ("equiangular 276", equiangular_276, {22: 275, 21: 162}, 23, 21),
    ]
    entries = []
    for name, parent, sizes, top, sharp_from in chains:
        s = 1 / 5 if parent is equiangular_276 else 1 / 2
        for dim, size in sizes.items():
            steps = top - dim
            build = partial(_derive_from, parent, s, steps)
            cosine = s / (1 + steps * s)
            citation = f"{DGS}: derived from {name}"
            entries.append(
                _entry(f"{name} derived {steps}", size, dim, cosine, build, citation, sharp=dim >= sharp_from)
            )
    return entries


def _derive_from(parent: Callable[[], Array], max_cosine: float, steps: int) -> Array:
    return derive(parent(), max_cosine, (0,) * steps)


def _graphs() -> list[Entry]:
    """Return the spectral codes of single strongly regular graphs, each optimal by linear programming."""
    return [
        _entry(
            f"{name} graph",
            size,
            dim,
            cosine,
            partial(_spectral_of, graph, eigenvalue, dim),
            f"{DGS}: spectral embedding of the {name} graph",
            sharp=sharp,
        )
        for name, graph, size, eigenvalue, dim, cosine, sharp in [
            ("Gewirtz", gewirtz_graph, 56, -4, 20, 1 / 15, False),
            ("Hoffman-Singleton", hoffman_singleton_graph, 50, -3, 21, 1 / 21, False),
            ("M22", m22_graph, 77, -6, 21, 1 / 12, False),
            ("Higman-Sims", higman_sims_graph, 100, -8, 22, 1 / 11, True),
        ]
    ]


def _spectral_of(graph: Callable[[], Graph], eigenvalue: float, dim: int) -> Array:
    return spectral_code(graph(), eigenvalue, dim)


def _kissing() -> list[Entry]:
    """Return the codes at 60 degrees that are not lattice sections of the table."""
    kinds = [
        ("construction A", construction_a, {9: 306, 10: 500, 11: 582, 12: 840}, f"{SPLAG}, chapter 5"),
        ("laminated", laminated, {17: 5346, 18: 7398, 22: 49896}, f"{SPLAG}, chapter 6"),
        ("Cohn-Li", cohn_li, {19: 11692, 20: 19448, 21: 29768}, "Cohn, Li (2024)"),
    ]
    return [
        _entry(f"{name} {dim}", size, dim, 1 / 2, partial(build, dim), citation)
        for name, build, sizes, citation in kinds
        for dim, size in sizes.items()
    ]


def _golay() -> list[Entry]:
    """Return the sign vectors of the Golay code, shortened: distance 8, so cosine 1 - 16/D."""
    sizes = {dim: 1 << dim - 12 for dim in range(18, 25)}
    citation = f"{SPLAG}, chapter 3"
    return [_entry(f"Golay signs {d}", k, d, 1 - 16 / d, partial(golay_signs, d), citation) for d, k in sizes.items()]


def equiangular_276() -> Array:
    """Return 552 points in 23 dimensions: Leech vectors v with v.w = 3 for a lattice vector w of norm 6."""
    vectors = leech_vectors()
    other = vectors[np.flatnonzero(np.abs(vectors @ vectors[0] - 1 / 4) < 1e-9)[0]]
    w = vectors[0] - other  # norm 4 + 4 - 2 = 6 where the shortest vectors have norm 4
    return section(vectors, w[None] / np.linalg.norm(w), 3 / math.sqrt(4 * 6))


def golay_signs(dim: int) -> Array:
    """Return the Golay words with zeros at the first 24 - dim places as signs of the others: distance 8."""
    words = golay_words()
    shortened = words[words[:, : 24 - dim].sum(axis=1) == 0][:, 24 - dim :]
    return unit_rows(1 - 2 * shortened)
