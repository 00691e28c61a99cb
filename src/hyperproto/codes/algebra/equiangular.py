"""Equiangular lines, each with both directions: codes with cosines ±s and -1.

- *Conference matrices*: C symmetric of order n = q + 1 with C^2 = q I (Paley). The rows of the projector
  (I + C/sqrt(q))/2 span n lines in n/2 dimensions, cosine 1/sqrt(q). q = 5 is the icosahedron.
- *Difference sets*: the characters of F_2^(2m) on the n points where a bent function is 0 or 1, n =
  2^(m-1)(2^m ± 1): 4^m lines, cosine 2^(m-1)/n = 1/(2^m ± 1).
- *Steiner systems*: one Hadamard matrix per point of PG(m, 2), one of its columns per line through that
  point: (2^(m+1)-1) 2^m lines in as many dimensions as PG(m, 2) has lines, cosine 1/(2^m - 1).
- *Unitary two-graphs*: the q^3 + 1 points of the curve x^(q+1) + y^(q+1) + z^(q+1) = 0 over GF(q^2), q odd,
  with signs χ(H(x, y)), the quadratic character of their Hermitian products. That matrix has the eigenvalues
  q and -q^2 (or both negated), the latter q^2 - q + 1 times: lines there, cosine 1/q.

Lemmens, Seidel, "Equiangular lines" (1973); Xia, Zhou, Giannakis (2005); Fickus, Mixon, Tremain (2012);
Taylor, "Regular 2-graphs" (1977).
"""

import numpy as np

from hyperproto.codes.algebra.fields import field
from hyperproto.codes.algebra.graphs import paley_graph, projection_code, projective_points
from hyperproto.codes.algebra.quadratic import hadamard
from hyperproto.codes.algebra.vectors import with_opposites
from hyperproto.codes.code import Array

__all__ = ["conference_lines", "difference_set_lines", "steiner_lines", "unitary_lines"]


def conference_lines(order: int) -> Array:
    """Return 2(q+1) points in (q+1)/2 dimensions, for a prime power q = 1 modulo 4."""
    graph = paley_graph(order)
    matrix = np.ones((order + 1, order + 1))
    matrix[1:, 1:] = np.where(graph, 1, -1)
    np.fill_diagonal(matrix, 0)
    lines = projection_code(lambda x: x + matrix @ x / np.sqrt(order), order + 1, (order + 1) // 2)
    return with_opposites(lines)


def difference_set_lines(pairs: int, bit: int) -> Array:
    """Return 2 * 4^m points: characters of F_2^(2m), m = ``pairs``, where x1 x2 + x3 x4 + ... is ``bit``."""
    x = np.arange(4**pairs)
    bent = sum((x >> 2 * i) & (x >> 2 * i + 1) & 1 for i in range(pairs)) % 2
    lines = hadamard(2 * pairs)[:, bent == bit].astype(np.float64)
    lines /= np.sqrt(lines.shape[1])
    return with_opposites(lines)


def steiner_lines(bits: int) -> Array:
    """Return 2v(r+1) points on the lines of PG(m, 2), v = 2^(m+1) - 1 points with r = 2^m - 1 lines each."""
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
    cubed = float(signs[0] @ signs @ signs[0])  # an entry of S^3: q^3 times the sum of the two eigenvalues
    other = order if cubed < 0 else -order
    lines = projection_code(lambda x: signs @ x - other * x, len(curve), order**2 - order + 1)
    return with_opposites(lines)
