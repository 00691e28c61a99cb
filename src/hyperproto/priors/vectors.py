"""Vectors as a prior: the cosine between two classes is their similarity."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors.names import lacking_words, match
from hyperproto.priors.prior import Missing, Prior, build_prior, coinciding
from hyperproto.priors.wording import check_missing, label, listed, need_names, settle_missing

__all__ = [
    "ClassVectors",
    "as_array",
    "check_rows",
    "cosine_prior",
    "find_vectors",
    "from_vectors",
    "is_array",
    "is_vocabulary",
    "look_up",
]
DIGITS = 12  # of a cosine: a product of matrices gives equal vectors cosines that differ in the sixteenth


class ClassVectors(NamedTuple):
    """A vector for each class, before anything is made of them.

    Attributes
    ----------
    table : ndarray of float64, shape (num_classes, any)
        Rows of classes without vector are zero.
    known : ndarray of bool, shape (num_classes,)
    source : str
        Where they came from.
    remarks : tuple of str
        What is worth knowing about them.
    """

    table: NDArray[np.float64]
    known: NDArray[np.bool_]
    source: str
    remarks: tuple[str, ...] = ()


def from_vectors(
    vectors: object, names: tuple[str, ...] | None = None, *, missing: Missing = "error", source: str = "vectors"
) -> Prior:
    """Return the prior in which classes are as similar as the cosine of their vectors.

    Parameters
    ----------
    vectors : array or tensor of shape (num_classes, any), mapping, or gensim-like object
        One row a class, in class order; or something that gives a vector for a word: a dict, gensim's
        ``KeyedVectors``, or a model that has them as ``wv``.
    names : tuple of str, optional
        Class names; needed where vectors are looked up by word, as :mod:`hyperproto.priors.names` says.
    missing : {"error", "free"}, default "error"
        What happens to names without vector: an error that lists them, or placement without prior.
    source : str, default "vectors"
        What the certificate calls them.

    Examples
    --------
    >>> prior = from_vectors({"maple": [1.0, 0.0], "tree": [1.0, 1.0], "fox": [0.0, 2.0]}, ("maple_tree", "fox"))
    >>> float(prior.similarity[0, 1].round(4))
    0.4472
    """
    return cosine_prior(find_vectors(vectors, names, missing=missing, source=source), names)


def find_vectors(
    vectors: object, names: tuple[str, ...] | None, *, missing: Missing = "error", source: str = "vectors"
) -> ClassVectors:
    """Return the vector of each class, from whatever :func:`from_vectors` takes."""
    check_missing(missing)
    if not is_vocabulary(vectors):
        table = as_array(vectors, what="Vectors")
        return ClassVectors(table, np.ones(len(table), dtype=bool), source)
    vocabulary: Any = getattr(vectors, "wv", vectors)
    held: Any = getattr(vocabulary, "key_to_index", vocabulary)  # fastText's claims to contain every word
    words = [key for key in held if isinstance(key, str)] if isinstance(held, Mapping) else None
    names = need_names(names, what="A vector")
    return look_up(names, held.__contains__, vocabulary.__getitem__, missing=missing, source=source, vocabulary=words)


def is_array(value: object) -> bool:
    """Say whether a value is an array, a tensor, or nested sequences of numbers."""
    return hasattr(value, "__array__") or isinstance(value, list | tuple)


def is_vocabulary(value: object) -> bool:
    """Say whether a value answers to words with vectors, as a dict or gensim's objects do."""
    if hasattr(value, "wv") or hasattr(value, "key_to_index"):
        return True
    return hasattr(value, "__contains__") and hasattr(value, "__getitem__") and not is_array(value)


def as_array(value: Any, *, what: str) -> NDArray[np.float64]:
    """Return numbers from an array, a tensor on any device, or nested sequences as a matrix of float64."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"{what} must be numbers in rows of one length; got {type(value).__name__} ({error})."
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{what} must be a matrix with one row a class; got shape {array.shape}.")
    return array


def look_up(
    names: tuple[str, ...],
    has: Callable[[str], bool],
    get: Callable[[str], Any],
    *,
    missing: Missing,
    source: str,
    vocabulary: Iterable[str] | None = None,
    remarks: Iterable[str] = (),
) -> ClassVectors:
    """Return the vectors of names whose words have some: ``has`` says which do and ``get`` gives them."""
    words = [match(name, has) for name in names]
    absent = [name for name, found in zip(names, words, strict=True) if not found]
    lacking = lacking_words(absent[0], has) if absent else []
    reason = f'"{absent[0]}" lacks {listed(lacking)}.' if lacking and lacking != absent[:1] else ""
    told = settle_missing(
        absent, len(names), missing=missing, where=f"the {source}", vocabulary=vocabulary, reason=reason
    )
    known = np.array([bool(found) for found in words])
    rows = {word: _one_vector(get(word), word) for found in words for word in found}
    _check_one_length(rows)
    table = np.zeros((len(names), len(next(iter(rows.values())))))
    for index in np.flatnonzero(known):
        table[index] = np.mean([rows[word] for word in words[index]], axis=0)
    averaged = [name for name, found in zip(names, words, strict=True) if len(found) > 1]
    if averaged:
        told.append(
            f"{len(averaged)} of {len(names)} names are averages of their words' vectors: {listed(averaged)}."
        )
    return ClassVectors(table, known, source, (*remarks, *told))


def _one_vector(value: Any, word: str) -> NDArray[np.float64]:
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(f'The vector of "{word}" must be numbers; got {value!r:.60}.') from None
    if vector.ndim != 1 or not len(vector):
        raise InputError(f'The vector of "{word}" must be one row of numbers; got shape {vector.shape}.')
    return vector


def _check_one_length(rows: Mapping[str, NDArray[np.float64]]) -> None:
    first, dim = next((word, len(vector)) for word, vector in rows.items())
    other = next((word for word, vector in rows.items() if len(vector) != dim), None)
    if other is not None:
        raise InputError(
            f'Vectors must have one dimension; "{first}" has {dim} numbers and "{other}" has {len(rows[other])}.'
        )


def cosine_prior(vectors: ClassVectors, names: tuple[str, ...] | None) -> Prior:
    """Return the prior of vectors: finite, none of them zero, duplicates remarked on."""
    table, known, source, remarks = vectors
    check_rows(table, known, names)
    largest = np.abs(table).max(axis=1)
    unit = table / np.where(known, largest, 1.0)[:, None]  # first by the largest entry, so that no square overflows
    unit /= np.where(known, np.linalg.norm(unit, axis=1), 1.0)[:, None]
    similarity = unit @ unit.T
    np.clip(similarity, -1.0, 1.0, out=similarity)
    np.round(similarity, DIGITS, out=similarity)
    return build_prior(similarity, known, source, [*remarks, *coinciding(similarity, known, names)], names)


def check_rows(table: NDArray[np.float64], known: NDArray[np.bool_], names: tuple[str, ...] | None) -> None:
    """Check that every vector that is there is finite and has a direction."""
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise InputError(
            f"Vectors of a prior must be finite; that of class {label(bad[0], names)} holds NaN or infinity "
            f"({len(bad)} of {len(table)} classes). Repair the vectors, or leave that class out of them."
        )
    zero = np.flatnonzero(~table.any(axis=1) & known)
    if len(zero):
        raise InputError(
            f"Vectors of a prior must have a direction; that of class {label(zero[0], names)} is zero "
            f'({len(zero)} of {len(table)} classes). Leave it out, with missing="free", to place it without prior.'
        )
