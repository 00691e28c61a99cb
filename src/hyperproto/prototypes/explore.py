"""Before a placement: how many dimensions it needs, and what separation, the paper and a prior's weight give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto.codes import known_max_cosine, random_max_cosine
from hyperproto.codes import separation_bound as lower_bound
from hyperproto.codes.joint import auto_weight
from hyperproto.priors import as_prior
from hyperproto.prototypes import methods
from hyperproto.prototypes.place import place
from hyperproto.prototypes.prototypes import Prototypes, check_dim, parse_classes

COMPARED_DIMS = (2, 3, 5, 10, 25, 50, 100)
SWEEP = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the weight of "auto"


def separation_bound(num_classes: int, dim: int) -> float:
    """Return the best known lower bound on the maximum cosine of K prototypes in D dimensions.

    Rankin's for K <= 2D and the circle, where it is attained; Levenshtein's beyond; Fejes Tóth's too for D = 3.

    >>> separation_bound(240, 8)
    0.5
    """
    return lower_bound(check_integer(num_classes, "num_classes", at_least=2), check_dim(dim))


@dataclass(frozen=True)
class Option:
    """What K prototypes cost in ``dim`` dimensions: the maximum cosine we can deliver, and the bound."""

    dim: int
    max_cosine: float
    bound: float


@dataclass(frozen=True)
class Suggestion:
    """The smallest dimension that delivers a target separation, and what ``smaller`` ones would cost.

    ``int(suggestion)`` is the dimension, so it can be used as one.
    """

    num_classes: int
    target: float
    dim: int
    max_cosine: float
    bound: float
    smaller: tuple[Option, ...]

    def __index__(self) -> int:
        return self.dim


def suggest_dim(num_classes: int, *, max_cosine: float, effort: str = "fast", seed: int = 0) -> Suggestion:
    """Return the smallest dimension in which ``place`` delivers a maximum cosine of at most ``max_cosine``.

    Dimensions that the bound rules out are skipped, those where a known code suffices need no search, and those in
    between are tried with the given effort.

    Examples
    --------
    >>> suggest_dim(100, max_cosine=0.0).dim, suggest_dim(240, max_cosine=0.5).dim
    (50, 8)
    """
    check_integer(num_classes, "num_classes", at_least=2)
    target = check_finite_number(max_cosine, "max_cosine")
    least = -1 / (num_classes - 1)
    if not least <= target < 1:
        raise InputError(
            "max_cosine",
            f"lie in [{least:.6g}, 1) for {num_classes} classes",
            f"{target:g}",
            "In no dimension can their largest cosine be less than that of the simplex.",
        )

    def placed(dim: int) -> float:
        return place(num_classes, dim, effort=effort, seed=seed, progress=False).certificate.max_cosine

    slack = 1e-9
    lowest = _first(2, num_classes, lambda dim: lower_bound(num_classes, dim) <= target + slack)
    highest = _first(lowest, num_classes, lambda dim: known_max_cosine(num_classes, dim) <= target + slack)
    dim = _first(lowest, highest, lambda dim: dim == highest or placed(dim) <= target + slack)
    ladder = sorted({d for d in (dim - 1, round(0.75 * dim), dim // 2, dim // 4) if 2 <= d < dim}, reverse=True)
    smaller = tuple(Option(d, placed(d), lower_bound(num_classes, d)) for d in ladder)
    return Suggestion(num_classes, target, dim, placed(dim), lower_bound(num_classes, dim), smaller)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number in [low, high] from which on ``holds``, by bisection; high if none before."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


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
    workers: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> list[Comparison]:
    """Place ``num_classes`` prototypes in each dimension: our way, the paper's way, and at random.

    "random" is the median of the maximum over random draws, by formula. ``progress`` is called with the description
    of each placement before it starts.
    """
    rows = []
    for dim in [check_dim(dim) for dim in dims]:
        if progress is not None:
            progress(f"{num_classes} in {dim} dimensions")
        ours = place(num_classes, dim, effort=effort, seed=seed, workers=workers, progress=False).certificate
        paper = place(num_classes, dim, method="paper", seed=seed, progress=False).certificate
        bound, chance = separation_bound(num_classes, dim), random_max_cosine(num_classes, dim)
        rows.append(Comparison(dim, ours.max_cosine, bound, paper.max_cosine, chance, ours.method))
    return rows


@dataclass(frozen=True)
class TradeOff:
    """One placement: the weight of its prior, how well it separates, and how well it agrees with the prior.

    Attributes
    ----------
    label : str
        "auto", "assignment", "separation only", or "" for a point of the sweep.
    prior_weight, max_cosine, ranked : float
        λ, the maximum cosine, and the share of triplets ranked right by more than .01.
    prototypes : Prototypes
        The placement itself, whose certificate has the rest.
    """

    label: str
    prior_weight: float
    max_cosine: float
    ranked: float
    prototypes: Prototypes


def sweep_prior_weight(
    classes: int | Sequence[str],
    dim: int,
    prior: object,
    *,
    weights: Sequence[float] | None = None,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    missing: Any = "error",
    progress: Callable[[str], object] | None = None,
) -> list[TradeOff]:
    """Place with several weights, with none, and by assignment where there is one.

    Parameters
    ----------
    classes, dim, prior, effort, seed, workers, missing
        As for :func:`hyperproto.place`.
    weights : sequence of float, optional
        The weights λ to try (default: a quarter to four times that of "auto").
    progress : callable, optional
        Called with the description of each placement before it starts.
    """
    num_classes, names = parse_classes(classes)
    known = as_prior(prior, names, num_classes, missing=missing)
    auto = auto_weight(num_classes, dim)
    tried = weights if weights is not None else [factor * auto for factor in SWEEP]
    wanted: list[tuple[str, dict[str, Any]]] = [("separation only", {"prior_weight": 0.0})]
    if known.known.all() and num_classes <= methods.ALL_ANCHORS:
        wanted.append(("assignment", {"method": "assign"}))
    wanted += [("auto" if abs(weight - auto) < 1e-9 * auto else "", {"prior_weight": weight}) for weight in tried]
    rows = []
    for label, options in wanted:
        if progress is not None:
            progress(label or f"weight {options['prior_weight']:.3g}")
        made = place(classes, dim, prior=known, effort=effort, seed=seed, workers=workers, **options)
        agreement = made.certificate.prior_agreement
        assert agreement is not None
        rows.append(TradeOff(label, agreement.weight, made.certificate.max_cosine, agreement.ranked_by_margin, made))
    return rows
