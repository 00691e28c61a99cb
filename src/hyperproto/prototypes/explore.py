"""Before a placement: how many dimensions it needs, and what separation, the paper and a prior's
weight give.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperproto._core.checks import check_finite_number, check_integer, parse_classes
from hyperproto._core.errors import InputError
from hyperproto.codes.best import known_max_cosine
from hyperproto.codes.certificate import random_max_cosine
from hyperproto.codes.certificate import separation_bound as lower_bound
from hyperproto.codes.joint import auto_weight
from hyperproto.priors import as_prior
from hyperproto.prototypes import methods
from hyperproto.prototypes.place import place
from hyperproto.prototypes.prototypes import Prototypes, check_dim


def separation_bound(num_classes: int, dim: int) -> float:
    """Return the best known lower bound on the maximum cosine of K prototypes in D dimensions.

    Rankin's for K <= 2D and the circle, where it is attained; Levenshtein's beyond; Fejes Tóth's
    too for D = 3.

    >>> separation_bound(240, 8)
    0.5
    """
    return lower_bound(check_integer(num_classes, "num_classes", at_least=2), check_dim(dim))


@dataclass(frozen=True)
class Suggestion:
    """A dimension in which a known code has the target separation; ``int(suggestion)`` is the
    dimension.

    Attributes
    ----------
    dim : int
        The dimension.
    max_cosine : float
        The maximum cosine of the best known code there; a search may find a better one.
    at_least : int
        No code in fewer dimensions has the target separation, by the bound. In those between, a
        search may find one.
    """

    dim: int
    max_cosine: float
    at_least: int

    def __index__(self) -> int:
        return self.dim


def suggest_dim(num_classes: int, *, max_cosine: float) -> Suggestion:
    """Return the smallest dimension in which a code is known whose maximum cosine is at most
    ``max_cosine``.

    Nothing is searched for: bounds and known codes answer at once. :func:`hyperproto.place` does as
    well there, or better.

    Examples
    --------
    >>> suggest_dim(100, max_cosine=0.0).dim, suggest_dim(240, max_cosine=0.5).dim
    (50, 8)
    """
    check_integer(num_classes, "num_classes", at_least=2)
    target = check_finite_number(max_cosine, "max_cosine") + 1e-9
    least = -1 / (num_classes - 1)
    if not least <= target < 1:
        raise InputError(
            "max_cosine",
            f"lie in [{least:.6g}, 1) for {num_classes} classes",
            f"{max_cosine:g}",
            "In no dimension can their largest cosine be less than that of the simplex.",
        )
    dims = range(2, max(3, num_classes))
    at_least = dims[
        bisect_left(dims, True, key=lambda dim: lower_bound(num_classes, dim) <= target)
    ]
    highest = dims[
        bisect_left(dims, True, key=lambda dim: known_max_cosine(num_classes, dim) <= target)
    ]
    # codes are stored for single dimensions
    near = range(at_least, min(highest, at_least + 1000))
    dim = next((dim for dim in near if known_max_cosine(num_classes, dim) <= target), highest)
    return Suggestion(dim, known_max_cosine(num_classes, dim), at_least)


@dataclass(frozen=True)
class Comparison:
    """Maximum cosines of K prototypes in ``dim`` dimensions; smaller is better, and nothing beats
    the bound.
    """

    dim: int
    ours: float
    bound: float
    paper: float
    random: float
    method: str


def compare_dims(
    num_classes: int,
    dims: Sequence[int] = (2, 3, 5, 10, 25, 50, 100),
    *,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
) -> list[Comparison]:
    """Place ``num_classes`` prototypes in each dimension: our way, the paper's way, and at random.

    "random" is the median of the maximum over random draws, by formula.
    """
    rows = []
    for dim in [check_dim(dim) for dim in dims]:
        ours = place(num_classes, dim, effort=effort, seed=seed, workers=workers).certificate
        paper = place(num_classes, dim, method="paper", seed=seed).certificate
        bound, chance = separation_bound(num_classes, dim), random_max_cosine(num_classes, dim)
        rows.append(Comparison(dim, ours.max_cosine, bound, paper.max_cosine, chance, ours.method))
    return rows


def sweep_prior_weight(
    classes: int | Sequence[str],
    dim: int,
    prior: object,
    *,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    missing: Any = "error",
) -> list[tuple[str, Prototypes]]:
    """Place with a quarter to four times the weight of "auto", with none, and by assignment where
    there is one.

    Returns pairs of a label and a placement: "separation only", "assignment", "auto", and "" for
    another weight. The certificates say how well each separates, and how well it agrees with the
    prior.

    Parameters
    ----------
    classes, dim, prior, effort, seed, workers, missing
        As for :func:`hyperproto.place`.
    """
    num_classes, names = parse_classes(classes)
    known = as_prior(prior, names, num_classes, missing=missing)
    auto = auto_weight(num_classes, dim)
    trials: list[tuple[str, dict[str, Any]]] = [("separation only", {"prior_weight": 0.0})]
    if known.known.all() and num_classes <= methods.ALL_ANCHORS:
        trials.append(("assignment", {"method": "assign"}))
    factors = 0.25, 0.5, 1.0, 2.0, 4.0
    trials += [("auto" if by == 1 else "", {"prior_weight": by * auto}) for by in factors]
    rows = []
    for label, options in trials:
        placed = place(
            classes, dim, prior=known, effort=effort, seed=seed, workers=workers, **options
        )
        rows.append((label, placed))
    return rows
