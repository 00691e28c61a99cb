"""Strongly regular graphs and equiangular lines, and the spherical codes in their eigenspaces.

A graph on v vertices is strongly regular when every vertex has k neighbors, adjacent vertices have
λ in common and others μ. Its adjacency matrix has two eigenvalues other than k; the projection of
the vertices onto the eigenspace of θ, of dimension f, is a code of v points in f dimensions with
two cosines only:

    θ/k between neighbors,   -(1 + θ)/(v - k - 1) between the others.

Equiangular lines, each with both directions, are codes with cosines ±s and -1:

- *Conference matrices*: C symmetric of order n = q + 1 with C^2 = q I (Paley). The rows of the
  projector
  (I + C/sqrt(q))/2 span n lines in n/2 dimensions, cosine 1/sqrt(q). q = 5 is the icosahedron.
- *Steiner systems*: one Hadamard matrix per point of PG(m, 2), one of its columns per line through
  that
  point: (2^(m+1)-1) 2^m lines in as many dimensions as PG(m, 2) has lines, cosine 1/(2^m - 1).
- *Unitary two-graphs*: the q^3 + 1 points of the curve x^(q+1) + y^(q+1) + z^(q+1) = 0 over
  GF(q^2), q odd,
  with signs χ(H(x, y)), the quadratic character of their Hermitian products. That matrix has the
  eigenvalues q and -q^2 (or both negated), the latter q^2 - q + 1 times: lines there, cosine 1/q.

Delsarte, Goethals, Seidel (1977); Brouwer, van Maldeghem, "Strongly Regular Graphs" (2022);
Lemmens, Seidel, "Equiangular lines" (1973); Fickus, Mixon, Tremain (2012); Taylor, "Regular
2-graphs" (1977).
"""

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.algebra.entry import unit_rows, with_opposites
from hyperproto.codes.algebra.fields import Integers, field
from hyperproto.codes.algebra.lattices import hexads
from hyperproto.codes.algebra.quadratic import hadamard
from hyperproto.codes.measure import Array

Graph = NDArray[np.bool_]


def spectral_code(graph: Graph, eigenvalue: float, dim: int) -> Array:
    """Return the unit rows of the projection onto one eigenspace. Shape (v, dim).

    A - θ' I, with θ' the third eigenvalue, takes vectors without a constant part into the
    eigenspace of θ.
    """
    matrix = graph.astype(np.float64)
    # the trace, degree + dim θ + (v - 1 - dim) θ', is zero
    other = -(int(graph[0].sum()) + dim * eigenvalue) / (len(graph) - 1 - dim)

    def project(vectors: Array) -> Array:
        vectors = vectors - vectors.mean(axis=0)
        return np.asarray(matrix @ vectors - other * vectors)

    return projection_code(project, len(graph), dim)


def projection_code(project: Callable[[Array], Array], num_points: int, dim: int) -> Array:
    """Return the rows of a projection matrix of rank ``dim`` in coordinates of its range, as unit
    rows.

    The image of ``dim`` random vectors spans the range. An orthonormal basis of it has, as rows,
    the points. ``project`` may be any multiple of the projection; the second pass takes away the
    rounding of the first.
    """
    vectors: Array = np.random.default_rng(0).standard_normal((num_points, dim))
    for _ in range(2):
        vectors = np.linalg.qr(project(vectors)).Q
    return unit_rows(vectors)


def hoffman_singleton_graph() -> Graph:
    """Return srg(50, 7, 0, 1), by Robertson: pentagons P_h and pentagrams Q_i, j of P_h to h i + j
    of Q_i.
    """
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
    """Return srg(56, 10, 0, 2): the blocks of S(3, 6, 22) that miss one point, adjacent when
    disjoint.
    """
    missing = hexads()[:, 0] == 0
    return m22_graph()[np.ix_(missing, missing)]


def higman_sims_graph() -> Graph:
    """Return srg(100, 22, 0, 6): a vertex, the 22 points and the 77 blocks of S(3, 6, 22), by
    incidence.
    """
    blocks = hexads() == 1
    graph = np.zeros((100, 100), bool)
    graph[0, 1:23] = True
    graph[23:, 1:23] = blocks
    graph |= graph.T
    graph[23:, 23:] = m22_graph()
    return graph


def elliptic_quadric_graph(order: int) -> Graph:
    """Return the collinearity graph of the generalized quadrangle GQ(q, q^2).

    Its (q+1)(q^3+1) vertices are the singular points of x0 x1 + x2 x3 + N(x4, x5) = 0 in PG(5, q),
    where N(x, y) = x^2 + xy + n y^2 has no zero but (0, 0); adjacent when orthogonal. Its
    eigenvalue -(q^2+1) gives Cameron, Goethals and Seidel's sharp codes (1978): q(q^2-q+1)
    dimensions, cosines -1/q and 1/q^2.
    """
    gf = field(order)
    values = gf.add(gf.power(gf.elements, 2), gf.elements)
    taken = {int(gf.multiply(int(value), gf.characteristic - 1)) for value in values}
    n = next(n for n in range(order) if n not in taken)  # x^2 + x + n has no root
    points = projective_points(order, 6)
    x = points.T
    norm = gf.add(gf.multiply(x[4], gf.add(x[4], x[5])), gf.multiply(n, gf.power(x[5], 2)))
    value = gf.add(gf.add(gf.multiply(x[0], x[1]), gf.multiply(x[2], x[3])), norm)
    singular = points[value == 0]
    x, two = singular.T, int(gf.add(1, 1))
    last = (
        gf.add(gf.multiply(two, x[4]), x[5]),
        gf.add(x[4], gf.multiply(gf.multiply(two, n), x[5])),
    )
    polar = [x[1], x[0], x[3], x[2], *last]  # coefficients of the linear form B(x, .) of each x
    graph = np.zeros((len(singular), len(singular)), bool)
    for i, row in enumerate(singular):  # row by row: the products of all pairs would be large
        products = np.zeros(len(singular), np.int64)
        for value, column in zip(row, polar, strict=True):
            products = gf.add(products, gf.multiply(int(value), column))
        graph[i] = products == 0
    np.fill_diagonal(graph, False)
    return graph


def projective_points(order: int, length: int) -> Integers:
    """Return one vector for each point of PG(length - 1, q): its first non-zero coordinate is 1."""
    blocks = []
    for lead in range(length):
        free = length - 1 - lead
        tail = np.indices((order,) * free).reshape(free, order**free).T
        head = np.zeros((len(tail), lead + 1), np.int64)
        head[:, lead] = 1
        blocks.append(np.concatenate([head, tail], axis=1))
    return np.concatenate(blocks)


def conference_lines(order: int) -> Array:
    """Return 2(q+1) points in (q+1)/2 dimensions, for a prime power q = 1 modulo 4."""
    gf = field(order)
    minus = gf.multiply(gf.elements, gf.characteristic - 1)
    # Paley's graph: differences that are squares
    squares = gf.is_square(gf.add(gf.elements[:, None], minus))
    matrix = np.ones((order + 1, order + 1))
    matrix[1:, 1:] = np.where(squares, 1, -1)
    np.fill_diagonal(matrix, 0)
    lines = projection_code(lambda x: x + matrix @ x / np.sqrt(order), order + 1, (order + 1) // 2)
    return with_opposites(lines)


def steiner_lines(bits: int) -> Array:
    """Return 2v(r+1) points on the lines of PG(m, 2), v = 2^(m+1) - 1 points with r = 2^m - 1 lines
    each.
    """
    v, r = (2 << bits) - 1, (1 << bits) - 1
    blocks = [(a, b, a ^ b) for a in range(1, v + 1) for b in range(a + 1, v + 1) if b < a ^ b]
    signs = hadamard(bits)[:, 1:]  # r + 1 rows, r columns with products -1 between rows
    points = np.zeros((v, r + 1, len(blocks)))
    for point in range(1, v + 1):
        through = [i for i, block in enumerate(blocks) if point in block]
        points[point - 1, :, through] = signs.T / np.sqrt(r)
    lines = points.reshape(-1, len(blocks))
    return with_opposites(lines)


def unitary_lines(order: int) -> Array:
    """Return 2(q^3+1) points in q^2-q+1 dimensions, for an odd prime power q."""
    gf = field(order**2)
    points = projective_points(order**2, 3)
    norms = gf.power(points, order + 1)
    curve = points[gf.add(gf.add(norms[:, 0], norms[:, 1]), norms[:, 2]) == 0]
    products = np.zeros((len(curve), len(curve)), np.int64)
    for x in curve.T:
        products = gf.add(products, gf.multiply(x[:, None], gf.power(x, order)))
    signs = np.where(gf.is_square(products), 1.0, -1.0)
    np.fill_diagonal(signs, 0)
    # an entry of S^3: q^3 times the sum of the two eigenvalues
    cubed = float(signs[0] @ signs @ signs[0])
    other = order if cubed < 0 else -order
    lines = projection_code(lambda x: signs @ x - other * x, len(curve), order**2 - order + 1)
    return with_opposites(lines)
