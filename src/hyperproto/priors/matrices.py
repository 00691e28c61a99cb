"""A matrix over pairs of classes as a prior: similarities, or how often one is mistaken for the other."""

import csv
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import unknown_choice
from hyperproto._core.errors import InputError
from hyperproto.priors.prior import Missing, Prior, build_prior, class_label, handle_missing
from hyperproto.priors.vectors import as_array, row_labels
from hyperproto.priors.word_vector_files import read_array_file


def from_similarity(
    matrix: object, names: tuple[str, ...] | None = None, *, source: str = "similarity matrix"
) -> Prior:
    """Return the prior that a matrix of similarities states; larger is closer, the diagonal is not read.

    Parameters
    ----------
    matrix : array, tensor or DataFrame, shape (num_classes, num_classes)
        Symmetric and finite. Distances are smaller where closer: pass them negated.
    names : tuple of str, optional
        The classes of its rows; with them, the prior can be used for these classes in any order. A DataFrame has them
        as its index.
    source : str, default "similarity matrix"
        What the certificate calls it.

    Examples
    --------
    >>> from_similarity([[1, 3], [3, 1]]).similarity.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    similarity, names = _labeled(matrix, names, what="A similarity matrix")
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
    matrix : array, tensor, DataFrame or path; shape (num_classes, num_classes)
        Counts or rates, a row for each true class; it need not be symmetric. Or a path to it, as ``.npy`` or as CSV,
        which may name the classes.
    similar : {"near", "far"}
        "near" puts classes that are mistaken for each other close, as semantics does; "far" separates them, so that
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
    if similar not in ("near", "far"):
        raise unknown_choice(similar, ("near", "far"), what="place for confusable classes")
    if isinstance(matrix, str | Path):
        path = Path(matrix)
        is_text = path.suffix.lower() in (".csv", ".tsv") and path.is_file()
        matrix, labels = (read_matrix_table(path) if is_text else None) or read_array_file(path)
        names = names if labels is None else tuple(labels)
    counts, names = _labeled(matrix, names, what="A confusion matrix")
    if counts.shape[0] != counts.shape[1]:
        raise InputError("A confusion matrix", "be square, true classes by predicted", f"shape {counts.shape}")
    bad = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            "A confusion matrix",
            f"contain counts or rates, finite and not negative; the entry of class {class_label(i, names)} mistaken "
            f"for {class_label(j, names)} is {counts[i, j]:.4g} ({len(bad)} such entries)",
        )
    totals = counts.sum(axis=1)
    known = totals > 0
    absent = [names[index] if names else str(index) for index in np.flatnonzero(~known)]
    where = "the rows of the confusion matrix that have samples"
    notes = handle_missing(absent, len(counts), missing=missing, where=where, advice="Count some samples of them")
    rates = counts / np.where(known, totals, 1.0)[:, None]
    sign = 1.0 if similar == "near" else -1.0
    source = f"confusion matrix, confusable classes {similar}"
    return build_prior(sign * (rates + rates.T) / 2, known, source, notes, names)


def _labeled(
    matrix: Any, names: tuple[str, ...] | None, *, what: str
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Return a matrix and the classes of its rows; the columns of a DataFrame are put in the order of its rows."""
    labels = row_labels(matrix)
    if labels is None:
        return as_array(matrix, what=what), names
    if sorted(map(str, matrix.columns)) != sorted(labels):
        raise InputError(what, "name its rows and columns alike; they differ")
    return as_array(matrix[list(matrix.index)], what=what), labels


def read_matrix_table(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None] | None:
    """Return the K x K matrix of a CSV or TSV file and the names of its classes; None where it is no such matrix.

    The first row or the first column may name the classes. A table of two columns of text is a taxonomy, not a
    matrix.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            rows = [[cell.strip() for cell in row] for row in lines if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        return None
    if not rows or len(rows[-1]) < 3 or not _is_number(rows[-1][-1]):
        return None
    across = None if all(_is_number(cell) for cell in rows[0][1:]) else rows.pop(0)
    down = None if all(_is_number(row[0]) for row in rows) else [row.pop(0) for row in rows]
    if across is not None and len(across) == len(rows) + 1:
        across = across[1:]
    if down is not None and across is not None and down != across:
        raise InputError(f'"{path}"', "name its rows and columns alike; they differ")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows) or not all(_is_number(cell) for cell in row):
            raise InputError(
                f'"{path}"',
                f"contain a square of numbers, {len(rows)} in each row; row {number} has {len(row)} cells or text "
                "among them",
            )
    names = down or across
    return np.array(rows, dtype=np.float64), None if names is None else tuple(names)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
