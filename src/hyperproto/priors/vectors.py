"""Vectors or similarities as a prior. The cosine of two vectors is a similarity; words are found by
class name.

``maple_tree`` is looked up unchanged, then in lower case, then with other separators (``maple
tree``, ``maple-tree``, ``mapletree``) and other case (``Maple_Tree``), and then as the average of
``maple`` and ``tree``; only if every one of its words is found is a name found. Plurals are left
alone: ``glasses`` is not ``glass``.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.arrays import Numbers, Values, to_numbers
from hyperproto._core.errors import InputError
from hyperproto._core.files import as_path
from hyperproto._core.processes import one_thread
from hyperproto.priors.prior import (
    FREE,
    Missing,
    Prior,
    build_prior,
    check_similarity,
    first_class,
    handle_missing,
    quoted,
    require_names,
)

SEPARATORS = re.compile(r"[\s_\-/]+")
# CUB-200-2011 numbers its names: 001.Black_footed_Albatross
NUMBERED = re.compile(r"^\d+\.(?=[^\W\d])")
CASES = (str, str.lower, str.capitalize, str.upper)
# of a cosine: a product of matrices gives equal vectors cosines that differ in the sixteenth
DIGITS = 12


class ClassVectors(NamedTuple):
    """A vector for each class, shape (K, any), zero where not ``known`` (K,); with source and notes
    of a prior.
    """

    table: Numbers
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
    matrix: Values, names: tuple[str, ...] | None = None, *, source: str = "similarity matrix"
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
        if sorted(map(str, matrix.columns)) != sorted(labels):
            raise InputError("A similarity matrix", "name its rows and columns alike; they differ")
        matrix, names = matrix[list(matrix.index)], labels
    similarity = to_numbers(matrix, "A similarity matrix", ndim=2, finite=False)
    distances = (similarity >= 0).all() and similarity.any() and not similarity.diagonal().any()
    if distances and similarity.shape[0] == similarity.shape[1]:
        raise InputError(
            "A similarity matrix",
            "be larger where classes are closer",
            "zeros on the diagonal, as distances have",
            "Negate distances; put ones on the diagonal of similarities.",
        )
    np.fill_diagonal(similarity, 0.0)  # not read, so any value is allowed
    check_similarity(similarity, names)
    return build_prior(similarity, np.ones(len(similarity), dtype=bool), source, (), names)


def find_vectors(
    vectors: Values,
    names: tuple[str, ...] | None,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> ClassVectors:
    """Return the vector of each class, from whatever :func:`from_vectors` accepts."""
    source, suggest = "vectors", True
    notes: tuple[str, ...] = ()
    if isinstance(vectors, str | Path):
        from hyperproto.priors.word_vector_files import read_array_file, read_words

        path, suggest = as_path(vectors), False
        source = f"word vectors {path.name}"
        if path.suffix != ".npy":
            names = require_names(names, what="a word vector")
            vectors, notes = read_words(path, possible_words(names), progress=progress)
        else:
            vectors, words = read_array_file(path)
            if words is not None:
                vectors = dict(zip(reversed(words), vectors[::-1], strict=True))
            else:
                source = f"vectors {path.name}"
    labels = row_labels(vectors)
    if labels is not None and names is not None:
        table = to_numbers(vectors, "vectors", ndim=2, finite=False)
        vectors = dict(zip(labels, table, strict=True))
    if not is_vocabulary(vectors):
        table = to_numbers(vectors, "vectors", ndim=2, finite=False)
        return ClassVectors(table, np.ones(len(table), dtype=bool), source)
    names = require_names(names, what="a vector")
    return look_up(names, vectors, missing=missing, source=source, notes=notes, suggest=suggest)


def row_labels(value: Values) -> tuple[str, ...] | None:
    """Return the names of the rows of a DataFrame; None for other values, and where rows are only
    numbered.
    """
    if not hasattr(value, "columns") or value.index.dtype.kind != "O":
        return None
    return tuple(map(str, value.index))


def is_array(value: object) -> bool:
    """Return whether a value is an array, a tensor, or nested sequences of numbers."""
    return hasattr(value, "__array__") or isinstance(value, list | tuple)


def is_vocabulary(value: object) -> bool:
    """Return whether a value answers to words with vectors, as a dict or gensim's objects do."""
    if hasattr(value, "wv") or hasattr(value, "key_to_index"):
        return True
    return hasattr(value, "__contains__") and hasattr(value, "__getitem__") and not is_array(value)


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
    vocabulary = getattr(vectors, "wv", vectors)
    # fastText's vocabulary claims to contain every word
    index = getattr(vocabulary, "key_to_index", vocabulary)
    has = index.__contains__
    words = [match_words(name, has) for name in names]
    first = next((name for name, found in zip(names, words, strict=True) if not found), "")
    lacking = [word for word in split_words(first) if not any(map(has, _cases(word)))]
    more = handle_missing(
        names,
        words,
        missing=missing,
        where=f"the {source}",
        vocabulary=index if suggest and hasattr(index, "keys") else (),
        reason=f'"{first}" lacks {quoted(lacking)}.' if lacking not in ([], [first]) else "",
    )
    every = dict.fromkeys(word for found in words for word in found)
    rows = {
        word: to_numbers(vocabulary[word], f'The vector of "{word}"', ndim=1, finite=False)
        for word in every
    }
    dims = {len(row): word for word, row in rows.items()}
    if len(dims) > 1:
        listed = " and ".join(f'"{word}" has {dim} numbers' for dim, word in dims.items())
        raise InputError("vectors", f"have one dimension; {listed}")
    known = np.array([bool(found) for found in words])
    table = np.zeros((len(names), max(dims)))
    table[known] = [np.mean([rows[word] for word in found], axis=0) for found in words if found]
    averaged = [name for name, found in zip(names, words, strict=True) if len(found) > 1]
    if averaged:
        more.append(
            f"{len(averaged)} of {len(names)} names are averages of their words' vectors: "
            f"{quoted(averaged)}."
        )
    return ClassVectors(table, known, source, (*notes, *more))


@one_thread()
def cosine_prior(vectors: ClassVectors, names: tuple[str, ...] | None) -> Prior:
    """Return the prior of vectors: finite, none of them zero, with a note on duplicates."""
    table, known, source, notes = vectors
    check_rows(table, known, names)
    # first by the largest entry, so that no square overflows
    unit = table / np.where(known, np.abs(table).max(axis=1), 1.0)[:, None]
    unit /= np.where(known, np.linalg.norm(unit, axis=1), 1.0)[:, None]
    similarity = unit @ unit.T
    np.clip(similarity, -1.0, 1.0, out=similarity)
    np.round(similarity, DIGITS, out=similarity)
    return build_prior(similarity, known, source, notes, names, itself=1.0)


def check_rows(table: Numbers, known: NDArray[np.bool_], names: tuple[str, ...] | None) -> None:
    """Check that the vector of every known class is finite and has a direction."""
    if at_fault := first_class(~np.isfinite(table).all(axis=1), names):
        raise InputError(
            "Vectors of a prior",
            f"be finite; that of {at_fault} contains NaN or infinity",
            advice="Repair the vectors, or leave that class out of them.",
        )
    if at_fault := first_class(~table.any(axis=1) & known, names):
        raise InputError(
            "Vectors of a prior",
            f"have a direction; that of {at_fault} is zero",
            advice=f"Leave it out, with {FREE}, to place it without prior.",
        )


def split_words(name: str) -> list[str]:
    """Return the words of a name, accents joined to their letters: folders of macOS separate them.

    >>> split_words("001.Black_footed Albatross")
    ['Black', 'footed', 'Albatross']
    """
    return SEPARATORS.sub(" ", NUMBERED.sub("", normalize("NFC", name).strip())).split()


def joined_key(name: str) -> str:
    """Return a form in which names that differ only in case and separators are equal.

    >>> joined_key("Maple-Tree") == joined_key("maple_tree")
    True
    """
    return "".join(split_words(name)).lower() or name


def possible_words(names: Iterable[str]) -> set[str]:
    """Return every word that :func:`look_up` may ask for, so that a reader can skip all others."""
    words = {form for name in names for form in _whole_forms(name)}
    words |= {form for name in names for word in split_words(name) for form in _cases(word)}
    return words - {""}


def match_words(name: str, has: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the words whose average is the vector of a name: one where the whole is known, none if
    not found.
    """
    whole = next(filter(has, _whole_forms(name)), None)
    if whole is not None:
        return (whole,)
    found = tuple(next(filter(has, _cases(word)), "") for word in split_words(name))
    return found if all(found) else ()


def _whole_forms(name: str) -> list[str]:
    words = split_words(name)
    joined = (mark.join(map(case, words)) for case in CASES for mark in ("_", " ", "-", ""))
    return [name, name.lower(), *joined]


def _cases(word: str) -> list[str]:
    return [case(word) for case in CASES]
