"""Codes that can be written down: simplex, cross-polytope and polygon, each proved optimal; polytopes; roots of E8.

Rankin (1955), "The closest packing of spherical caps in n dimensions", covers every K <= 2D; on the circle
equal slices are optimal by the pigeonhole principle. The rest is in Coxeter, "Regular Polytopes", and in Conway,
Sloane, "Sphere Packings, Lattices and Groups", chapter 4.
"""

from itertools import permutations, product

import numpy as np

from hyperproto.codes.algebra.entry import unit_rows, with_opposites
from hyperproto.codes.algebra.leech import even_signs, pairs_of_signs
from hyperproto.codes.measure import Array

GOLDEN = (1 + np.sqrt(5)) / 2


def polygon(num_points: int) -> Array:
    """Return the regular polygon, ``(cos ψ, sin ψ)`` at angles of 2π/K (paper, section 2.1). Shape (K, 2)."""
    angles = 2 * np.pi * np.arange(num_points) / num_points
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def simplex(num_points: int, dim: int) -> Array:
    """Return the regular simplex: every cosine is -1/(K-1). Needs K <= D+1; further axes are zero.

    Built row by row: point i has what it needs on axis i to be a unit vector, and all later points share
    the coordinate that gives them the right product with it.

    >>> points = simplex(4, 3)
    >>> (points @ points.T).round(6)[0, 1]
    np.float64(-0.333333)
    """
    points = np.zeros((num_points, dim))
    for i in range(num_points - 1):
        left = num_points - i  # points that still differ, with cosine -1/(left-1) between them
        radius = np.sqrt(num_points * (left - 1) / ((num_points - 1) * left))
        points[i, i] = radius
        points[i + 1 :, i] = -radius / (left - 1)
    return unit_rows(points)


def cross_polytope(num_points: int, dim: int) -> Array:
    """Return K of the 2D points ±e_i: every cosine is 0 or -1. Needs K <= 2D; pairs are used up in order."""
    return np.concatenate([np.eye(dim), -np.eye(dim)])[:num_points]


def spiral(num_points: int) -> Array:
    """Return points along a Fibonacci spiral on S²: not optimal, but even for any number. Shape (K, 3).

    Equal steps in height, the golden angle between one and the next.
    """
    steps = np.arange(num_points) + 0.5
    height = 1 - 2 * steps / num_points
    turn = np.pi * (3 - np.sqrt(5)) * steps
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)


def closed_form(num_points: int, dim: int) -> tuple[Array, str, str] | None:
    """Return ``(points, method, proof)`` where an optimal code is known in closed form, else None."""
    if num_points <= dim + 1:
        return simplex(num_points, dim), "simplex", "Rankin (1955): K <= D+1 points have a cosine >= -1/(K-1)"
    if dim == 2:
        return polygon(num_points), "polygon", "pigeonhole: K arcs fill the circle, so one is <= 2π/K"
    if num_points <= 2 * dim:
        return (
            cross_polytope(num_points, dim),
            "cross-polytope",
            "Rankin (1955): K >= D+2 points have a cosine >= 0",
        )
    return None


def icosahedron() -> Array:
    """Return the 12 cyclic shifts of (0, ±1, ±φ): cosines ±1/sqrt(5) and -1."""
    corners = np.array([(0, a, b * GOLDEN) for a, b in product((1, -1), repeat=2)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    return unit_rows(points)


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
    return np.concatenate([unit_rows(pairs_of_signs(8)), unit_rows(even_signs(8))])
