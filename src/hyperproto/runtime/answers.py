"""What is said about predictions, as plain values and arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.arrays import Array


class TopK(NamedTuple):
    """The k best classes of each input, best first.

    Attributes
    ----------
    values : array, shape (n, k)
        Cosines, or the scores of another space.
    names : array, shape (n, k)
    """

    values: Array
    names: Array


def rank(scores: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest scores of each row and where they are, best first,
    equals by their ids.
    """
    k = min(k, scores.shape[1])
    ids = (
        np.argpartition(-scores, k - 1, axis=1)[:, :k]
        if k < scores.shape[1]
        else np.arange(k)[None].repeat(len(scores), 0)
    )
    ids.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, ids, axis=1), axis=1, kind="stable")
    ids = np.take_along_axis(ids, order, axis=1)
    return np.take_along_axis(scores, ids, axis=1), ids


def describe_classes(
    names: Array,
    ids: Array,
    about: Mapping[str, Array],
    more: Mapping[str, Sequence[Any]],
    sets: Iterable[Array] | None = None,
    accepted: Array | None = None,
    unknown: Any = "unknown",
) -> list[dict[str, Any]]:
    """Return what is said about inputs as plain values: each has its best class, all of its best in
    "top", and more.

    Parameters
    ----------
    names : array, shape (num_classes,)
    ids : array of int64, shape (n, k)
        The k best classes of each input, best first.
    about : mapping of arrays, shape (n, k)
        What is said about each of them, such as its "cosine".
    more : mapping of sequences, shape (n,)
        What is said about each input.
    sets : iterable of arrays of int64, optional
        The classes in the "set" of each input.
    accepted : array of bool, shape (n,), optional
        Others are "unknown", and so is their name.
    """
    columns = {"name": names[ids].tolist()} | {
        key: values.tolist() for key, values in about.items()
    }
    rows: list[dict[str, Any]] = []
    for row in range(len(ids)):
        cells = zip(*(values[row] for values in columns.values()), strict=True)
        classes = [dict(zip(columns, cell, strict=True)) for cell in cells]
        rows.append(
            {**classes[0], **{key: values[row] for key, values in more.items()}, "top": classes}
        )
    for answer, members in zip(rows, () if sets is None else sets, strict=sets is not None):
        answer["set"] = names[members].tolist()
    for answer, known in zip(
        rows, () if accepted is None else accepted.tolist(), strict=accepted is not None
    ):
        answer |= {"unknown": not known, "name": answer["name"] if known else unknown}
    return rows


def names_in(masks: Array, names: Array) -> Array:
    """Return the names in each set, shape (n,), as tuples."""
    sets = np.empty(len(masks), dtype=object)
    sets[:] = [tuple(names[mask > 0].tolist()) for mask in masks]
    return sets


def with_unknown(labels: Array, accepted: NDArray[np.bool_], unknown: Any) -> Array:
    """Return labels with ``unknown`` in place of those that are not accepted, shape (n,).

    Where it is of another kind than the labels, the array holds objects, so that no label changes.

    >>> with_unknown(np.array(["cat", "dog"]), np.array([True, False]), "unknown").tolist()
    ['cat', 'unknown']
    """
    same_kind = labels.dtype.kind == np.asarray(unknown).dtype.kind and labels.dtype.kind in "ifU"
    return np.where(accepted, labels if same_kind else labels.astype(object), unknown)
