"""Strongly regular graphs, and the spherical codes in their eigenspaces.

A graph on v vertices is strongly regular when every vertex has k neighbours, adjacent vertices have λ in
common and others μ. Its adjacency matrix has two eigenvalues besides k; the projection of the vertices onto
the eigenspace of θ, of dimension f, is a code of v points in f dimensions with two cosines only:

    θ/k between neighbours,   -(1 + θ)/(v - k - 1) between the others.

Delsarte, Goethals, Seidel (1977); Brouwer, van Maldeghem, "Strongly Regular Graphs" (2022).
"""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.algebra.fields import field, is_prime_power
from hyperproto.codes.algebra.golay import hexads
from hyperproto.codes.algebra.vectors import unit_rows
from hyperproto.codes.code import Array

__all__ = [
    "Graph",
    "elliptic_quadric_graph",
    "gewirtz_graph",
    "higman_sims_graph",
    "hoffman_singleton_graph",
    "m22_graph",
    "paley_graph",
    "petersen_graph",
    "projection_code",
    "projective_points",
    "spectral_code",
]

Graph = NDArray[np.bool_]


def spectral_code(graph: Graph, eigenvalue: float, dim: int) -> Array:
    """Return the unit rows of the projection onto one eigenspace. Shape (v, dim).

    A - θ' I, with θ' the third eigenvalue, takes vectors without a constant part into the eigenspace of θ.
    """
    matrix = graph.astype(np.float64)
    other = _other_eigenvalue(len(graph), int(graph[0].sum()), eigenvalue, dim)

    def project(vectors: Array) -> Array:
        vectors = vectors - vectors.mean(axis=0)
        return np.asarray(matrix @ vectors - other * vectors)

    return projection_code(project, len(graph), dim)


def projection_code(project: Callable[[Array], Array], num_points: int, dim: int) -> Array:
    """Return the rows of a projection matrix of rank ``dim`` in coordinates of its range, as unit rows.

    The image of ``dim`` random vectors spans the range. An orthonormal basis of it has, as rows, the points.
    ``project`` may be any multiple of the projection; the second pass takes away the rounding of the first.
    """
    vectors: Array = np.random.default_rng(0).standard_normal((num_points, dim))
    for _ in range(2):
        vectors = np.linalg.qr(project(vectors)).Q
    return unit_rows(vectors)


def _other_eigenvalue(v: int, degree: int, eigenvalue: float, dim: int) -> float:
    """Return the third eigenvalue: the trace k + f θ + (v - 1 - f) θ' is zero."""
    return -(degree + dim * eigenvalue) / (v - 1 - dim)


def petersen_graph() -> Graph:
    """Return srg(10, 3, 0, 1): pairs of five things, adjacent when disjoint."""
    pairs = np.array([[i in pair for i in range(5)] for pair in combinations(range(5), 2)], np.int64)
    return np.asarray(pairs @ pairs.T == 0)


def paley_graph(order: int) -> Graph:
    """Return srg(q, (q-1)/2, (q-5)/4, (q-1)/4) for q = 1 modulo 4: differences that are squares."""
    gf = field(order)
    minus = gf.multiply(gf.elements, gf.characteristic - 1)
    return gf.is_square(gf.add(gf.elements[:, None], minus))


def hoffman_singleton_graph() -> Graph:
    """Return srg(50, 7, 0, 1), by Robertson: pentagons P_h and pentagrams Q_i, j of P_h to h i + j of Q_i."""
    graph = np.zeros((2, 5, 5, 2, 5, 5), bool)
    for h, i, j in product(range(5), repeat=3):
        graph[0, h, j, 1, i, (h * i + j) % 5] = True
        for step in (1, 4):
            graph[0, h, j, 0, h, (j + step) % 5] = True
            graph[1, h, j, 1, h, (j + 2 * step) % 5] = True
    square = graph.reshape(50, 50)
    return square | square.T


def m22_graph() -> Graph:
    """Return srg(77, 16, 0, 4): the blocks of S(3, 6, 22), adjacent when disjoint."""
    blocks = hexads()
    return np.asarray(blocks @ blocks.T == 0)


def gewirtz_graph() -> Graph:
    """Return srg(56, 10, 0, 2): the blocks of S(3, 6, 22) that miss one point, adjacent when disjoint."""
    missing = hexads()[:, 0] == 0
    return m22_graph()[np.ix_(missing, missing)]


def higman_sims_graph() -> Graph:
    """Return srg(100, 22, 0, 6): a vertex, the 22 points and the 77 blocks of S(3, 6, 22), by incidence."""
    blocks = hexads() == 1
    graph = np.zeros((100, 100), bool)
    graph[0, 1:23] = True
    graph[23:, 1:23] = blocks
    graph |= graph.T
    graph[23:, 23:] = m22_graph()
    return graph


def elliptic_quadric_graph(order: int) -> Graph:
    """Return the collinearity graph of the generalised quadrangle GQ(q, q^2).

    Its (q+1)(q^3+1) vertices are the singular points of x0 x1 + x2 x3 + N(x4, x5) = 0 in PG(5, q), where
    N(x, y) = x^2 + xy + n y^2 has no zero but (0, 0); adjacent when orthogonal. Its eigenvalue -(q^2+1) gives
    Cameron, Goethals and Seidel's sharp codes (1978): q(q^2-q+1) dimensions, cosines -1/q and 1/q^2.
    """
    if not is_prime_power(order):
        raise ValueError(f"`order` must be a prime power; got {order}.")
    gf = field(order)
    n = _anisotropic(order)
    points = projective_points(order, 6)
    x = points.T
    norm = gf.add(gf.multiply(x[4], gf.add(x[4], x[5])), gf.multiply(n, gf.power(x[5], 2)))
    value = gf.add(gf.add(gf.multiply(x[0], x[1]), gf.multiply(x[2], x[3])), norm)
    singular = points[value == 0]
    dual = _polar(singular, n, order)
    graph = np.zeros((len(singular), len(singular)), bool)
    for i, row in enumerate(singular):  # row by row: the products of all pairs would be large
        graph[i] = _dot(row, dual, order) == 0
    np.fill_diagonal(graph, False)
    return graph


def _anisotropic(order: int) -> int:
    """Return n such that x^2 + x + n has no root in GF(order)."""
    gf = field(order)
    values = gf.add(gf.power(gf.elements, 2), gf.elements)
    taken = {int(gf.multiply(int(value), gf.characteristic - 1)) for value in values}
    return next(n for n in range(order) if n not in taken)


def projective_points(order: int, length: int) -> NDArray[np.int64]:
    """Return one vector for each point of PG(length - 1, q): its first non-zero coordinate is 1."""
    blocks = []
    for lead in range(length):
        free = length - 1 - lead
        tail = np.indices((order,) * free).reshape(free, order**free).T
        head = np.zeros((len(tail), lead + 1), np.int64)
        head[:, lead] = 1
        blocks.append(np.concatenate([head, tail], axis=1))
    return np.concatenate(blocks)


def _polar(points: NDArray[np.int64], n: int, order: int) -> NDArray[np.int64]:
    """Return the coefficients of the linear form B(x, .) of the quadric's bilinear form for each x."""
    gf = field(order)
    x = points.T
    two = int(gf.add(1, 1))
    last = gf.add(gf.multiply(two, x[4]), x[5]), gf.add(x[4], gf.multiply(gf.multiply(two, n), x[5]))
    return np.stack([x[1], x[0], x[3], x[2], *last], axis=1)


def _dot(row: NDArray[np.int64], columns: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Return the product of one vector with many, over GF(order)."""
    gf = field(order)
    total = np.zeros(len(columns), np.int64)
    for value, column in zip(row, columns.T, strict=True):
        total = gf.add(total, gf.multiply(int(value), column))
    return total
