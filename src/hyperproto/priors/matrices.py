"""A matrix over pairs of classes as a prior: similarities, or how often one is taken for the other."""

from typing import Literal

import numpy as np

from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice
from hyperproto.priors.prior import Missing, Prior, build_prior
from hyperproto.priors.vectors import as_array
from hyperproto.priors.wording import check_missing, label, settle_missing

__all__ = ["from_confusion", "from_similarity"]

PEOPLED = "the rows of the confusion matrix that hold samples"


def from_similarity(
    matrix: object, names: tuple[str, ...] | None = None, *, source: str = "similarity matrix"
) -> Prior:
    """Return the prior that a matrix of similarities states; larger is closer, the diagonal is not read.

    Parameters
    ----------
    matrix : array or tensor, shape (num_classes, num_classes)
        Symmetric and finite. Distances are smaller where closer: pass them negated.
    names : tuple of str, optional
        The classes of its rows; given, the prior can be used for them in any order.
    source : str, default "similarity matrix"
        What the certificate calls it.

    Examples
    --------
    >>> from_similarity([[1, 3], [3, 1]]).similarity.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    similarity = as_array(matrix, what="A similarity matrix")
    if similarity.shape[0] == similarity.shape[1]:
        np.fill_diagonal(similarity, 0.0)  # not read, so it may hold anything
    known = np.ones(len(similarity), dtype=bool)
    checked = Prior(similarity, known, source, (), names)
    return build_prior(checked.similarity, known, source, (), names)


def from_confusion(
    matrix: object,
    *,
    similar: Literal["near", "far"],
    names: tuple[str, ...] | None = None,
    missing: Missing = "error",
) -> Prior:
    r"""Return the prior of a confusion matrix, with confusable classes near or far: an explicit choice.

    .. math:: S_{ij} = \pm\tfrac12\Bigl(\frac{C_{ij}}{\sum_k C_{ik}} + \frac{C_{ji}}{\sum_k C_{jk}}\Bigr)

    Parameters
    ----------
    matrix : array or tensor, shape (num_classes, num_classes)
        Counts or rates, a row for each true class; it need not be symmetric.
    similar : {"near", "far"}
        "near" puts classes that are taken for each other close, as semantics does; "far" keeps them apart, so that
        the pairs a network finds hard get the room.
    names : tuple of str, optional
        The classes of its rows.
    missing : {"error", "free"}, default "error"
        What happens to classes that have no samples in the matrix.

    Examples
    --------
    >>> from_confusion([[8, 2], [0, 5]], similar="far").similarity[0, 1].item()
    -0.1
    """
    check_missing(missing)
    if similar not in ("near", "far"):
        raise unknown_choice(similar, ("near", "far"), what="place for confusable classes")
    counts = as_array(matrix, what="A confusion matrix")
    if counts.shape[0] != counts.shape[1]:
        raise InputError(f"A confusion matrix must be square, true classes by predicted; got shape {counts.shape}.")
    bad = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            f"A confusion matrix must hold counts or rates, finite and not negative; the entry of class "
            f"{label(i, names)} taken for {label(j, names)} is {counts[i, j]:.4g} ({len(bad)} such entries)."
        )
    totals = counts.sum(axis=1)
    known = totals > 0
    called = names or tuple(str(index) for index in range(len(counts)))
    absent = [name for name, seen in zip(called, known, strict=True) if not seen]
    remarks = settle_missing(absent, len(counts), missing=missing, where=PEOPLED, advice="Count some samples of them")
    rates = counts / np.where(known, totals, 1.0)[:, None]
    sign = 1.0 if similar == "near" else -1.0
    source = f"confusion matrix, confusable classes {similar}"
    return build_prior(sign * (rates + rates.T) / 2, known, source, remarks, names)
