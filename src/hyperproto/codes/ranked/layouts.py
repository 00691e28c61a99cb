"""Where to start: the prior itself, laid out in D dimensions."""

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.code import Array
from hyperproto.codes.descent import random_points, unit_rows

__all__ = ["spectral_layout"]

NOISE = 1e-3  # parts classes that the prior cannot tell apart


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
