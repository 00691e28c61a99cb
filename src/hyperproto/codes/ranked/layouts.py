"""Where to start: the prior itself, laid out in D dimensions."""

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.code import Array
from hyperproto.codes.descent import random_points, unit_rows

__all__ = ["positive_part", "spectral_layout"]

NEGATIVE = 1e-9  # of the largest eigenvalue: so far below 0 is rounding
NOISE = 1e-3  # parts classes that the prior cannot tell apart


def positive_part(similarity: Array) -> Array:
    """Return the nearest similarities that are products of vectors, for all classes; a sample of rows stays as it is.

    A layout keeps no axis along which like classes would be far apart. Cosines come back as they are.
    """
    if similarity.shape[0] != similarity.shape[1]:
        return similarity
    centred = similarity - similarity.mean(axis=0) - similarity.mean(axis=1, keepdims=True) + similarity.mean()
    values, axes = np.linalg.eigh(centred)
    if values[0] > -NEGATIVE * values[-1]:
        return similarity
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


def spectral_layout(similarity: Array, members: NDArray[np.intp], num_points: int, dim: int, *, seed: int) -> Array:
    """Return the directions in which the centred prior varies most. Shape (num_points, dim).

    Parameters
    ----------
    similarity : Array, shape (A, M)
        Rows of the prior for some anchors, or all M classes.
    members : Array of int, shape (M,)
        The classes the columns stand for; the others start at random.
    """
    centred = similarity - similarity.mean(axis=0) - similarity.mean(axis=1, keepdims=True) + similarity.mean()
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    rank = min(dim, len(sizes))
    layout = NOISE * random_points(len(members), dim, seed)
    layout[:, :rank] += directions[:rank].T * np.sqrt(sizes[:rank])
    points = random_points(num_points, dim, seed)
    points[members] = unit_rows(layout)
    return points
