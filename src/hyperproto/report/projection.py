"""Prototypes of any dimension as points to draw, with what the drawing gets wrong.

On the circle and on S² nothing is lost. Beyond, no picture can be right: many classes about 90°
from each other do not fit into two or three dimensions. So neighbors are kept rather than angles,
and the error is measured.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, require
from hyperproto._core.processes import one_thread

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

LAID_OUT = (
    1500  # classes; beyond, every pair in every step takes minutes, and principal axes are drawn
)
MEASURED = 1500  # classes whose pairs the error is measured over; beyond, evenly spaced ones


@dataclass(frozen=True, eq=False)
class Projection:
    """Classes as points in two or three dimensions.

    Attributes
    ----------
    points : array, shape (K, 2) or (K, 3)
        Where to draw each class. Their distances are in radians, to compare with angles.
    error : float
        Mean absolute difference between the angle of two prototypes and their distance in the
        picture, in degrees; 0 where nothing was projected.
    neighbors_kept : float
        Of the five nearest of each class, or fewer where there are few, the share still among its
        nearest here.
    sentence : str
        The above, to be printed in the picture.
    """

    points: Array
    error: float
    neighbors_kept: float
    sentence: str

    @property
    def is_exact(self) -> bool:
        """Whether the points are the prototypes themselves."""
        return self.error == 0


def project(vectors: Any, dim: int = 2) -> Projection:
    """Return points of ``dim`` dimensions that stand for prototypes, and how accurate they are.

    The picture keeps the nearest classes of each by t-SNE [1]_, at the cost of the angles; beyond
    1500 classes, and of fewer than four, it shows the principal axes.

    Parameters
    ----------
    vectors : array, shape (K, D)
        Unit rows.
    dim : {2, 3}
        Dimensions of the picture. Prototypes that have no more are returned as they are.

    References
    ----------
    .. [1] van der Maaten, Hinton. "Visualizing Data using t-SNE." JMLR 2008.

    Examples
    --------
    >>> project(np.eye(2)).sentence
    '2 dimensions, drawn as they are.'
    >>> 20 < project(np.eye(8)).error < 40  # eight axes do not fit into a plane
    True
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if dim not in (2, 3):
        raise InputError("dim", "be 2 or 3, the dimensions of a picture", dim)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError(
            "vectors", "be finite, of shape (num_classes, dim)", f"shape {vectors.shape}"
        )
    if vectors.shape[1] <= dim:
        return Projection(vectors, 0.0, 1.0, f"{vectors.shape[1]} dimensions, drawn as they are.")
    with one_thread():  # the same picture on every machine
        points = _principal_axes(vectors, dim)
        if 4 <= len(vectors) <= LAID_OUT:
            return _measured(
                vectors, _keep_neighbors(_angles(vectors), points), how="keeping neighbors"
            )
        return _measured(vectors, points, how="along its principal axes")


def _principal_axes(vectors: Array, dim: int) -> Array:
    """Return coordinates along the ``dim`` directions that vary most, and a little noise for rows
    that are equal.
    """
    decomposition = require(
        "sklearn.decomposition", extra="sklearn", purpose="A picture of a sphere"
    )
    points = 1e-3 * np.random.default_rng(0).normal(size=(len(vectors), dim))
    with np.errstate(invalid="ignore"):  # of rows that are all equal, PCA divides 0 by 0
        along = decomposition.PCA(min(dim, *vectors.shape)).fit_transform(vectors)
    points[:, : along.shape[1]] += along
    return points


def _keep_neighbors(angles: Array, start: Array) -> Array:
    """Return points whose neighbors are those by the angles (K, K)."""
    manifold = require("sklearn.manifold", extra="sklearn", purpose="A picture of a sphere")
    # about how many neighbors count: the ones a reader would look for around a name
    perplexity = min(8.0, (len(angles) - 1) / 2)
    start = start / start.std() * 1e-4  # small, so that the layout can untangle
    model = manifold.TSNE(
        start.shape[1], perplexity=perplexity, metric="precomputed", init=start, random_state=0
    )
    return np.asarray(model.fit_transform(angles), dtype=np.float64)


def _angles(vectors: Array) -> Array:
    """Return the angle of every two unit rows, in radians. Shape (K, K)."""
    between: Array = np.arccos(np.clip(vectors @ vectors.T, -1, 1))
    np.fill_diagonal(between, 0)
    return between


def _measured(vectors: Array, points: Array, *, how: str) -> Projection:
    """Scale the points so that distances come nearest to angles, and measure what is left."""
    from scipy.spatial.distance import cdist

    count = min(len(vectors), MEASURED)
    chosen = np.linspace(0, len(vectors) - 1, count).astype(int)
    true, drawn = _angles(vectors[chosen]), cdist(points[chosen], points[chosen])
    scale = float((true * drawn).sum() / max((drawn**2).sum(), 1e-300))
    pairs = np.triu_indices(count, 1)
    error = float(np.degrees(np.abs(true - scale * drawn)[pairs].mean()))
    few = min(5, max(1, (count - 1) // 2))  # of few classes, five would be all
    before, after = (nearest(-matrix, np.arange(count), few)[0] for matrix in (true, drawn))
    kept = float((before[:, :, None] == after[:, None, :]).any(axis=2).mean())
    who = "" if count == len(vectors) else f", measured on {count} of them"
    sentence = (
        f"{len(vectors)} classes of {vectors.shape[1]} dimensions, drawn in {points.shape[1]} "
        f"{how}{who}. "
        f"Of the {few} nearest of a class, {kept:.0%} are among its {few} nearest here "
        f"(by chance {few / max(count - 1, 1):.0%}); "
        f"angles are off by {error:.0f}° on average."
    )
    return Projection(scale * points, error, kept, sentence)


def nearest(similarity: Array, own: Ids, k: int) -> tuple[Ids, Array, NDArray[np.bool_]]:
    """Return the ``k`` largest of each row (n, K) but its own class (n,): ids and values (n, k),
    the largest first.

    Equals are in the order of the classes. The last, of shape (n,), tells where a class that is not
    listed is as near as the last one that is, to three digits.
    """
    # similarities that agree to here are listed in the order of the classes
    values = similarity.astype(np.float64).round(9)
    values[np.arange(len(own)), own] = -np.inf
    ids = np.argsort(-values, axis=1, kind="stable")[:, :k]
    listed = np.take_along_axis(values, ids, axis=1)
    # to so much, they read the same in a table
    return ids, listed, (values >= listed[:, -1:] - 5e-4).sum(axis=1) > k
