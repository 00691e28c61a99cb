"""Codes that can be written down, each proved optimal.

Rankin (1955), "The closest packing of spherical caps in n dimensions", settles every K <= 2D; on the circle
equal slices are optimal by the pigeonhole principle.
"""

import numpy as np

from hyperproto.codes.code import Array

__all__ = ["closed_form", "cross_polytope", "polygon", "simplex", "spiral"]


def polygon(num_points: int) -> Array:
    """Return the regular polygon, ``(cos ψ, sin ψ)`` at angles 2π/K apart (paper, section 2.1). Shape (K, 2)."""
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
    unit: Array = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit


def cross_polytope(num_points: int, dim: int) -> Array:
    """Return K of the 2D points ±e_i: every cosine is 0 or -1. Needs K <= 2D; pairs are used up in order."""
    axes = np.eye(dim)
    points = np.stack([axes, -axes], axis=1).reshape(2 * dim, dim)
    return np.concatenate([points[0::2], points[1::2]])[:num_points]


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
