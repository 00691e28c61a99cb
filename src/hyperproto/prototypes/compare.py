"""One number of classes over many dimensions: ours, the bound, the paper's method, chance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hyperproto.codes import random_max_cosine
from hyperproto.prototypes.place import check_dim, place
from hyperproto.prototypes.suggest import separation_bound

__all__ = ["COMPARED_DIMS", "Comparison", "compare_dims"]

COMPARED_DIMS = (2, 3, 5, 10, 25, 50, 100)


@dataclass(frozen=True)
class Comparison:
    """Maximum cosines of K prototypes in ``dim`` dimensions; smaller is better, and nothing beats the bound."""

    dim: int
    ours: float
    bound: float
    paper: float
    random: float
    method: str


def compare_dims(
    num_classes: int,
    dims: Sequence[int] = COMPARED_DIMS,
    *,
    effort: str = "balanced",
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[Comparison]:
    """Place ``num_classes`` prototypes in each dimension, and beside them as the paper does and at random.

    "random" is the median of the maximum over random draws, by formula.
    """
    rows = []
    for dim in [check_dim(dim) for dim in dims]:
        if progress is not None:
            progress(dim)
        ours = place(num_classes, dim, effort=effort, seed=seed, progress=False).certificate
        paper = place(num_classes, dim, method="paper", seed=seed, progress=False).certificate
        bound, chance = separation_bound(num_classes, dim), random_max_cosine(num_classes, dim)
        rows.append(Comparison(dim, ours.max_cosine, bound, paper.max_cosine, chance, ours.method))
    return rows
