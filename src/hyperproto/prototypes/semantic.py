"""Prototypes that know what the classes mean: placement with a prior (privileged information, Equation 6)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.seeding import derive_seed
from hyperproto.codes import Code, best_code, certify, known_code, separation_bound
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.codes.code import Array, Meaning
from hyperproto.codes.descent import random_points
from hyperproto.codes.effort import WORK
from hyperproto.codes.ranked import Ranking, agreement, assign, auto_weight, paper_descent, ranked_points
from hyperproto.codes.ranked.joint import EXPONENTS
from hyperproto.codes.ranked.layouts import spectral_layout
from hyperproto.codes.ranked.many import many_ranked_points
from hyperproto.prototypes.priors import Prior

__all__ = ["SEMANTIC_METHODS", "Request", "check_prior_weight", "place_with_prior"]

ALL_ANCHORS = 2000  # up to so many classes each is an anchor, i in (i, j, k); beyond, a sample of 500 is
SAMPLED_ANCHORS = 500
MEASURED = 1000  # classes whose triplets are counted where there are more than that
FEW_DIMS = 8  # up to here minima differ: many starts; beyond, one start ends where any other does
MOST_ITERATIONS = 200
ROUNDS = {"fast": 10, "balanced": 30, "thorough": 60}  # passes over all pairs, for many classes


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


def place_with_prior(method: str, request: Request) -> Code:
    """Place by one of :data:`SEMANTIC_METHODS`, and certify both separation and meaning."""
    if len(request.members) < 3:
        raise InputError(
            f"A prior must speak of three classes at least, to rank two by their likeness to the third; "
            f"it speaks of {len(request.members)}."
        )
    code, weight = SEMANTIC_METHODS[method](request)
    remarks = [code.certificate.remark, *request.prior.remarks]
    if len(request.anchors) < len(request.members):
        remarks.append(f"Eq. 6 over {len(request.anchors)} sampled anchors, not all {len(request.members)} classes.")
    certificate = replace(
        code.certificate,
        meaning=request.measure(code.points, weight),
        remark=" ".join(remark for remark in remarks if remark),
    )
    return Code(code.points, certificate)


def _joint(request: Request) -> tuple[Code, float]:
    """Weigh separation against order: the smooth maximum plus λ times Equation 6."""
    if request.weight == 0:
        return _best(request), 0.0
    _refuse_seconds(request)
    if request.num_classes > MATRIX_POINTS:
        return _many(request), request.weight
    iterations, starts = _budget(request)
    layouts = _starts(request, starts)
    points, finished = ranked_points(
        request.ranking,
        request.members,
        weight=request.weight,
        starts=layouts,
        iterations=iterations,
        workers=request.workers if starts > 2 else 1,
        progress=request.report,
    )
    method = f"smooth-max with ranking ({request.effort}: {starts} start{'s' if starts > 1 else ''})"
    remark = "" if finished else "Interrupted: the best so far, not fixed by the seed."
    return certify(points, method=method, seed=request.seed, remark=remark), request.weight


def _many(request: Request) -> Code:
    rounds = ROUNDS[request.effort]
    shape = request.num_classes, request.dim
    start = spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    points = many_ranked_points(
        request.ranking, request.members, start, weight=request.weight, rounds=rounds, progress=request.report
    )
    return certify(points, method=f"tiled descent with ranking, {rounds} passes", seed=request.seed)


def _budget(request: Request) -> tuple[int, int]:
    """Return iterations an exponent and starts, from the effort in seconds and what an evaluation takes."""
    pairs = request.num_classes**2
    evaluation = 2e-4 + 7e-8 * pairs + 3e-10 * pairs * request.dim
    work = WORK[request.effort] / (len(EXPONENTS) * evaluation)
    iterations = int(np.clip(work, 20, MOST_ITERATIONS))
    most = {"fast": 2, "balanced": 16, "thorough": 100} if request.dim <= FEW_DIMS else {"thorough": 4}
    return iterations, int(np.clip(work / iterations, 1, most.get(request.effort, 1)))


def _starts(request: Request, count: int) -> list[Array]:
    """Return the prior itself laid out, then random layouts."""
    shape = request.num_classes, request.dim
    first = spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    return [first] + [random_points(*shape, derive_seed(request.seed, "ranked", k)) for k in range(count - 1)]


def _assigned(request: Request, code: Code) -> tuple[Code, float]:
    """Keep a code as it is, and only decide which class gets which point."""
    if len(request.members) < request.num_classes or len(request.anchors) < request.num_classes:
        why = "has no prior" if len(request.members) < request.num_classes else f"is one of more than {ALL_ANCHORS}"
        raise InputError(
            f'Assignment needs a prior for every class, at most {ALL_ANCHORS} of them; one {why}. Use "auto".'
        )
    remark, points = code.certificate.remark, code.points
    cosines = points @ points.T
    if np.ptp(cosines[~np.eye(len(points), dtype=bool)]) < 1e-9:
        remark += " All pairs of this code are equally far apart: no assignment can mean anything."
    else:
        kicks = max(1, int(WORK[request.effort] / (1e-3 + 6e-9 * request.num_classes**3)))
        points = points[assign(points, request.ranking.weights, kicks=kicks, seed=request.seed)]
    method = f"{code.certificate.method}; classes assigned"
    return Code(points, replace(code.certificate, method=method, remark=remark.strip(), seed=request.seed)), 0.0


def _best(request: Request) -> Code:
    return best_code(
        request.num_classes,
        request.dim,
        effort=request.effort,
        seed=request.seed,
        workers=request.workers,
        seconds=request.seconds,
        progress=request.progress,
    )


def _known(request: Request) -> Code:
    code = known_code(request.num_classes, request.dim, seed=request.seed)
    if code is None:
        raise InputError(
            f"No code is known for {request.num_classes} points in {request.dim} dimensions. "
            'Use method="assign", which searches for one.'
        )
    return code


def _paper(request: Request) -> tuple[Code, float]:
    """Sum Equations 5 and 6, weight 1 unless given, as the paper says."""
    _refuse_seconds(request)
    weight = request.weight
    points = paper_descent(
        request.ranking,
        request.members,
        request.num_classes,
        request.dim,
        seed=request.seed,
        weight=weight,
        progress=request.report,
    )
    method = f"paper (Eq. 5 + {weight:g} x Eq. 6, 10,000 steps)"
    return certify(points, method=method, seed=request.seed), weight


def _refuse_seconds(request: Request) -> None:
    if request.seconds is not None:
        raise InputError(
            "`seconds` ends a search for separation alone; a placement that weighs a prior has none. "
            'Leave it out, and use effort="fast" for less to try.'
        )


def _random(request: Request) -> tuple[Code, float]:
    raise InputTypeError("Random placement does not look at a prior: leave `prior` out, or choose another method.")


SEMANTIC_METHODS: dict[str, Callable[[Request], tuple[Code, float]]] = {
    "auto": _joint,
    "optimise": _joint,
    "assign": lambda request: _assigned(request, _best(request)),
    "codes": lambda request: _assigned(request, _known(request)),
    "paper": _paper,
    "random": _random,
}
