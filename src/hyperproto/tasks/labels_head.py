"""Several labels at once, on a block of axes: each has a fixed prototype, and so has no label."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import check_directions
from hyperproto.defaults import UNFITTED_SCALE
from hyperproto.prototypes import Prototypes, place
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks.head import Head
from hyperproto.tasks.labels import ANGLES, NONE, Labels

MOST = 16  # labels of a set that are looked for where prototypes are not orthonormal


class LabelsHead(Head):
    """Sets of labels: the prototypes of all labels, and that of the empty set behind them."""

    task: Labels
    prototypes: Tensor

    def __init__(self, task: Labels, axes: slice, placed: Prototypes) -> None:
        super().__init__(task, axes)
        self.register_buffer("prototypes", placed.vectors)
        self.certificate = placed.certificate
        gram = placed.vectors @ placed.vectors.mT
        self.orthonormal = torch.allclose(gram, torch.eye(len(gram), dtype=gram.dtype))

    @property
    def outlier(self) -> str:
        """How far an output reaches."""
        return "strength"

    @property
    def placed(self) -> Prototypes:
        """The prototypes with their names, where the labels have any."""
        names = None if self.task.names is None else (*self.task.names, NONE)
        return Prototypes(self.prototypes, self.certificate, names)

    def targets(self, masks: Tensor) -> Tensor:
        """Return the point of each set, shape (n, dim of the block): unit vectors."""
        empty = (masks.sum(dim=1, keepdim=True) == 0).to(masks.dtype)
        return normalize(torch.cat([masks, empty], dim=1) @ self.prototypes.to(masks.dtype))

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return 1 - cos to the point of each set, its square, the loss of products, or both."""
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            target = target.to(wide.dtype)
            miss = 1 - (normalize(wide) * self.targets(target)).sum(dim=1)
            if self.task.loss in ANGLES:
                return miss if self.task.loss == "cosine" else miss.square()
            apart = _ranked_apart(self._products(wide), target > 0)
            return apart if self.task.loss == "products" else apart + miss

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the prototype of each label, shape (n, K)."""
        return self._cosines(z)[:, :-1]

    def logits(self, z: Tensor) -> Tensor:
        """Return what a logistic function makes probabilities of, shape (n, K): how much further an
        output reaches toward each label than toward no label.
        """
        if self.task.loss in ANGLES:  # which leave lengths free
            cosines = self._cosines(z)
            return UNFITTED_SCALE * (cosines[:, :-1] - cosines[:, -1:])
        with torch.autocast(z.device.type, enabled=False):
            return self._products(self.part(z).to(working_dtype(z.dtype)))

    def probabilities(self, z: Tensor) -> Tensor:
        """Return the probability of each label, shape (n, K)."""
        return self.logits(z).sigmoid()

    def predict(self, z: Tensor) -> Tensor:
        """Return the nearest set, or all labels above the threshold, as masks of 0 and 1. Shape (n,
        K).
        """
        check_directions(self.part(z))
        if self.task.loss not in ANGLES:
            return (self.probabilities(z) > self.task.threshold).float()
        cosines = self._cosines(z)
        ids = cosines[:, :-1].argsort(dim=1, descending=True)
        sizes = torch.arange(1, ids.shape[1] + 1, device=z.device, dtype=cosines.dtype)
        reach = sizes.sqrt()
        if not self.orthonormal:
            ids = self._pursue(cosines)
            reach = self.prototypes.to(cosines.dtype)[ids].cumsum(dim=1).norm(dim=2)
        to_sets = cosines.gather(1, ids).cumsum(dim=1) / reach.clamp_min(1e-6)
        nearest, last = to_sets.max(dim=1, keepdim=True)
        inside = (sizes[: ids.shape[1]] <= last + 1) & (nearest > cosines[:, -1:])
        return torch.zeros_like(cosines[:, :-1]).scatter(1, ids, inside.to(cosines.dtype)).float()

    def _pursue(self, cosines: Tensor) -> Tensor:
        """Return labels in the order in which each brings its set nearest to an output, shape (n,
        MOST).
        """
        labels = self.prototypes[:-1].to(cosines.dtype)
        gram, found = labels @ labels.mT, []
        taken = torch.zeros_like(cosines[:, :-1])  # 1 where a label is in the set
        for _ in range(min(MOST, len(labels))):
            products = taken @ gram  # of the sum so far with each prototype
            square = (products * taken).sum(dim=1, keepdim=True)  # of its length
            reached = (cosines[:, :-1] * taken).sum(dim=1, keepdim=True) + cosines[:, :-1]
            to_sets = reached / (square + 2 * products + 1).clamp_min(1e-6).sqrt()
            found.append(to_sets.masked_fill(taken > 0, -torch.inf).argmax(dim=1, keepdim=True))
            taken = taken.scatter(1, found[-1], 1.0)
        return torch.cat(found, dim=1)

    def _products(self, wide: Tensor) -> Tensor:
        reached = wide @ self.prototypes.to(wide.dtype).mT
        return reached[:, :-1] - reached[:, -1:]

    def _cosines(self, z: Tensor) -> Tensor:
        """Return the cosines to all labels and to no label, shape (n, K + 1)."""
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return (normalize(wide) @ self.prototypes.to(wide.dtype).mT).clamp(-1, 1)


def _ranked_apart(logits: Tensor, inside: Tensor) -> Tensor:
    """Return log(1 + sum of e^l outside of a set) + log(1 + sum of e^-l inside). Shape (n,)."""
    out, within = (
        functional.pad(each.masked_fill(masked, -torch.inf), (0, 1))  # e^0 = 1
        for each, masked in ((logits, inside), (-logits, ~inside))
    )
    return out.logsumexp(dim=1) + within.logsumexp(dim=1)


def place_labels(count: int, dim: int) -> Prototypes:
    """Return orthonormal prototypes where there are axes for them, else such as are nearly so.

    Up to 2 D points that are as far apart as can be lie in pairs opposite each other, and the sum
    of a pair has no direction. Lines at wide angles take their place there.
    """
    if dim >= count:
        return Prototypes.from_tensor(torch.eye(count, dim, dtype=torch.float64), method="labels")
    if count <= 2 * dim:
        return Prototypes.from_tensor(spread_lines(count, dim), method="spread lines")
    return place(count, dim, effort="fast", every_axis=True)


def spread_lines(count: int, dim: int, *, steps: int = 200) -> Tensor:
    """Return unit vectors whose absolute cosines are small, shape (count, dim).

    In turn, products are cut off near the least that the largest of them can be (Welch's bound),
    and brought back to those of vectors in D dimensions (Tropp et al., "Designing Structured Tight
    Frames via an Alternating Projection Method", IEEE Trans. Inf. Theory 2005).
    """
    vectors = normalize(torch.from_numpy(np.random.default_rng(0).normal(size=(count, dim))))
    most = 1.05 * ((count - dim) / (dim * (count - 1))) ** 0.5
    for _ in range(steps):
        products = (vectors @ vectors.mT).clamp(-most, most).fill_diagonal_(1)
        lengths, axes = torch.linalg.eigh(products)
        vectors = normalize(axes[:, -dim:] * lengths[-dim:].clamp_min(0).sqrt())
    return vectors
