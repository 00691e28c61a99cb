"""Small codes that are written down directly: regular polytopes and root systems.

Coxeter, "Regular Polytopes"; Conway, Sloane, "Sphere Packings, Lattices and Groups", chapter 4.
"""

from itertools import permutations, product

import numpy as np

from hyperproto.codes.algebra.golay import even_signs, pairs_of_signs
from hyperproto.codes.algebra.vectors import unit_rows, with_opposites
from hyperproto.codes.code import Array

__all__ = ["cell_600", "e8_roots", "icosahedron", "root_system_d"]

GOLDEN = (1 + np.sqrt(5)) / 2


def icosahedron() -> Array:
    """Return the 12 cyclic shifts of (0, ±1, ±φ): cosines ±1/sqrt(5) and -1."""
    corners = np.array([(0, a, b * GOLDEN) for a, b in product((1, -1), repeat=2)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    return unit_rows(points)


def root_system_d(dim: int) -> Array:
    """Return the 2n(n-1) roots of D_n, (±1, ±1, 0, ...)/sqrt(2): cosines 0, ±1/2, -1. D_4 is the 24-cell."""
    return unit_rows(pairs_of_signs(dim))


def cell_600() -> Array:
    """Return the 120 unit icosians: cosines up to φ/2.

    8 shifts of (±1, 0, 0, 0), 16 of (±1, ±1, ±1, ±1)/2 and the 96 even permutations of (±φ, ±1, ±1/φ, 0)/2.
    """
    even = [p for p in permutations(range(4)) if np.linalg.det(np.eye(4)[list(p)]) > 0]
    corners = [np.array((a * GOLDEN, b, c / GOLDEN, 0)) / 2 for a, b, c in product((1, -1), repeat=3)]
    rotated = np.array([corner[list(p)] for corner in corners for p in even])
    halves = np.array(list(product((0.5, -0.5), repeat=4)))
    points = np.concatenate([with_opposites(np.eye(4)), halves, rotated])
    return unit_rows(points)


def e8_roots() -> Array:
    """Return the 240 roots of E8: 112 of D_8 and 128 of (±1/2)^8 with an even number of minus signs."""
    return np.concatenate([root_system_d(8), unit_rows(even_signs(8))])
