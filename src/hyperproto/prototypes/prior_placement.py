"""Placement with a prior (privileged information, Equation 6): similar classes nearer than unlike ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.seeding import derive_seed
from hyperproto.codes import Code, best_code, certify, known_code, paper_descent, separation_bound
from hyperproto.codes.assignment import assign
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.codes.certificate import PriorAgreement
from hyperproto.codes.joint import (
    EXPONENTS,
    auto_weight,
    positive_part,
    ranked_points,
    separate_points,
    spectral_layout,
    target_cosine,
)
from hyperproto.codes.large import many_ranked_points
from hyperproto.codes.measure import Array, random_points
from hyperproto.codes.ranking import Ranking, agreement
from hyperproto.codes.search import WORK
from hyperproto.priors import Prior

__all__ = ["PRIOR_METHODS", "Request", "check_prior_weight", "place_with_prior"]

ALL_ANCHORS = 2000  # up to so many classes each is an anchor, i in (i, j, k); beyond, a sample of 500 is
SAMPLED_ANCHORS = 500
MEASURED = 1000  # classes whose triplets are counted where there are more than that
FEW_DIMS = 8  # up to here minima differ: many starts; beyond, one start ends where any other does
MOST_ITERATIONS = 200
ROUNDS = {"fast": 10, "balanced": 30, "thorough": 60}  # passes over all pairs, for many classes
AUTO = arg("method", '"auto"')  # as advice


@dataclass(frozen=True)
class Request:
    """What to place: K classes in D dimensions, a prior, its weight, and how much to try."""

    prior: Prior
    dim: int
    weight: float
    effort: str
    seed: int
    workers: int
    seconds: float | None = None
    progress: Callable[[int, int, float, float], None] | None = None

    def __post_init__(self) -> None:
        if len(self.members) < 3:
            rule = "know three classes at least, to rank two by their similarity to the third"
            raise InputError("prior", rule, f"one that knows {len(self.members)}")

    @property
    def num_classes(self) -> int:
        """K."""
        return self.prior.num_classes

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """The classes the prior knows, shape (M,)."""
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

    def measure(self, points: Array, weight: float) -> PriorAgreement:
        """Return how far the order of the cosines of ``points`` agrees with the prior: of all, or of a sample."""
        seen, measured = self.members, "all triplets"
        if len(seen) > ALL_ANCHORS:
            drawn = np.random.default_rng(derive_seed(self.seed, "measured")).permutation(len(seen))
            seen, measured = seen[drawn[:MEASURED]], f"all triplets of {MEASURED} classes drawn at random"
        similarity = self.prior.similarity[np.ix_(seen, seen)]
        return agreement(points[seen], similarity, weight=weight, prior=self.prior.source, measured=measured)

    def report(self, done: int, total: int) -> None:
        """Update the progress bar."""
        if self.progress is not None:
            self.progress(done, total, float("nan"), separation_bound(self.num_classes, self.dim))


def check_prior_weight(weight: float | str, num_classes: int, dim: int) -> float:
    """Return λ: a number from 0 on, or the value of "auto"."""
    if isinstance(weight, str):
        if weight != "auto":
            raise InputError("prior_weight", 'be a number from 0 on, or "auto"', f'"{weight}"')
        return auto_weight(num_classes, dim)
    return check_finite_number(weight, "prior_weight", at_least=0)


def place_with_prior(method: str, request: Request) -> Code:
    """Place by one of :data:`PRIOR_METHODS`, and certify both separation and agreement with the prior."""
    code, weight = PRIOR_METHODS[method](request)
    notes = [code.certificate.note, *request.prior.notes]
    if len(request.anchors) < len(request.members):
        notes.append(f"Eq. 6 over {len(request.anchors)} sampled anchors, not all {len(request.members)} classes.")
    certificate = replace(
        code.certificate,
        prior_agreement=request.measure(code.points, weight),
        note=" ".join(note for note in notes if note),
    )
    return Code(code.points, certificate)


def _joint(request: Request) -> tuple[Code, float]:
    """Weigh separation against order: the smooth maximum plus λ times Equation 6."""
    if request.weight == 0:
        return _best(request), 0.0
    _refuse_seconds(request)
    shape = request.num_classes, request.dim
    layout = spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    if request.num_classes > MATRIX_POINTS:
        rounds = ROUNDS[request.effort]
        points, finished = many_ranked_points(
            request.ranking, request.members, layout, weight=request.weight, rounds=rounds, progress=request.report
        )
        method = f"tiled descent with ranking, {rounds} passes"
    else:
        iterations, starts = _budget(request)
        drawn = [random_points(*shape, derive_seed(request.seed, "ranked", k)) for k in range(starts - 1)]
        points, finished = ranked_points(
            request.ranking,
            request.members,
            weight=request.weight,
            starts=[layout, *drawn],
            iterations=iterations,
            workers=request.workers if starts > 2 else 1,
            progress=request.report,
        )
        method = f"smooth-max with ranking ({request.effort}: {starts} start{'s' if starts > 1 else ''})"
    return certify(points, method=method, seed=request.seed, note=_interruption(finished)), request.weight


def _budget(request: Request) -> tuple[int, int]:
    """Return iterations per exponent and starts, from the effort in seconds and what an evaluation takes."""
    pairs = request.num_classes**2
    evaluation = 2e-4 + 7e-8 * pairs + 3e-10 * pairs * request.dim
    work = WORK[request.effort] / (len(EXPONENTS) * evaluation)
    iterations = int(np.clip(work, 10 if request.effort == "fast" else 20, MOST_ITERATIONS))
    most = {"fast": 2, "balanced": 16, "thorough": 100} if request.dim <= FEW_DIMS else {"thorough": 4}
    return iterations, int(np.clip(work / iterations, 1, most.get(request.effort, 1)))


def _projected(request: Request) -> tuple[Code, float]:
    """Lay out the prior by the axes along which it varies most, and separate only the pairs that are too near.

    On a circle points cannot pass each other, and a class without prior has nothing to be near to: both are placed by
    the weighed objective.
    """
    if request.dim == 2 or len(request.members) < request.num_classes:
        code, weight = _joint(request)
        why = "On a circle points cannot pass each other" if request.dim == 2 else "Some classes have no prior"
        note = f"{code.certificate.note} {why}: weighed, not projected.".strip()
        return Code(code.points, replace(code.certificate, note=note)), weight
    _refuse_seconds(request)
    if request.num_classes > MATRIX_POINTS:
        raise InputError(
            "Classes for " + arg("method", '"project"'),
            f"be at most {MATRIX_POINTS:,}, which it stores every pair of",
            f"{request.num_classes:,}",
            f"Use {AUTO}.",
        )
    shape = request.num_classes, request.dim
    layout = spectral_layout(positive_part(request.similarity), request.members, *shape, seed=request.seed)
    target = target_cosine(*shape)
    method = f"prior projected, pairs separated to a cosine of {target:.2f}"
    return certify(separate_points(layout, target), method=method, seed=request.seed), 0.0


def _assigned(request: Request, code: Code) -> tuple[Code, float]:
    """Keep a code unchanged, and only decide which class gets which point."""
    if len(request.members) < request.num_classes or len(request.anchors) < request.num_classes:
        unknown = request.num_classes - len(request.members)
        raise InputError(
            "A prior for an assignment",
            f"know every class, at most {ALL_ANCHORS} of them",
            f"{unknown} unknown ones" if unknown else f"{request.num_classes}",
            f"Use {AUTO}.",
        )
    note, points = code.certificate.note, code.points
    cosines = points @ points.T
    if np.ptp(cosines[~np.eye(len(points), dtype=bool)]) < 1e-9:
        note += " All pairs of this code are equally far from each other: no assignment can mean anything."
    else:
        kicks = max(1, int(WORK[request.effort] / (1e-3 + 6e-9 * request.num_classes**3)))
        order, finished = assign(
            points, request.ranking.weights, kicks=kicks, seed=request.seed, progress=request.report
        )
        points, note = points[order], f"{note} {_interruption(finished)}"
    method = f"{code.certificate.method}; classes assigned"
    return Code(points, replace(code.certificate, method=method, note=note.strip(), seed=request.seed)), 0.0


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
            f"No code is known for {request.num_classes} points in {request.dim} dimensions.",
            advice="Use " + arg("method", '"assign"') + ", which searches for one.",
        )
    return code


def _paper(request: Request) -> tuple[Code, float]:
    """Sum Equations 5 and 6, by default with weight 1, as the paper says."""
    _refuse_seconds(request)
    weight = request.weight
    points, finished = paper_descent(
        request.num_classes,
        request.dim,
        seed=request.seed,
        ranking=request.ranking,
        members=request.members,
        weight=weight,
        progress=request.report,
    )
    method = f"paper (Eq. 5 + {weight:g} x Eq. 6, 10,000 steps)"
    return certify(points, method=method, seed=request.seed, note=_interruption(finished)), weight


def _random(request: Request) -> tuple[Code, float]:
    raise InputTypeError("prior", "be left out of random placement, which does not use it")


def _interruption(finished: bool) -> str:
    return "" if finished else "Interrupted: the best so far, not fixed by the seed."


def _refuse_seconds(request: Request) -> None:
    if request.seconds is not None:
        raise InputError(
            "seconds",
            "be left out where a prior is weighed: it ends a search for separation alone",
            advice="Use " + arg("effort", '"fast"') + " for a shorter one.",
        )


PRIOR_METHODS: dict[str, Callable[[Request], tuple[Code, float]]] = {
    "auto": _joint,
    "optimize": _joint,
    "project": _projected,
    "assign": lambda request: _assigned(request, _best(request)),
    "codes": lambda request: _assigned(request, _known(request)),
    "paper": _paper,
    "random": _random,
}
