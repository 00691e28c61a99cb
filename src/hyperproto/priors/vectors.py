"""Vectors or similarities as a prior. The cosine of two vectors is a similarity; words are found by
class name.

``maple_tree`` is looked up unchanged, then in lower case, then with other separators (``maple
tree``, ``maple-tree``, ``mapletree``) and other case (``Maple_Tree``), and then as the average of
``maple`` and ``tree``; only if every one of its words is found is a name found. Plurals are left
alone: ``glasses`` is not ``glass``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.files import as_path
from hyperproto._core.processes import one_thread
from hyperproto.priors.prior import (
    FREE,
    Missing,
    Prior,
    build_prior,
    class_label,
    handle_missing,
    identical_pairs,
    quoted,
    require_names,
)

SEPARATORS = re.compile(r"[\s_\-/]+")
NUMBERED = re.compile(
    r"^\d+\.(?=[^\W\d])"
)  # CUB-200-2011 numbers its names: 001.Black_footed_Albatross
# of a cosine: a product of matrices gives equal vectors cosines that differ in the sixteenth
DIGITS = 12


class ClassVectors(NamedTuple):
    """A vector for each class, shape (K, any), zero where not ``known`` (K,); with source and notes
    of a prior.
    """

    table: NDArray[np.float64]
    known: NDArray[np.bool_]
    source: str
    notes: tuple[str, ...] = ()


def from_vectors(
    vectors: object,
    names: tuple[str, ...] | None = None,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> Prior:
    """Return the prior in which classes are as similar as the cosine of their vectors.

    Parameters
    ----------
    vectors : array or tensor of shape (num_classes, any), mapping, gensim-like object, or path
        One row per class, in class order; something that gives a vector for a word: a dict, a
        DataFrame with words as its index, gensim's ``KeyedVectors``, or a model that has them as
        ``wv``; or a file: GloVe's or word2vec's text, word2vec's binary, either of them gzipped, or
        an ``.npy`` matrix. The rows of ``words.npy`` are named by ``words.txt`` in the same folder,
        one per line; without it they are the classes in their order. The first of repeated words
        counts.
    names : tuple of str, optional
        Class names; needed where vectors are looked up by word, as :mod:`hyperproto.priors.vectors`
        says.
    missing : {"error", "free"}, default "error"
        What happens to names without vector: an error that lists them, or placement without prior.
    progress : bool, optional
        Whether to show a progress bar for a file; by default where standard error is a terminal.

    Examples
    --------
    >>> prior = from_vectors({"maple": [1.0, 0.0], "tree": [1.0, 1.0], "fox": [0.0, 2.0]},
    ...     ("maple_tree", "fox"))
    >>> float(prior.similarity[0, 1].round(4))
    0.4472
    """
    return cosine_prior(find_vectors(vectors, names, missing=missing, progress=progress), names)


def from_similarity(
    matrix: object, names: tuple[str, ...] | None = None, *, source: str = "similarity matrix"
) -> Prior:
    """Return the prior that a matrix of similarities states; larger is closer, the diagonal is not
    read.

    Parameters
    ----------
    matrix : array, tensor or DataFrame, shape (num_classes, num_classes)
        Symmetric and finite. Distances are smaller where closer: pass them negated. Of a confusion
        matrix with rates R, a row for each true class, pass ``(R + R.T) / 2`` to place confusable
        classes near each other.
    names : tuple of str, optional
        The classes of its rows; with them, the prior can be used for these classes in any order. A
        DataFrame has them as its index.
    source : str, default "similarity matrix"
        What the certificate calls it.

    Examples
    --------
    >>> from_similarity([[1, 3], [3, 1]]).similarity.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    labels = row_labels(matrix)
    if labels is not None:  # of a DataFrame, whose columns are put in the order of its rows
        table: Any = matrix
        if sorted(map(str, table.columns)) != sorted(labels):
            raise InputError("A similarity matrix", "name its rows and columns alike; they differ")
        matrix, names = table[list(table.index)], labels
    similarity = as_array(matrix, what="A similarity matrix")
    if similarity.shape[0] == similarity.shape[1]:
        if not similarity.diagonal().any() and (similarity >= 0).all() and similarity.any():
            raise InputError(
                "A similarity matrix",
                "be larger where classes are closer",
                "zeros on the diagonal, as distances have",
                "Negate distances; put ones on the diagonal of similarities.",
            )
        np.fill_diagonal(similarity, 0.0)  # not read, so any value is allowed
    known = np.ones(len(similarity), dtype=bool)
    checked = Prior(similarity, known, source, (), names)
    return build_prior(checked.similarity, known, source, (), names)


def find_vectors(
    vectors: Any,
    names: tuple[str, ...] | None,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> ClassVectors:
    """Return the vector of each class, from whatever :func:`from_vectors` accepts."""
    source, from_file = "vectors", isinstance(vectors, str | Path)
    notes: tuple[str, ...] = ()
    if from_file:
        from hyperproto.priors.word_vector_files import read_array_file, read_words

        path = as_path(vectors)
        if path.suffix == ".npy":
            vectors, words = read_array_file(path)
            source = f"vectors {path.name}"
            if words is not None:
                vectors = dict(zip(reversed(words), vectors[::-1], strict=True))
        else:
            names = require_names(names, what="a word vector")
            vectors, notes = read_words(path, possible_words(names), progress=progress)
        if is_vocabulary(vectors):
            source = f"word vectors {path.name}"
    labels = row_labels(vectors)
    if labels is not None and names is not None:
        vectors = dict(zip(labels, as_array(vectors, what="vectors"), strict=True))
    if not is_vocabulary(vectors):
        table = as_array(vectors, what="vectors")
        return ClassVectors(table, np.ones(len(table), dtype=bool), source)
    names = require_names(names, what="a vector")
    return look_up(
        names, vectors, missing=missing, source=source, notes=notes, suggest=not from_file
    )


def row_labels(value: Any) -> tuple[str, ...] | None:
    """Return the names of the rows of a DataFrame; None for other values, and where rows are only
    numbered.
    """
    if not (hasattr(value, "index") and hasattr(value, "columns")):
        return None
    labels = list(value.index)
    return tuple(map(str, labels)) if any(isinstance(label, str) for label in labels) else None


def is_array(value: object) -> bool:
    """Return whether a value is an array, a tensor, or nested sequences of numbers."""
    return hasattr(value, "__array__") or isinstance(value, list | tuple)


def is_vocabulary(value: object) -> bool:
    """Return whether a value answers to words with vectors, as a dict or gensim's objects do."""
    if hasattr(value, "wv") or hasattr(value, "key_to_index"):
        return True
    return hasattr(value, "__contains__") and hasattr(value, "__getitem__") and not is_array(value)


def as_array(value: Any, *, what: str, ndim: int = 2) -> NDArray[np.float64]:
    """Return numbers from an array, a tensor on any device, or nested sequences as float64: a
    matrix, or one row.
    """
    try:
        found = value.detach().cpu().double().numpy() if hasattr(value, "detach") else value
        array = np.array(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            what, "be numbers in rows of one length", f"{type(value).__name__} ({error})"
        ) from None
    if array.ndim != ndim or 0 in array.shape:
        rule = "be a matrix with one row per class" if ndim == 2 else "be one row of numbers"
        raise InputError(what, rule, f"shape {array.shape}")
    return array


def look_up(
    names: tuple[str, ...],
    vectors: Any,
    *,
    missing: Missing,
    source: str,
    notes: Iterable[str],
    suggest: bool,
) -> ClassVectors:
    """Return the vectors of names whose words have some in a vocabulary, which may ``suggest``
    words of its own.
    """
    vocabulary: Any = getattr(vectors, "wv", vectors)
    index: Any = getattr(
        vocabulary, "key_to_index", vocabulary
    )  # fastText's claims to contain every word
    listed = (
        [key for key in index if isinstance(key, str)]
        if suggest and isinstance(index, Mapping)
        else []
    )
    has = index.__contains__
    words = [match_words(name, has) for name in names]
    absent = [name for name, found in zip(names, words, strict=True) if not found]
    lacking = [
        word for name in absent[:1] for word in split_words(name) if not any(map(has, _cases(word)))
    ]
    reason = f'"{absent[0]}" lacks {quoted(lacking)}.' if lacking and lacking != absent[:1] else ""
    found_out = handle_missing(
        absent, len(names), missing=missing, where=f"the {source}", vocabulary=listed, reason=reason
    )
    known = np.array([bool(found) for found in words])
    every = dict.fromkeys(word for found in words for word in found)
    rows = {
        word: as_array(vocabulary[word], what=f'The vector of "{word}"', ndim=1) for word in every
    }
    first, dim = next((word, len(vector)) for word, vector in rows.items())
    for word, vector in rows.items():
        if len(vector) != dim:
            raise InputError(
                "vectors",
                f'have one dimension; "{first}" has {dim} numbers and "{word}" has {len(vector)}',
            )
    table = np.zeros((len(names), dim))
    for index in np.flatnonzero(known):
        table[index] = np.mean([rows[word] for word in words[index]], axis=0)
    averaged = [name for name, found in zip(names, words, strict=True) if len(found) > 1]
    if averaged:
        found_out.append(
            f"{len(averaged)} of {len(names)} names are averages of their words' vectors: "
            f"{quoted(averaged)}."
        )
    return ClassVectors(table, known, source, (*notes, *found_out))


@one_thread()
def cosine_prior(vectors: ClassVectors, names: tuple[str, ...] | None) -> Prior:
    """Return the prior of vectors: finite, none of them zero, with a note on duplicates."""
    table, known, source, notes = vectors
    check_rows(table, known, names)
    largest = np.abs(table).max(axis=1)
    unit = (
        table / np.where(known, largest, 1.0)[:, None]
    )  # first by the largest entry, so that no square overflows
    unit /= np.where(known, np.linalg.norm(unit, axis=1), 1.0)[:, None]
    similarity = unit @ unit.T
    np.clip(similarity, -1.0, 1.0, out=similarity)
    np.round(similarity, DIGITS, out=similarity)
    return build_prior(
        similarity, known, source, [*notes, *identical_pairs(similarity, known, names)], names
    )


def check_rows(
    table: NDArray[np.float64], known: NDArray[np.bool_], names: tuple[str, ...] | None
) -> None:
    """Check that the vector of every known class is finite and has a direction."""
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise InputError(
            "Vectors of a prior",
            f"be finite; that of class {class_label(bad[0], names)} contains NaN or infinity "
            f"({len(bad)} of {len(table)} classes)",
            advice="Repair the vectors, or leave that class out of them.",
        )
    zero = np.flatnonzero(~table.any(axis=1) & known)
    if len(zero):
        raise InputError(
            "Vectors of a prior",
            f"have a direction; that of class {class_label(zero[0], names)} is zero "
            f"({len(zero)} of {len(table)} classes)",
            advice=f"Leave it out, with {FREE}, to place it without prior.",
        )


def split_words(name: str) -> list[str]:
    """Return the words of a name, accents joined to their letters: folders of macOS separate them.

    >>> split_words("001.Black_footed Albatross")
    ['Black', 'footed', 'Albatross']
    """
    return [
        word for word in SEPARATORS.split(NUMBERED.sub("", normalize("NFC", name).strip())) if word
    ]


def joined_key(name: str) -> str:
    """Return a form in which names that differ only in case and separators are equal.

    >>> joined_key("Maple-Tree") == joined_key("maple_tree")
    True
    """
    return "".join(split_words(name)).lower() or name


def possible_words(names: Iterable[str]) -> set[str]:
    """Return every word that :func:`look_up` may ask for, so that a reader can skip all others."""
    words: set[str] = set()
    for name in names:
        words.update(_whole_forms(name))
        for word in split_words(name):
            words.update(_cases(word))
    return words - {""}


def match_words(name: str, has: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the words whose average is the vector of a name: one where the whole is known, none if
    not found.
    """
    for form in _whole_forms(name):
        if has(form):
            return (form,)
    found = tuple(next(filter(has, _cases(word)), "") for word in split_words(name))
    return found if all(found) else ()


def _whole_forms(name: str) -> list[str]:
    words = split_words(name)
    cased = [
        words,
        [w.lower() for w in words],
        [w.capitalize() for w in words],
        [w.upper() for w in words],
    ]
    return list(
        dict.fromkeys(
            [name, name.lower(), *(s.join(form) for form in cased for s in ("_", " ", "-", ""))]
        )
    )


def _cases(word: str) -> list[str]:
    return list(dict.fromkeys([word, word.lower(), word.capitalize(), word.upper()]))
