"""The nearest of each class: by a matrix of similarities, or by the cosines of prototypes, in blocks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError

__all__ = ["Nearest", "nearest", "nearest_placed", "nearest_rows"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

BLOCK_ENTRIES = 2**22  # of similarities held at a time: 32 MB
DIGITS = 9  # similarities that agree to here are listed in the order of the classes
TIED = 5e-4  # and to here, they read the same in a table


class Nearest(NamedTuple):
    """The k nearest of n classes: ``ids`` and ``values`` of shape (n, k), nearest first; ``tied`` of shape (n,).

    ``tied`` says where a class that is not listed is as near as the last one that is, to three digits.
    """

    ids: Ids
    values: Array
    tied: NDArray[np.bool_]


def nearest(similarity: Any, k: int, *, classes: Any = None, known: Any = None) -> Nearest:
    """Return the ``k`` nearest of each class by a matrix of similarities, larger being nearer.

    Parameters
    ----------
    similarity : array, shape (K, K)
        Its diagonal is not looked at.
    classes : array of int, shape (n,), optional
        The classes to answer for; all by default.
    known : array of bool, shape (K,), optional
        Classes the matrix says something about; the others are nobody's neighbours.

    Examples
    --------
    >>> nearest([[1, 0.5, 0.2], [0.5, 1, 0.9], [0.2, 0.9, 1]], 1).ids.ravel().tolist()
    [1, 2, 1]
    """
    similarity = np.asarray(similarity)
    count = len(similarity)
    ids = np.arange(count) if classes is None else np.asarray(classes, dtype=np.int64)
    others = np.ones(count, dtype=bool) if known is None else np.asarray(known, dtype=bool)
    k = min(check_integer(k, "k", at_least=1), count - 1, int(others.sum()) - 1)
    if k < 1:
        raise InputError("Neighbours need two classes or more that are known; there are fewer.")
    blocks = (np.where(others, similarity[part], -np.inf) for part in _blocks(ids, count))
    return _joined(nearest_rows(block, part, k) for block, part in zip(blocks, _blocks(ids, count), strict=True))


def nearest_placed(vectors: Any, k: int, *, classes: Any = None) -> Nearest:
    """Return the ``k`` nearest of each class by the cosine of unit rows, without a K x K matrix.

    Parameters
    ----------
    vectors : array, shape (K, D)
        Unit rows.
    classes : array of int, shape (n,), optional
        The classes to answer for; all by default.
    """
    vectors = np.asarray(vectors)
    ids = np.arange(len(vectors)) if classes is None else np.asarray(classes, dtype=np.int64)
    k = min(check_integer(k, "k", at_least=1), len(vectors) - 1)
    return _joined(nearest_rows(vectors[part] @ vectors.T, part, k) for part in _blocks(ids, len(vectors)))


def nearest_rows(similarity: Array, own: Ids, k: int) -> Nearest:
    """Return the ``k`` largest of each row but its own class; ties in the order of the classes.

    Parameters
    ----------
    similarity : array, shape (n, K)
        Rows of similarities.
    own : array of int, shape (n,)
        The class of each row.
    k : int
        Fewer than K.
    """
    values = similarity.astype(np.float64).round(DIGITS)
    values[np.arange(len(own)), own] = -np.inf
    if np.isnan(values).any():
        row = int(np.isnan(values).any(axis=1).argmax())
        raise InputError(
            f"Similarities must be numbers; row {own[row]} holds NaN. Mark classes without any as unknown."
        )
    last = -np.partition(-values, k - 1, axis=1)[:, k - 1 : k]
    rows, columns = np.nonzero((values >= last) & np.isfinite(values))
    order = np.lexsort((columns, -values[rows, columns], rows))
    found = np.bincount(rows, minlength=len(own))
    first = np.cumsum(found) - found
    ids = columns[order][first[:, None] + np.arange(k)]
    return Nearest(ids, np.take_along_axis(values, ids, axis=1), (values >= last - TIED).sum(axis=1) > k)


def _blocks(ids: Ids, count: int) -> Iterator[Ids]:
    size = max(1, BLOCK_ENTRIES // count)
    for start in range(0, max(len(ids), 1), size):
        yield ids[start : start + size]


def _joined(parts: Iterator[Nearest]) -> Nearest:
    ids, values, tied = zip(*parts, strict=True)
    return Nearest(np.concatenate(ids), np.concatenate(values), np.concatenate(tied))
