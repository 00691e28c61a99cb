"""Prototypes of any dimension as points to draw, with what the drawing gets wrong.

On the circle and on S² nothing is lost. Beyond, no picture can be right: many classes that are all about 90° apart
do not fit into two or three dimensions. So a choice is made, either of neighbours or of angles, and measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto._core.threads import one_thread
from hyperproto.report.layouts import keep_angles, keep_neighbours
from hyperproto.report.nearest import nearest_rows

__all__ = ["Projection", "project"]

Array = NDArray[np.float64]
Layout = Callable[[Array, Array], Array]

LAYOUTS: dict[str, Layout] = {"neighbours": keep_neighbours, "angles": keep_angles}
LAID_OUT = 1500  # classes; beyond, every pair in every step takes minutes, and principal axes are drawn
MEASURED = 1500  # classes whose pairs the error is measured over; beyond, evenly spaced ones
NEAREST = 5  # how many neighbours are looked for again in the picture


@dataclass(frozen=True, eq=False)
class Projection:
    """Classes as points in two or three dimensions.

    Attributes
    ----------
    points : array, shape (K, 2) or (K, 3)
        Where to draw each class. Their distances are in radians, to be held against angles.
    error : float
        Mean absolute difference between the angle of two prototypes and their distance in the picture, in degrees;
        0 where nothing was projected.
    rank_correlation : float
        Spearman's, between the angles and the distances in the picture.
    neighbours_kept : float
        Of the five nearest of each class, or fewer where there are few, the share still among its nearest here.
    sentence : str
        The above, to be printed in the picture.
    """

    points: Array
    error: float
    rank_correlation: float
    neighbours_kept: float
    sentence: str

    @property
    def is_exact(self) -> bool:
        """Whether the points are the prototypes themselves."""
        return self.error == 0


def project(vectors: Any, dim: int = 2, *, keep: str = "neighbours") -> Projection:
    """Return points of ``dim`` dimensions that stand for prototypes, and how far they are to be trusted.

    Parameters
    ----------
    vectors : array, shape (K, D)
        Unit rows.
    dim : {2, 3}
        Dimensions of the picture. Prototypes that have no more are returned as they are.
    keep : {"neighbours", "angles"}, default "neighbours"
        What the picture tries to keep: who is near whom, at the cost of the angles, or all angles alike.

    Examples
    --------
    >>> project(np.eye(2)).sentence
    '2 dimensions, drawn as they are.'
    >>> 20 < project(np.eye(8), keep="angles").error < 40  # eight axes do not fit into a plane
    True
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if dim not in (2, 3):
        raise InputError(f"`dim` must be 2 or 3, the dimensions of a picture; got {dim}.")
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError(f"`vectors` must be finite, of shape (num_classes, dim); got shape {vectors.shape}.")
    layout = choose(keep, LAYOUTS, what="thing to keep")
    if vectors.shape[1] <= dim:
        return Projection(vectors, 0.0, 1.0, 1.0, f"{vectors.shape[1]} dimensions, drawn as they are.")
    with one_thread():  # the same picture on every machine
        start = principal_axes(vectors, dim)
        small = len(vectors) <= LAID_OUT
        points = layout(angles(vectors), start) if small else start
        return _measured(vectors, points, how=f"keeping {keep}" if small else "along its principal axes")


def angles(vectors: Array) -> Array:
    """Return the angle of every two unit rows, in radians. Shape (K, K)."""
    between: Array = np.arccos(np.clip(vectors @ vectors.T, -1, 1))
    np.fill_diagonal(between, 0)
    return between


def distances(points: Array) -> Array:
    """Return the Euclidean distance of every two rows. Shape (K, K)."""
    squares = (points**2).sum(axis=1)
    apart: Array = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    np.fill_diagonal(apart, 0)
    return apart


def principal_axes(vectors: Array, dim: int) -> Array:
    """Return the coordinates along the ``dim`` directions that vary most. Shape (K, dim)."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :dim]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(dim)])  # an axis has no sign of its own
    along: Array = centred @ axes
    return along


def _measured(vectors: Array, points: Array, *, how: str) -> Projection:
    """Scale the points so that distances come nearest to angles, and measure what is left."""
    from scipy.stats import spearmanr

    count = min(len(vectors), MEASURED)
    chosen = np.linspace(0, len(vectors) - 1, count).astype(int)
    true, drawn = angles(vectors[chosen]), distances(points[chosen])
    scale = float((true * drawn).sum() / max((drawn**2).sum(), 1e-300))
    pairs = np.triu_indices(count, 1)
    error = float(np.degrees(np.abs(true - scale * drawn)[pairs].mean()))
    varies = np.ptp(true[pairs].round(9)) > 0 and np.ptp(drawn[pairs]) > 0
    rank = float(spearmanr(true[pairs].round(9), drawn[pairs]).statistic) if varies else 0.0
    nearest = min(NEAREST, max(1, (count - 1) // 2))  # of few classes, five would be all
    kept = _neighbours_kept(true, drawn, nearest)
    who = "" if count == len(vectors) else f", measured on {count} of them"
    sentence = (
        f"{len(vectors)} classes of {vectors.shape[1]} dimensions, drawn in {points.shape[1]} {how}{who}. "
        f"Of the {nearest} nearest of a class, {kept:.0%} are among its {nearest} nearest here "
        f"(by chance {nearest / max(count - 1, 1):.0%}); "
        f"angles are off by {error:.0f}° on average (rank correlation {rank:.2f})."
    )
    return Projection(scale * points, error, rank, kept, sentence)


def _neighbours_kept(true: Array, drawn: Array, k: int) -> float:
    """Return the share of each class's ``k`` nearest by ``true`` that are among its ``k`` nearest by ``drawn``."""
    own = np.arange(len(true))
    before, after = (nearest_rows(-matrix, own, k).ids for matrix in (true, drawn))
    return float((before[:, :, None] == after[:, None, :]).any(axis=2).mean())
