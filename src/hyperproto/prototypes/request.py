"""What a placement with a prior is asked for, and what follows from it: members, anchors, Equation 6, measures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.seeding import derive_seed
from hyperproto.codes import separation_bound
from hyperproto.codes.code import Array, Meaning
from hyperproto.codes.ranked import Ranking, agreement, auto_weight
from hyperproto.priors import Prior

__all__ = ["Request", "check_prior_weight"]

ALL_ANCHORS = 2000  # up to so many classes each is an anchor, i in (i, j, k); beyond, a sample of 500 is
SAMPLED_ANCHORS = 500
MEASURED = 1000  # classes whose triplets are counted where there are more than that


@dataclass(frozen=True)
class Request:
    """What is asked for: K classes in D dimensions, a prior, its weight, and how much to try."""

    prior: Prior
    dim: int
    weight: float
    effort: str
    seed: int
    workers: int
    seconds: float | None = None
    progress: Callable[[int, int, float, float], None] | None = None

    @property
    def num_classes(self) -> int:
        """K."""
        return self.prior.num_classes

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """The classes the prior speaks of, shape (M,)."""
        return np.flatnonzero(self.prior.known)

    @cached_property
    def anchors(self) -> NDArray[np.intp]:
        """Which of the members are anchors, shape (A,): all of them, or a sample."""
        count = len(self.members)
        if count <= ALL_ANCHORS:
            return np.arange(count)
        drawn = np.random.default_rng(derive_seed(self.seed, "anchors")).permutation(count)
        return np.sort(drawn[:SAMPLED_ANCHORS])

    @cached_property
    def similarity(self) -> Array:
        """The rows of the anchors among the members, shape (A, M)."""
        rows: Array = self.prior.similarity[np.ix_(self.members[self.anchors], self.members)]
        return rows

    @cached_property
    def ranking(self) -> Ranking:
        """Equation 6."""
        return Ranking(self.similarity, self.anchors)

    def measure(self, points: Array, weight: float) -> Meaning:
        """Return how far the order of the cosines of ``points`` agrees with the prior: of all, or of a sample."""
        seen, measured = self.members, "all triplets"
        if len(seen) > ALL_ANCHORS:
            drawn = np.random.default_rng(derive_seed(self.seed, "measured")).permutation(len(seen))
            seen, measured = seen[drawn[:MEASURED]], f"all triplets of {MEASURED} classes drawn at random"
        similarity = self.prior.similarity[np.ix_(seen, seen)]
        return agreement(points[seen], similarity, weight=weight, prior=self.prior.source, measured=measured)

    def report(self, done: int, total: int) -> None:
        """Tell the progress bar."""
        if self.progress is not None:
            self.progress(done, total, float("nan"), separation_bound(self.num_classes, self.dim))


def check_prior_weight(weight: float | str, num_classes: int, dim: int) -> float:
    """Return λ: a number from 0 on, or what "auto" stands for."""
    if isinstance(weight, str):
        if weight != "auto":
            raise InputError(f'`prior_weight` must be a number from 0 on, or "auto"; got "{weight}".')
        return auto_weight(num_classes, dim)
    return check_finite_number(weight, "prior_weight", at_least=0)
