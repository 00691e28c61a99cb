"""How many dimensions a number of classes needs."""

from collections.abc import Callable
from dataclasses import dataclass

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto.codes import known_max_cosine
from hyperproto.codes import separation_bound as lower_bound
from hyperproto.prototypes.place import check_dim, place

__all__ = ["Option", "Suggestion", "separation_bound", "suggest_dim"]


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
    """The smallest dimension that delivers a wished separation, and what smaller ones would cost.

    ``int(suggestion)`` is the dimension, so it can go where a dimension is wanted.
    """

    num_classes: int
    wished: float
    best: Option
    smaller: tuple[Option, ...]

    @property
    def dim(self) -> int:
        """The dimension."""
        return self.best.dim

    @property
    def max_cosine(self) -> float:
        """What is delivered there."""
        return self.best.max_cosine

    def __int__(self) -> int:
        return self.dim

    def __index__(self) -> int:
        return self.dim


def suggest_dim(num_classes: int, *, max_cosine: float, effort: str = "fast", seed: int = 0) -> Suggestion:
    """Return the smallest dimension in which ``place`` delivers a maximum cosine of at most ``max_cosine``.

    Dimensions that the bound rules out are passed over, those where a known code suffices need no search, and those
    in between are tried with the given effort.

    Examples
    --------
    >>> suggest_dim(100, max_cosine=0.0).dim, suggest_dim(240, max_cosine=0.5).dim
    (50, 8)
    """
    check_integer(num_classes, "num_classes", at_least=2)
    wished = check_finite_number(max_cosine, "max_cosine")
    least = -1 / (num_classes - 1)
    if not least <= wished < 1:
        raise InputError(
            f"`max_cosine` must lie in [{least:.6g}, 1) for {num_classes} classes; got {wished:g}. "
            "In no dimension can their largest cosine be less than that of the simplex."
        )

    def placed(dim: int) -> float:
        return place(num_classes, dim, effort=effort, seed=seed, progress=False).certificate.max_cosine

    slack = 1e-9
    lowest = _first(2, num_classes, lambda dim: lower_bound(num_classes, dim) <= wished + slack)
    highest = _first(lowest, num_classes, lambda dim: known_max_cosine(num_classes, dim) <= wished + slack)
    dim = _first(lowest, highest, lambda dim: dim == highest or placed(dim) <= wished + slack)
    ladder = sorted({d for d in (dim - 1, round(0.75 * dim), dim // 2, dim // 4) if 2 <= d < dim}, reverse=True)
    options = [Option(d, placed(d), lower_bound(num_classes, d)) for d in (dim, *ladder)]
    return Suggestion(num_classes, wished, options[0], tuple(options[1:]))


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number in [low, high] from which on ``holds``, by bisection; high if none before."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high
