"""A first look at the data as a prior: classes that look alike before anything is trained.

Class means in the space where the scatter within classes is round (Fisher's linear discriminant): their cosines say
which classes a network will find hard to tell apart, on these very data, without names, word vectors or labels of
labels. In few dimensions neighbours on the sphere share mistakes, so this is the prior to train with.
"""

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.seeding import derive_seed
from hyperproto.priors.patches import patch_features
from hyperproto.priors.prior import Missing, Prior
from hyperproto.priors.vectors import ClassVectors, cosine_prior
from hyperproto.priors.wording import check_missing, settle_missing

__all__ = ["draw_examples", "from_data"]

LOOKED_AT = 25_000  # more examples change little: a mean of 100 is known to a tenth of the scatter
COMPONENTS = 128  # principal components that are kept; scatter is estimated in so many dimensions
WIDEST = 2_000  # columns of which those are found exactly; of more, among as many random mixtures of them
SHRINKAGE = 0.1  # of the scatter towards a ball, so that directions of little scatter do not count for all


def from_data(
    inputs: Tensor | NDArray[np.generic],
    labels: Tensor | NDArray[np.generic],
    names: tuple[str, ...] | None = None,
    *,
    num_classes: int | None = None,
    missing: Missing = "error",
    seed: int = 0,
) -> Prior:
    """Return the prior in which classes are as similar as their training examples look.

    Parameters
    ----------
    inputs : Tensor or array, shape (n, features) or (n, channels, height, width)
        Training examples; of images, responses to small patches are taken, see
        :mod:`~hyperproto.priors.patches`. At most 25,000 are looked at, each class in its share.
    labels : Tensor or array of integers, shape (n,)
        Their classes; negative where missing.
    names : tuple of str, optional
        Class names, in the order of the ids.
    num_classes : int, optional
        K; the number of names, or one more than the largest label, unless given.
    missing : {"error", "free"}, default "error"
        What happens to classes without an example: an error that lists them, or placement without prior.
    seed : int, default 0
        Which examples and patches are drawn.

    Examples
    --------
    >>> x = torch.tensor([[0.0, 0.1], [0.2, 0.0], [3.0, 0.2], [3.1, 0.0], [0.0, 9.0], [0.3, 9.1]])
    >>> prior = from_data(x, torch.tensor([0, 0, 1, 1, 2, 2]))
    >>> bool(prior.similarity[0, 1] > prior.similarity[0, 2])
    True
    """
    check_missing(missing)
    seed = check_integer(seed, "seed", at_least=0)
    examples, ids = _check_examples(inputs, labels)
    if num_classes is None:
        num_classes = len(names) if names is not None else int(ids.max()) + 1
    if int(ids.max()) >= num_classes:
        raise InputError(
            f"`labels` must be class ids below {num_classes}, the number of classes; got {int(ids.max())}."
        )
    kept = draw_examples(ids, seed=seed)
    examples, ids = examples[kept], ids[kept]
    known = np.bincount(ids.numpy(), minlength=num_classes) > 0
    absent = [names[k] if names is not None else str(k) for k in np.flatnonzero(~known)]
    told = settle_missing(absent, num_classes, missing=missing, where="the examples")
    features = patch_features(examples, seed=seed) if examples.ndim == 4 else _plain(examples)
    if features.shape[1] > WIDEST:
        features = _mixed(features, seed)
    table = np.zeros((num_classes, min(COMPONENTS, features.shape[1])))
    means = discriminant_means(features, ids)
    table[known, : means.shape[1]] = means
    if missing == "free":
        known &= table.any(axis=1)  # a class in the very middle is like no other
    what = "patches of images" if examples.ndim == 4 else "columns"
    return cosine_prior(ClassVectors(table, known, f"{len(ids)} examples by {what}", tuple(told)), names)


def discriminant_means(features: Tensor, ids: Tensor) -> NDArray[np.float64]:
    r"""Return where the classes lie once the scatter within them is round. Shape (classes with examples, components).

    .. math:: w_k = L^{-1} (m_k - m), \qquad L L^T = (1 - s)\,\Sigma + s\,\tfrac{tr \Sigma}{d}\,I

    with :math:`m_k` the mean of class k, m the mean of the means, and :math:`\Sigma` the covariance about them.
    """
    centred = (features - features.mean(dim=0)).double()
    _, _, axes = torch.linalg.svd(centred.T @ centred / len(centred))
    reduced = centred @ axes[: min(COMPONENTS, axes.shape[0])].T
    _, row = torch.unique(ids, return_inverse=True)
    counts = torch.bincount(row).double().unsqueeze(1)
    means = torch.zeros(len(counts), reduced.shape[1], dtype=torch.float64).index_add_(0, row, reduced) / counts
    rest = reduced - means[row]
    scatter = rest.T @ rest / len(rest)
    ball = scatter.trace() / len(scatter)
    if ball == 0:  # one example a class: there is no scatter to make round
        scatter, ball = torch.eye(len(scatter), dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    shrunk = (1 - SHRINKAGE) * scatter + SHRINKAGE * ball * torch.eye(len(scatter), dtype=torch.float64)
    factor = torch.linalg.cholesky(shrunk)
    apart = means - means.mean(dim=0)
    placed = torch.linalg.solve_triangular(factor, apart.T, upper=False).T
    return cast(NDArray[np.float64], placed.numpy())


def _check_examples(inputs: object, labels: object) -> tuple[Tensor, Tensor]:
    examples, ids = torch.as_tensor(inputs).cpu(), torch.as_tensor(labels).cpu()
    if examples.ndim not in (2, 4):
        raise InputError(
            "`inputs` must have shape (n, features) or (n, channels, height, width); "
            f"got {tuple(examples.shape)}. Flatten each example to one row."
        )
    if ids.is_floating_point() or ids.dtype == torch.bool or ids.shape != examples.shape[:1]:
        raise InputTypeError(
            f"`labels` must be {len(examples)} integer class ids; got {ids.dtype}, shape {tuple(ids.shape)}."
        )
    if examples.dtype == torch.bool:
        examples = examples.to(torch.uint8)
    if examples.ndim == 4 and examples.is_floating_point() and not bool(examples.isfinite().all()):
        raise InputError("`inputs` must be finite; the images hold NaN or infinity. Drop those first.")
    if not bool((ids >= 0).any()):
        raise InputError("`labels` must hold at least one class id; all are missing.")
    return examples, ids.long()


def draw_examples(ids: Tensor, *, seed: int, most: int = LOOKED_AT) -> Tensor:
    """Return which examples are looked at: all that have a label, or a draw in which each class keeps its share."""
    present = (ids >= 0).nonzero().flatten()
    if len(present) <= most:
        return present
    generator = torch.Generator().manual_seed(derive_seed(seed, "examples of a prior"))
    order = present[torch.randperm(len(present), generator=generator)]
    by_class = order[torch.argsort(ids[order], stable=True)]
    wide = torch.float64 if len(by_class) >= 2**24 else torch.float32  # which holds ids up to there
    every = torch.linspace(0, len(by_class) - 1, most, dtype=wide).round().long()  # evenly through the classes
    drawn = by_class[every]
    rare = by_class[~torch.isin(ids[by_class], ids[drawn])]
    return torch.cat([drawn, rare]).sort().values


def _mixed(features: Tensor, seed: int) -> Tensor:
    """Return random mixtures of very many columns, which keep distances (Johnson and Lindenstrauss)."""
    generator = torch.Generator().manual_seed(derive_seed(seed, "mixtures of a prior"))
    mixing = torch.randn(features.shape[1], WIDEST, generator=generator, dtype=features.dtype)
    mixed: Tensor = features @ mixing / float(features.shape[1]) ** 0.5
    return mixed


def _plain(table: Tensor) -> Tensor:
    """Return a table with columns of mean 0 and spread 1; entries that are missing (NaN) are 0."""
    values = table.double()
    if bool(values.isinf().any()):
        raise InputError("`inputs` must be finite, or NaN where missing; they hold infinity. Drop those rows first.")
    values = (values - values.nanmean(dim=0)).nan_to_num(0.0)
    spread = values.std(dim=0, correction=0)
    return values / spread.masked_fill(spread == 0, 1)
