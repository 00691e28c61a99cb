r"""The data-driven prior: classes are as similar as their training examples, before anything is
trained.

Class means in the space where the scatter within classes is round (Fisher's linear discriminant):
their cosines say which classes a network will find hard to distinguish, on these very data, without
names or word vectors. In few dimensions neighbors on the sphere share mistakes, so this is the
prior to train with.

Images are first described by their responses to patches drawn from the images themselves, after
Coates, Ng and Lee, "An analysis of single-layer networks in unsupervised feature learning" (2011):
patches get equal brightness and contrast, are whitened, compared with a few hundred of their own,
and averaged over quarters of the image.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import lu
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from hyperproto._core.arrays import Array, Numbers
from hyperproto._core.checks import check_integer, names_or_numbers
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.processes import derive_seed, one_thread
from hyperproto.data.preprocessing import Standardizer, is_sparse, take_rows, to_scipy
from hyperproto.data.source import draw_rows
from hyperproto.priors.prior import Missing, Prior, handle_missing
from hyperproto.priors.vectors import ClassVectors, cosine_prior

MOST_EXAMPLES = 25_000  # more change little: a mean of 100 is known to a tenth of the scatter
COMPONENTS = 128  # principal components that are kept; scatter is estimated in as many dimensions
WIDEST = 2_000  # columns of which those are found exactly; of more, by a randomized method
# of the scatter toward a ball, so that directions of little scatter do not count for all
SHRINKAGE = 0.1

SIZE = 16  # pixels per side that images are reduced to
PATCH = 5
FILTERS = 192
PATCHES = 20_000  # that the whitening is estimated from
PATCH_IMAGES = 500  # that they are drawn from
CONTRAST = 0.04  # of the range of a pixel: flat patches stay flat
FLOOR = 0.1  # of a variance, in whitening
THRESHOLD = 0.8
BATCH = 250


@one_thread()
def from_data(
    inputs: Tensor | Array,
    labels: Tensor | Array,
    names: tuple[str, ...] | None = None,
    *,
    num_classes: int | None = None,
    missing: Missing = "error",
    seed: int = 0,
) -> Prior:
    """Return the prior in which classes are as similar as their training examples.

    Parameters
    ----------
    inputs : Tensor or array, shape (n, features) or (n, channels, height, width)
        Training examples; sparse rows are not made dense. At most 25,000 are used, each class in
        its share.
    labels : Tensor or array of integers, shape (n,)
        Their classes; negative where missing.
    names : tuple of str, optional
        Class names, in the order of the ids.
    num_classes : int, optional
        K (default: the number of names, or one more than the largest label).
    missing : {"error", "free"}, default "error"
        What happens to classes without an example: an error that lists them, or placement without
        prior.
    seed : int, default 0
        Which examples and patches are drawn.

    Examples
    --------
    >>> x = torch.tensor([[0.0, 0.1], [0.2, 0.0], [3.0, 0.2], [3.1, 0.0], [0.0, 9.0], [0.3, 9.1]])
    >>> prior = from_data(x, torch.tensor([0, 0, 1, 1, 2, 2]))
    >>> bool(prior.similarity[0, 1] > prior.similarity[0, 2])
    True
    """
    seed = check_integer(seed, "seed", at_least=0)
    examples, ids = _check_examples(inputs, labels)
    if num_classes is None:
        num_classes = len(names) if names is not None else int(ids.max()) + 1
    if int(ids.max()) >= num_classes:
        raise InputError(
            "labels", f"be class ids below {num_classes}, the number of classes", int(ids.max())
        )
    drawn = draw_examples(ids, seed=seed)
    examples, ids = take_rows(examples, drawn), ids[drawn]
    known = np.bincount(ids.numpy(), minlength=num_classes) > 0
    listed = names_or_numbers(names, num_classes)
    notes = handle_missing(listed, known, missing=missing, where="the examples")
    if examples.ndim == 4:
        features = patch_features(examples, seed=seed)
    elif is_sparse(examples):
        features = _leading_components(to_scipy(examples.double()), seed)
    else:
        rows = examples.double().numpy(force=True)
        gaps = np.isnan(rows)
        means = np.where(gaps, 0, rows).sum(axis=0) / np.maximum(1, (~gaps).sum(axis=0))
        rows = np.where(gaps, means, rows)
        features = Standardizer.fit(rows)(rows)
        if features.shape[1] > WIDEST:
            features = _leading_components(features.float().numpy(), seed)
    table = np.zeros((num_classes, min(COMPONENTS, features.shape[1])))
    means = discriminant_means(features, ids)
    table[known, : means.shape[1]] = means
    if missing == "free":
        known &= table.any(axis=1)  # a class in the very middle is like no other
    what = "patches of images" if examples.ndim == 4 else "columns"
    return cosine_prior(
        ClassVectors(table, known, f"{len(ids)} examples by {what}", tuple(notes)), names
    )


def discriminant_means(features: Tensor, ids: Tensor) -> Numbers:
    r"""Return the class means once the scatter within classes is round. Shape (classes with
    examples, components).

    .. math:: w_k = L^{-1} (m_k - m), \qquad L L^T = (1 - s)\,\Sigma + s\,\tfrac{tr \Sigma}{d}\,I

    with :math:`m_k` the mean of class k, m the mean of the means, and :math:`\Sigma` the covariance
    about them. Their cosines are those of scikit-learn's
    ``LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)``, which refuses what happens here:
    a single class, one example per class, classes without scatter.
    """
    centered = (features - features.mean(dim=0)).double()
    _, _, axes = torch.linalg.svd(centered.T @ centered / len(centered))
    reduced = centered @ axes[: min(COMPONENTS, axes.shape[0])].T
    _, row = torch.unique(ids, return_inverse=True)
    counts = torch.bincount(row).double().unsqueeze(1)
    means = reduced.new_zeros(len(counts), reduced.shape[1]).index_add_(0, row, reduced) / counts
    rest = reduced - means[row]
    scatter = rest.T @ rest / len(rest)
    identity = torch.eye(len(scatter), dtype=torch.float64)
    ball = scatter.trace() / len(scatter) * identity
    # one example per class leaves no scatter to make round
    shrunk = (1 - SHRINKAGE) * scatter + SHRINKAGE * ball if ball.any() else identity
    root, middle = torch.linalg.cholesky(shrunk), means.mean(dim=0)
    return torch.linalg.solve_triangular(root, (means - middle).T, upper=False).T.numpy()


def _check_examples(inputs: object, labels: object) -> tuple[Tensor, Tensor]:
    examples, ids = torch.as_tensor(inputs).cpu(), torch.as_tensor(labels).cpu()
    if examples.ndim not in (2, 4):
        raise InputError(
            "inputs",
            "have shape (n, features) or (n, channels, height, width)",
            tuple(examples.shape),
            "Flatten each example to one row.",
        )
    if ids.is_floating_point() or ids.dtype == torch.bool or ids.shape != examples.shape[:1]:
        raise InputTypeError(
            "labels",
            f"be {len(examples)} integer class ids",
            f"{ids.dtype}, shape {tuple(ids.shape)}",
        )
    if examples.dtype == torch.bool:
        examples = examples.to(torch.uint8)
    values = examples.values() if is_sparse(examples) else examples
    if bool(values.isinf().any()) or (examples.ndim == 4 and bool(values.isnan().any())):
        rule = "be finite, or in rows NaN where missing"
        raise InputError("inputs", rule, "NaN or infinity", "Drop those examples first.")
    if not bool((ids >= 0).any()):
        raise InputError("labels", "contain at least one class id", "only missing ones")
    return examples, ids.long()


def draw_examples(ids: Tensor, *, seed: int, most: int = MOST_EXAMPLES) -> Tensor:
    """Return which labeled examples to use: all, or about ``most``, of each class its share and at
    least one.
    """
    labeled = (ids >= 0).nonzero().flatten()
    if len(labeled) <= most:
        return labeled
    counts = (torch.bincount(ids[labeled]).double() * (most / len(labeled))).ceil().long()
    return labeled[draw_rows(ids[labeled], counts, seed=derive_seed(seed, "examples of a prior"))]


def _leading_components(matrix: NDArray[np.float32] | csr_array, seed: int) -> Tensor:
    """Return the coordinates of rows on their leading principal axes, about the origin.

    By a randomized method (Halko, Martinsson and Tropp, 2011): a few products with the rows, sparse
    ones as they are.
    """
    generator = torch.Generator().manual_seed(derive_seed(seed, "axes of a prior"))
    n, width = matrix.shape
    drawn = torch.randn(
        width, min(COMPONENTS + 32, n, width), generator=generator, dtype=torch.float64
    ).numpy()
    drawn = drawn.astype(matrix.dtype)
    for _ in range(2):  # the axes of QR span the same, but take five times as long
        drawn, _ = lu(matrix.T @ (matrix @ drawn), permute_l=True)
    drawn, _ = np.linalg.qr(matrix.T @ (matrix @ drawn))
    return torch.from_numpy(matrix @ drawn)


def patch_features(images: Tensor, *, seed: int = 0) -> Tensor:
    """Return each image's responses to patches and its coarse colors.

    Parameters
    ----------
    images : Tensor, shape (n, channels, height, width)
        uint8, or floating point on any scale.
    seed : int
        Which patches are drawn.

    Returns
    -------
    Tensor of float32, shape (n, features), each column of mean 0 and spread 1.
    """
    scale = 255.0 if images.dtype == torch.uint8 else max(float(images.abs().amax()), 1e-12)
    generator = torch.Generator().manual_seed(derive_seed(seed, "patches of a prior"))
    some = torch.randperm(len(images), generator=generator)[:PATCH_IMAGES]
    filters = _filters(_patches(_small(images[some], scale)), generator)
    features = torch.cat(
        [_responses(_small(batch, scale), filters) for batch in torch.split(images, BATCH)]
    )
    spread = features.std(dim=0, correction=0)
    return (features - features.mean(dim=0)) / spread.masked_fill(spread == 0, 1)


def _small(images: Tensor, scale: float) -> Tensor:
    """Return images of 16 x 16 pixels, by averages, on a scale from 0 to 1."""
    return functional.adaptive_avg_pool2d(images.float() / scale, SIZE)


def _patches(images: Tensor) -> Tensor:
    """Return every patch, all of one brightness and contrast. Shape (n, places, patch)."""
    patches = functional.unfold(images, PATCH).mT
    patches = patches - patches.mean(dim=2, keepdim=True)
    return patches / (patches.std(dim=2, keepdim=True) + CONTRAST)


def _filters(patches: Tensor, generator: torch.Generator) -> Tensor:
    """Return whitened patches as filters for patches that are not, each of sum 0. Shape (filters,
    patch).
    """
    flat = patches.flatten(0, 1)
    flat = flat[torch.randperm(len(flat), generator=generator)[:PATCHES]]
    values, axes = torch.linalg.eigh((flat.T @ flat / len(flat)).double())
    whiten = (axes @ torch.diag((values + FLOOR).rsqrt()) @ axes.T).float()
    filters: Tensor = functional.normalize(flat[:FILTERS] @ whiten, dim=1) @ whiten
    return filters - filters.mean(dim=1, keepdim=True)


def _responses(images: Tensor, filters: Tensor) -> Tensor:
    """Return what passes a threshold on either side, averaged over quarters, and the colors of a 4
    x 4 grid.
    """
    kernels = filters.view(len(filters), images.shape[1], PATCH, PATCH)
    # filters of sum 0 do not see a patch's brightness: its contrast is all that is left to divide
    # by
    answers = functional.conv2d(images, kernels).div_(_spread(images) + CONTRAST)
    half = answers.shape[-1] // 2
    above = functional.avg_pool2d((answers - THRESHOLD).relu_(), half).flatten(1)
    below = functional.avg_pool2d(answers.neg_().sub_(THRESHOLD).relu_(), half).flatten(1)
    return torch.cat([above, below, functional.avg_pool2d(images, 4).flatten(1)], dim=1)


def _spread(images: Tensor) -> Tensor:
    """Return the standard deviation of the patch at every place. Shape (n, 1, side, side)."""
    entries = images.shape[1] * PATCH * PATCH
    mean = functional.avg_pool2d(images.mean(dim=1, keepdim=True), PATCH, stride=1)
    square = functional.avg_pool2d(images.square().mean(dim=1, keepdim=True), PATCH, stride=1)
    return (square - mean.square()).clamp_min(0).mul(entries / (entries - 1)).sqrt()
