"""What images look like before a network has seen them: responses to patches drawn from the images themselves.

After Coates, Ng and Lee, "An analysis of single-layer networks in unsupervised feature learning" (2011): patches are
made equally bright and contrasted, whitened, compared with a few hundred of their own, and averaged over quarters.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.seeding import derive_seed

__all__ = ["patch_features"]

SIZE = 16  # pixels a side that are looked at
PATCH = 5
FILTERS = 192
DRAWN = 20_000  # patches that the whitening is estimated from
CONTRAST = 0.04  # of the range of a pixel: flat patches stay flat
FLOOR = 0.1  # of a variance, in whitening
THRESHOLD = 0.8
SOME = 500  # images that they are drawn from
BATCH = 250


def patch_features(images: Tensor, *, seed: int = 0) -> Tensor:
    """Return each image's responses to patches and its coarse colours.

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
    some = torch.randperm(len(images), generator=generator)[:SOME]
    filters = _filters(_patches(_small(images[some], scale)), generator)
    features = torch.cat([_responses(_small(batch, scale), filters) for batch in torch.split(images, BATCH)])
    spread = features.std(dim=0, correction=0)
    return (features - features.mean(dim=0)) / spread.masked_fill(spread == 0, 1)


def _small(images: Tensor, scale: float) -> Tensor:
    """Return images at 16 pixels a side, by averages, on a scale from 0 to 1."""
    return functional.adaptive_avg_pool2d(images.float() / scale, SIZE)


def _patches(images: Tensor) -> Tensor:
    """Return every patch, all of one brightness and contrast. Shape (n, places, patch)."""
    drawn = functional.unfold(images, PATCH).mT
    drawn = drawn - drawn.mean(dim=2, keepdim=True)
    return drawn / (drawn.std(dim=2, keepdim=True) + CONTRAST)


def _filters(patches: Tensor, generator: torch.Generator) -> Tensor:
    """Return whitened patches as filters for patches that are not, each of sum 0. Shape (filters, patch)."""
    flat = patches.flatten(0, 1)
    flat = flat[torch.randperm(len(flat), generator=generator)[:DRAWN]]
    values, axes = torch.linalg.eigh((flat.T @ flat / len(flat)).double())
    whiten = (axes @ torch.diag((values + FLOOR).rsqrt()) @ axes.T).float()
    filters: Tensor = functional.normalize(flat[:FILTERS] @ whiten, dim=1) @ whiten
    return filters - filters.mean(dim=1, keepdim=True)


def _responses(images: Tensor, filters: Tensor) -> Tensor:
    """Return what passes a threshold on either side, averaged over quarters, and the colours of a 4 x 4 grid."""
    kernels = filters.view(len(filters), images.shape[1], PATCH, PATCH)
    # filters of sum 0 do not see a patch's brightness: its contrast is all that is left to divide by
    answers = functional.conv2d(images, kernels).div_(_spread(images) + CONTRAST)
    quarters = [functional.avg_pool2d(part.relu_(), answers.shape[-1] // 2).flatten(1) for part in _sides(answers)]
    return torch.cat([*quarters, functional.avg_pool2d(images, 4).flatten(1)], dim=1)


def _sides(answers: Tensor) -> Iterator[Tensor]:
    yield answers - THRESHOLD
    yield answers.neg_().sub_(THRESHOLD)


def _spread(images: Tensor) -> Tensor:
    """Return the standard deviation of the patch at every place. Shape (n, 1, side, side)."""
    entries = images.shape[1] * PATCH * PATCH
    mean = functional.avg_pool2d(images.mean(dim=1, keepdim=True), PATCH, stride=1)
    square = functional.avg_pool2d(images.square().mean(dim=1, keepdim=True), PATCH, stride=1)
    return (square - mean.square()).clamp_min(0).mul(entries / (entries - 1)).sqrt()
