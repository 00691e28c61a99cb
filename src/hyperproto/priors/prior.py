"""The prior itself: how close each pair of classes should be, and which classes it knows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperproto._core.checks import check_names, choose, nearest_name
from hyperproto._core.errors import InputError, arg

Missing = Literal["error", "free"]
CHOICES = dict.fromkeys(("error", "free"))  # for classes without prior

FREE = arg("missing", '"free"')  # as advice
# of the largest entry: float32 matrices computed as a product are this far from symmetric
SYMMETRY = 1e-6
SAME = 1e-9  # similarities of 1 up to this are two classes the prior cannot distinguish
SUGGEST_FROM = 20_000  # words: comparing with more takes long enough to be felt


@dataclass(frozen=True, eq=False)
class Prior:
    """How similar classes are, for placement.

    Attributes
    ----------
    similarity : ndarray of float64, shape (num_classes, num_classes)
        Symmetric; larger is closer. Only the order and spacing off the diagonal count: the diagonal
        is the largest entry or 1. Rows and columns of classes without prior are 0 off the diagonal
        and must not be read.
    known : ndarray of bool, shape (num_classes,)
        False where a class has no prior and is placed without.
    source : str
        Where it came from, for the certificate.
    notes : tuple of str
        What is worth knowing about it, such as classes it cannot distinguish; one sentence each.
    names : tuple of str, or None
        The classes of the rows where they are known, so that a prior can be put into another order.
    """

    similarity: NDArray[np.float64]
    known: NDArray[np.bool_]
    source: str
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None:
            object.__setattr__(self, "names", check_names(self.names))
            if len(self.names) != self.num_classes:
                rule = f"name each of the {self.num_classes} classes of the prior"
                raise InputError("names", rule, f"{len(self.names)} names")
        check_similarity(self.similarity, self.names)
        if self.known.shape != (self.num_classes,) or self.known.dtype != np.bool_:
            rule = f"have one bool for each of the {self.num_classes} classes"
            raise InputError("known", rule, f"shape {self.known.shape} of {self.known.dtype}")

    @property
    def num_classes(self) -> int:
        """K, the number of classes."""
        return len(self.similarity)

    def __repr__(self) -> str:
        return f"Prior({self.num_classes} classes, {self.source})"

    def ordered(self, names: tuple[str, ...]) -> "Prior":
        """Return this prior for ``names``: some or all of its own classes, in another order.

        >>> prior = Prior(np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([True, False]), "by hand",
        ...     (), ("cat", "dog"))
        >>> prior.ordered(("dog", "cat")).known.tolist()
        [False, True]
        """
        if self.names is None or names == self.names:
            return self
        row = {name: index for index, name in enumerate(self.names)}
        absent = [name for name in names if name not in row]
        if absent:
            raise InputError(
                "prior",
                f"be for the classes to place; {len(absent)} of {len(names)} are not in it: "
                f"{quoted(absent)}",
                advice=f"It is for {quoted(self.names, limit=3)}.",
            )
        rows = np.array([row[name] for name in names])
        return Prior(
            self.similarity[np.ix_(rows, rows)], self.known[rows], self.source, self.notes, names
        )


def check_similarity(similarity: NDArray[np.float64], names: tuple[str, ...] | None) -> None:
    """Check that a matrix is square, finite and symmetric, naming the first class that is off."""
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise InputError(
            "A similarity matrix", "be square, classes by classes", f"shape {similarity.shape}"
        )
    if at_fault := first_class(~np.isfinite(similarity).all(axis=1), names):
        rule = f"be finite; the row of {at_fault} is not"
        advice = "Search for NaN where it was computed."
        raise InputError("A similarity matrix", rule, advice=advice)
    difference = similarity - similarity.T
    np.abs(difference, out=difference)  # of many classes each K x K counts
    if difference.size and difference.max() > SYMMETRY * np.abs(similarity).max():
        i, j = np.unravel_index(difference.argmax(), difference.shape)
        raise InputError(
            "A similarity matrix",
            f"be symmetric; classes {class_label(i, names)} and {class_label(j, names)} have "
            f"{similarity[i, j]:.4g} one way and {similarity[j, i]:.4g} the other",
            advice=(
                "Average it with its transpose; use priors.from_vectors for one vector per class."
            ),
        )


def build_prior(
    similarity: NDArray[np.float64],
    known: NDArray[np.bool_],
    source: str,
    notes: Iterable[str] = (),
    names: tuple[str, ...] | None = None,
    *,
    itself: float = np.inf,
) -> Prior:
    """Return a prior from a checked matrix: exactly symmetric, the diagonal largest, unknown
    classes blank.

    The source gains how many classes the prior knows, and the notes which pairs of classes are as
    similar as a class is to ``itself``, where that is known.
    """
    similarity = similarity + similarity.T
    similarity /= 2
    similarity[~known, :] = similarity[:, ~known] = 0.0
    off = ~np.eye(len(similarity), dtype=bool) & np.outer(known, known)
    smallest = similarity.min(where=off, initial=np.inf)
    largest = similarity.max(where=off, initial=-np.inf)
    np.fill_diagonal(similarity, max(1.0, largest))
    notes = list(notes)
    pairs = np.argwhere(np.triu(similarity > itself - SAME) & off)
    if len(pairs):
        count = "1 pair of classes is" if len(pairs) == 1 else f"{len(pairs)} pairs of classes are"
        labels = [f"{class_label(i, names)} and {class_label(j, names)}" for i, j in pairs[:5]]
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        notes.append(
            f"{count} identical to the prior, which cannot distinguish them: "
            f"{', '.join(labels)}{more}."
        )
    if off.sum() > 2 and smallest == largest:
        notes.append("The prior says nothing: every pair of classes is equally similar.")
    counted = f"{source} ({known.sum()} of {len(known)} classes)"
    return Prior(similarity, known, counted, tuple(notes), names)


def class_label(index: int | np.integer, names: Sequence[str] | None) -> str:
    """Return the name of a class in quotes, or its number where there are no names."""
    return str(int(index)) if names is None else f'"{names[int(index)]}"'


def first_class(off: ArrayLike, names: Sequence[str] | None) -> str:
    """Return the first class of those that are ``off``, shape (K,), and how many are; nothing where
    none is.

    >>> first_class(np.array([False, True, True]), ("cat", "dog", "fox"))
    'class "dog" (2 of 3 classes)'
    """
    rows = np.flatnonzero(off)
    if not len(rows):
        return ""
    return f"class {class_label(rows[0], names)} ({len(rows)} of {np.size(off)} classes)"


def quoted(names: Sequence[str], *, limit: int = 10) -> str:
    """Return names in quotes, the first few of them.

    >>> quoted(["cat", "dog", "bird"], limit=2)
    '"cat", "dog" and 1 more'
    """
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def require_names(names: tuple[str, ...] | None, *, what: str) -> tuple[str, ...]:
    """Return the class names, which ``what`` is looked up by."""
    if names is None:
        raise InputError(
            "names", f"be given: {what} is looked up by class name", "only the number of classes"
        )
    return names


def handle_missing(
    names: Sequence[str],
    found: Iterable[object],
    *,
    missing: str,
    where: str,
    vocabulary: Collection[str] = (),
    reason: str = "",
) -> list[str]:
    """Raise where classes have no prior and must have one, or return the note that they are placed
    without.

    ``found`` is, for each name, what ``where`` has for it, if anything; ``vocabulary`` are the
    names it has, for a suggestion. ``reason`` says why the first was not found.
    """
    choose(missing, CHOICES, what="choice for missing classes")
    total, absent = len(names), [name for name, one in zip(names, found, strict=True) if not one]
    if not absent:
        return []
    suggestion = nearest_name(absent[0], vocabulary) if len(vocabulary) <= SUGGEST_FROM else ""
    if len(absent) == total:
        raise InputError(
            "prior",
            f"know the classes; none of the {total} is in {where}: {quoted(absent)}",
            advice=f"Check that it is for these classes. {suggestion}".strip(),
        )
    if missing == "free":
        return [
            f"{len(absent)} of {total} classes are not in {where} and are placed without "
            f"prior: {quoted(absent)}."
        ]
    advice = f"Rename them, or use {FREE} to place them without prior."
    raise InputError(
        "Every class",
        f"be in {where}; {len(absent)} of {total} are not: {quoted(absent)}",
        advice=" ".join(filter(None, [reason, suggestion, advice])),
    )
