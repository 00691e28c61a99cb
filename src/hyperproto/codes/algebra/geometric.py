"""Families from finite geometry: equiangular lines and two-distance codes with a member for every field.

Each is small enough to be built whole; none is built to say what it would be.
"""

import math
from collections.abc import Iterator
from functools import partial

from hyperproto.codes.algebra.entry import Entry, fixed
from hyperproto.codes.algebra.equiangular import (
    conference_lines,
    difference_set_lines,
    steiner_lines,
    unitary_lines,
)
from hyperproto.codes.algebra.fields import is_prime_power
from hyperproto.codes.algebra.graphs import elliptic_quadric_graph, spectral_code
from hyperproto.codes.algebra.section import derive
from hyperproto.codes.code import Array

__all__ = ["geometric_entries", "quadric_entry", "unitary_entry"]

TAYLOR = "Taylor (1977): unitary two-graphs"
MAX_UNITARY = 13  # beyond, sign codes are better where they are not too large to build
MAX_QUADRIC = 9  # larger graphs of this family do not fit in memory
MAX_CONFERENCE = 2001


def geometric_entries(num_points: int, dim: int) -> Iterator[Entry]:
    """Yield the entries of these families in at most ``dim`` dimensions, large enough or not."""
    yield from _quadrics(dim)
    yield from _unitary(dim)
    yield from _lines(num_points, dim)


def quadric_entry(order: int) -> Entry:
    """Return Cameron, Goethals and Seidel's code over GF(q); 27 in 6 for q = 2."""
    q, dim = order, order * (order * order - order + 1)
    rows = fixed(lambda: spectral_code(elliptic_quadric_graph(q), -(q * q + 1), dim))
    citation = "Cameron, Goethals, Seidel (1978): isotropic subspaces, meets Levenshtein's bound"
    size = (q + 1) * (q**3 + 1)
    return Entry(f"isotropic subspaces {q}", size, dim, 1 / q**2, citation, rows, sharp=True)


def _quadrics(dim: int) -> Iterator[Entry]:
    """Cameron, Goethals and Seidel's codes over every field that fits."""
    for q in range(2, MAX_QUADRIC + 1):
        if is_prime_power(q) and q * (q * q - q + 1) <= dim:
            yield quadric_entry(q)


def unitary_entry(order: int) -> Entry:
    """Return the lines of Taylor's unitary two-graph over GF(q^2), with both directions."""
    q = order
    rows = fixed(partial(unitary_lines, q))
    return Entry(f"unitary lines {q}", 2 * (q**3 + 1), q * q - q + 1, 1 / q, TAYLOR, rows)


def _unitary(dim: int) -> Iterator[Entry]:
    """Unitary lines, and the codes derived from them: q^3 points in q^2 - q dimensions, cosine 1/(q+1)."""
    for q in range(3, MAX_UNITARY + 1, 2):
        if is_prime_power(q) and q * q - q <= dim:
            yield unitary_entry(q)
            rows = fixed(partial(_derived_lines, q))
            yield Entry(f"unitary lines {q} derived", q**3, q * q - q, 1 / (q + 1), TAYLOR, rows)


def _derived_lines(order: int) -> Array:
    return derive(unitary_lines(order), 1 / order)


def _lines(num_points: int, dim: int) -> Iterator[Entry]:
    """Equiangular lines with both directions."""
    q = next((q for q in range(min(2 * dim - 1, MAX_CONFERENCE), 4, -1) if q % 4 == 1 and is_prime_power(q)), 0)
    if q and num_points <= 2 * (q + 1):
        rows = fixed(partial(conference_lines, q))
        citation = "Paley (1933); Lemmens, Seidel (1973): conference matrices"
        yield Entry(f"conference lines {q}", 2 * (q + 1), (q + 1) // 2, 1 / math.sqrt(q), citation, rows)
    for m in range(2, 7):
        for bit, sign in ((0, 1), (1, -1)):
            rows = fixed(partial(difference_set_lines, m, bit))
            order = 2**m + sign
            citation = "Xia, Zhou, Giannakis (2005): difference sets of bent functions"
            yield Entry(f"bent lines {order}", 2 * 4**m, 2 ** (m - 1) * order, 1 / order, citation, rows)
        v, r = (2 << m) - 1, (1 << m) - 1
        rows = fixed(partial(steiner_lines, m))
        citation = "Fickus, Mixon, Tremain (2012): Steiner equiangular tight frames"
        yield Entry(f"Steiner lines {v}", 2 * v * (r + 1), v * (v - 1) // 6, 1 / r, citation, rows)
