"""The prior itself: how close each pair of classes should be, and which classes it speaks of."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_names
from hyperproto._core.errors import InputError
from hyperproto.priors.wording import label, listed

__all__ = ["Missing", "Prior", "build_prior", "coinciding"]

Missing = Literal["error", "free"]

SYMMETRY = 1e-6  # of the largest entry: float32 matrices computed as a product are this far from symmetric
SAME = 1e-9  # similarities of 1 up to this are two classes the prior cannot tell apart


@dataclass(frozen=True, eq=False)
class Prior:
    """How similar classes are, for placement.

    Attributes
    ----------
    similarity : ndarray of float64, shape (num_classes, num_classes)
        Symmetric; larger is closer. Only the order and spacing off the diagonal count: the diagonal holds the largest
        entry or 1. Rows and columns of classes without prior are 0 off the diagonal and are not to be read.
    known : ndarray of bool, shape (num_classes,)
        False where a class has no prior and is placed without.
    source : str
        Where it came from, for the certificate.
    remarks : tuple of str
        What is worth knowing about it, such as classes it cannot tell apart; one sentence each.
    names : tuple of str, or None
        The classes of the rows where they are known, so that a prior can be put into another order.
    """

    similarity: NDArray[np.float64]
    known: NDArray[np.bool_]
    source: str
    remarks: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None:
            object.__setattr__(self, "names", check_names(self.names))
        _check_similarity(self.similarity, self.names)
        if self.known.shape != self.similarity.shape[:1] or self.known.dtype != np.bool_:
            raise InputError(
                f"`known` must hold one bool for each of the {len(self.similarity)} classes; "
                f"got shape {self.known.shape} of {self.known.dtype}."
            )
        if self.names is not None and len(self.names) != self.num_classes:
            raise InputError(
                f"`names` must name each of the {self.num_classes} classes of the prior; got {len(self.names)} names."
            )

    @property
    def num_classes(self) -> int:
        """K, the number of classes."""
        return len(self.similarity)

    def __repr__(self) -> str:
        return f"Prior({self.num_classes} classes, {self.source})"

    def ordered(self, names: tuple[str, ...]) -> "Prior":
        """Return this prior for ``names``: some or all of its own classes, in another order.

        >>> prior = Prior(np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([True, False]), "by hand", (), ("cat", "dog"))
        >>> prior.ordered(("dog", "cat")).known.tolist()
        [False, True]
        """
        if self.names is None or names == self.names:
            return self
        row = {name: index for index, name in enumerate(self.names)}
        absent = [name for name in names if name not in row]
        if absent:
            raise InputError(
                f"The prior must be for the classes asked for; {len(absent)} of {len(names)} are not in it: "
                f"{listed(absent)}. It is for {listed(self.names, limit=3)}."
            )
        rows = np.array([row[name] for name in names])
        return Prior(self.similarity[np.ix_(rows, rows)], self.known[rows], self.source, self.remarks, names)


def _check_similarity(similarity: NDArray[np.float64], names: tuple[str, ...] | None) -> None:
    """Check that a matrix is square, finite and symmetric, naming the first class that is off."""
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise InputError(f"A similarity matrix must be square, classes by classes; got shape {similarity.shape}.")
    bad = np.flatnonzero(~np.isfinite(similarity).all(axis=1))
    if len(bad):
        raise InputError(
            f"A similarity matrix must be finite; the row of class {label(bad[0], names)} is not "
            f"({len(bad)} of {len(similarity)} rows). Look for NaN where it was computed."
        )
    apart = similarity - similarity.T
    np.abs(apart, out=apart)  # of many classes each K x K counts
    if apart.size and apart.max() > SYMMETRY * np.abs(similarity).max():
        i, j = np.unravel_index(apart.argmax(), apart.shape)
        raise InputError(
            f"A similarity matrix must be symmetric; classes {label(i, names)} and {label(j, names)} have "
            f"{similarity[i, j]:.4g} one way and {similarity[j, i]:.4g} the other. Average it with its transpose; "
            "use priors.from_confusion for counts of mistakes, or priors.from_vectors for one vector a class."
        )


def build_prior(
    similarity: NDArray[np.float64],
    known: NDArray[np.bool_],
    source: str,
    remarks: Iterable[str] = (),
    names: tuple[str, ...] | None = None,
) -> Prior:
    """Return a prior from a checked matrix: exactly symmetric, the diagonal largest, unknown classes blank.

    The source gains how many classes the prior speaks of.
    """
    similarity = similarity + similarity.T
    similarity /= 2
    similarity[~known, :] = similarity[:, ~known] = 0.0
    off = ~np.eye(len(similarity), dtype=bool) & np.outer(known, known)
    smallest, largest = similarity.min(where=off, initial=np.inf), similarity.max(where=off, initial=-np.inf)
    np.fill_diagonal(similarity, max(1.0, largest))
    remarks = list(remarks)
    if off.sum() > 2 and smallest == largest:
        remarks.append("The prior says nothing: every pair of classes is equally similar.")
    counted = f"{source} ({known.sum()} of {len(known)} classes)"
    return Prior(similarity, known, counted, tuple(remarks), names)


def coinciding(similarity: NDArray[np.float64], known: NDArray[np.bool_], names: tuple[str, ...] | None) -> list[str]:
    """Return a remark where pairs of known classes have similarity 1, the similarity of a class to itself."""
    pairs = np.argwhere(np.triu(similarity > 1 - SAME, k=1) & np.outer(known, known))
    if not len(pairs):
        return []
    shown = ", ".join(f"{label(i, names)} and {label(j, names)}" for i, j in pairs[:5])
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    count = "1 pair of classes is" if len(pairs) == 1 else f"{len(pairs)} pairs of classes are"
    return [f"{count} the same to the prior, which cannot tell them apart: {shown}{more}."]
