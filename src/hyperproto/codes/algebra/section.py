"""Sections: the part of a code at given cosines from given anchors, seen in the space orthogonal to them.

Let U hold k unit anchors with Gram matrix G = U U^T and let t be the wanted cosines. The points x with U x =
t share the component U^T G^-1 t of squared length τ = t^T G^-1 t; without it, and renormalised, they lie in k
dimensions less, and a cosine c between them becomes (c - τ)/(1 - τ).

*Deriving* at a point u is the section at the code's own maximum cosine s, where τ = s^2: the cosine becomes
(s - s^2)/(1 - s^2) = s/(1 + s). Sections at cosine 0 keep s: they are how lattices lose a dimension.

Delsarte, Goethals, Seidel, "Spherical codes and designs" (1977), section 8.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.algebra.vectors import unit_rows
from hyperproto.codes.code import Array

__all__ = ["complement", "derive", "members", "project_out", "section", "section_cosine"]

TOLERANCE = 1e-9  # products of the codes here differ by 1e-3 and more


def section(points: Array, anchors: Array, cosines: ArrayLike) -> Array:
    """Return the points at the given cosines from the anchors, without that component, as unit rows.

    Parameters
    ----------
    points : array, shape (K, D)
        Unit rows.
    anchors : array, shape (k, D)
        Independent unit rows; they need not be points of the code.
    cosines : array-like, shape (k,) or ()
        The wanted cosine with each anchor.

    Returns
    -------
    array, shape (K', D - k), unit rows
    """
    return project_out(points[members(points, anchors, cosines)], anchors)


def members(points: Array, anchors: Array, cosines: ArrayLike) -> Integers:
    """Return the indices of the points at the given cosines from the anchors."""
    fits = np.abs(points @ anchors.T - np.asarray(cosines)) < TOLERANCE
    return np.flatnonzero(fits.all(axis=1))


def project_out(points: Array, anchors: Array) -> Array:
    """Return the points in coordinates of the space orthogonal to the anchors, as unit rows."""
    return unit_rows(points @ complement(anchors))


def complement(anchors: Array) -> Array:
    """Return an orthonormal basis, as columns, of the space orthogonal to given rows. Shape (D, D - k)."""
    q = np.linalg.qr(anchors.T, mode="complete").Q
    basis: Array = q[:, len(anchors) :]
    return basis


def section_cosine(max_cosine: float, anchors: Array, cosines: ArrayLike) -> float:
    """Return (s - τ)/(1 - τ): what a cosine s between points of a section becomes."""
    t = np.broadcast_to(np.asarray(cosines, np.float64), len(anchors))
    tau = float(t @ np.linalg.solve(anchors @ anchors.T, t))
    return (max_cosine - tau) / (1 - tau)


def derive(points: Array, max_cosine: float, bases: Sequence[int] = (0,)) -> Array:
    """Return the code derived at one point after another: ``bases[i]`` is an index in the i-th derived code.

    >>> from hyperproto.codes.algebra.polytopes import e8_roots
    >>> derive(e8_roots(), 1 / 2, (0, 0)).shape
    (27, 6)
    """
    for base in bases:
        points = section(points, points[base : base + 1], max_cosine)
        max_cosine = max_cosine / (1 + max_cosine)
    return points
