"""Word vectors themselves as prototypes, reduced to D dimensions: the paper's word2vec baseline."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.checks import check_integer, check_names
from hyperproto._core.errors import InputError, arg
from hyperproto.priors.prior import class_label
from hyperproto.priors.vectors import check_rows, find_vectors
from hyperproto.prototypes.prototypes import Prototypes

VANISHED = (
    1e-9  # of the longest row: a class this close to the average of all has no direction left
)
SAME = 1e-9  # cosines of 1 up to this are two classes with one prototype


def word_vector_prototypes(vectors: object, names: Sequence[str] | None, dim: int) -> Prototypes:
    """Return the directions of the first ``dim`` principal components of the classes' standardized
    word vectors.

    Unlike ``hp.place(names, dim, prior=...)``, which separates classes, this uses the vectors
    unchanged: the baseline of Tables 1 and 2. K vectors have K - 1 components at most; beyond,
    coordinates are zero.

    Parameters
    ----------
    vectors : path, array of shape (num_classes, any), mapping, or gensim-like object
        As for a prior (docs/explanation/priors.md); a name of several words is the average of
        theirs.
    names : sequence of str, or None
        Class names; None only where vectors are in class order.
    dim : int
        D.

    Examples
    --------
    >>> words = {"cat": [1.0, 0.0, 0.2], "dog": [1.0, 0.0, 0.3], "oak": [-1.0, 0.0, 0.1]}
    >>> prototypes = word_vector_prototypes(words, ["cat", "dog", "oak"], 2)
    >>> [round(float(cosine), 2) for cosine in prototypes.vectors[0] @ prototypes.vectors.T]
    [1.0, 0.5, -0.76]
    """
    dim = check_integer(dim, "dim", at_least=2)
    given = None if names is None else check_names(names)
    table, known, source, notes = find_vectors(vectors, given, progress=False)
    check_rows(table, known, given)
    reduced = principal_components(table, dim)
    lengths = np.linalg.norm(reduced, axis=1)
    lost = np.flatnonzero(lengths <= VANISHED * lengths.max())
    if len(lost):
        raise InputError(
            "Every class",
            f"differ from the average of all in the first {dim} components; class {class_label(lost[0], given)} does "
            f"not ({len(lost)} of {len(table)} classes)",
            advice=f"Raise {arg('dim')}.",
        )
    prototypes = Prototypes.from_tensor(
        torch.from_numpy(reduced / lengths[:, None]),
        given,
        method=f"principal components of {source}",
    )
    shared = int(((prototypes.vectors @ prototypes.vectors.T).triu(diagonal=1) > 1 - SAME).sum())
    if shared:
        notes = (
            *notes,
            f"{shared} pairs of classes share a prototype and cannot be distinguished.",
        )
    return replace(prototypes, certificate=replace(prototypes.certificate, note=" ".join(notes)))


def principal_components(table: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """Return the coordinates of rows along the axes in which they differ most. Shape (num_classes,
    dim).

    Columns are scaled to variance 1 first. Of the two directions of an axis the one is taken in
    which the farthest row lies.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform(table)  # a constant column becomes zero
    fitted = PCA(svd_solver="full").fit(scaled)
    sizes = fitted.singular_values_
    rank = min(dim, int((sizes > sizes[0] * max(table.shape) * np.finfo(np.float64).eps).sum()))
    result = np.zeros((len(table), dim))
    result[:, :rank] = fitted.transform(scaled)[:, :rank]
    farthest = result[np.abs(result).argmax(axis=0), np.arange(dim)]
    return result * np.where(farthest < 0, -1.0, 1.0)
