"""The ways to place, without a prior or with one (privileged information, Equation 6): similar
classes nearer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.processes import derive_seed
from hyperproto.codes import joint
from hyperproto.codes.best import MATRIX_POINTS, best_code, known_code
from hyperproto.codes.certificate import Code, PriorAgreement, certify
from hyperproto.codes.large import many_ranked_points
from hyperproto.codes.measure import Array, random_points
from hyperproto.codes.paper import authors_steps, paper_descent
from hyperproto.codes.ranking import Ranking, agreement, assign
from hyperproto.codes.search import WORK, Effort, optimize
from hyperproto.codes.smooth_max import SmoothMax, descend, largest_cosine
from hyperproto.priors import Prior
from hyperproto.sphere import normalize, sample_uniform

# up to this many classes each is an anchor, i in (i, j, k); beyond, a sample of them is
ALL_ANCHORS, SAMPLED_ANCHORS = 2000, 500
MEASURED = 1000  # classes whose triplets are counted where there are more than that
AUTO = arg("method", '"auto"')  # as advice


@dataclass(frozen=True)
class Request:
    """What to place: K classes in D dimensions, perhaps with a prior and its weight, and how much
    to try.
    """

    num_classes: int
    dim: int
    prior: Prior | None
    weight: float
    effort: str
    seed: int
    workers: int = 1
    every_axis: bool = False
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.prior is not None and len(self.members) < 3:
            rule = "know three classes at least, to rank two by their similarity to the third"
            raise InputError("prior", rule, f"one that knows {len(self.members)}")

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """The classes the prior knows, shape (M,)."""
        assert self.prior is not None
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
        assert self.prior is not None
        return self.prior.similarity[np.ix_(self.members[self.anchors], self.members)]

    @cached_property
    def ranking(self) -> Ranking:
        """Equation 6."""
        return Ranking(self.similarity, self.anchors)

    def measure(self, points: Array, weight: float) -> PriorAgreement:
        """Return how far the order of the cosines of ``points`` agrees with the prior: of all, or
        of a sample.
        """
        assert self.prior is not None
        seen, measured = self.members, "all triplets"
        if len(seen) > ALL_ANCHORS:
            drawn = np.random.default_rng(derive_seed(self.seed, "measured")).permutation(len(seen))
            seen = seen[drawn[:MEASURED]]
            measured = f"all triplets of {MEASURED} classes drawn at random"
        similarity = self.prior.similarity[np.ix_(seen, seen)]
        return agreement(
            points[seen], similarity, weight=weight, prior=self.prior.source, measured=measured
        )


def check_prior_weight(weight: float | str, num_classes: int, dim: int) -> float:
    """Return λ: a number from 0 on, or the value of "auto"."""
    if isinstance(weight, str):
        if weight != "auto":
            raise InputError("prior_weight", 'be a number from 0 on, or "auto"', f'"{weight}"')
        return joint.auto_weight(num_classes, dim)
    return check_finite_number(weight, "prior_weight", at_least=0)


def certify_agreement(code: Code, request: Request, weight: float) -> Code:
    """Certify agreement with the prior of a request, next to separation."""
    assert request.prior is not None
    notes = [code.certificate.note, *request.prior.notes]
    if len(request.anchors) < len(request.members):
        sampled = f"Eq. 6 over {len(request.anchors)} sampled anchors"
        notes.append(f"{sampled}, not all {len(request.members)} classes.")
    certificate = replace(
        code.certificate,
        prior_agreement=request.measure(code.points, weight),
        note=" ".join(note for note in notes if note),
    )
    return Code(code.points, certificate)


def _weighed(request: Request) -> tuple[Code, float]:
    """Minimize the smooth maximum plus λ times Equation 6."""
    shape = request.num_classes, request.dim
    layout = joint.spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    if request.num_classes > MATRIX_POINTS:
        # passes over all pairs
        rounds = {"fast": 10, "balanced": 30, "thorough": 60}[request.effort]
        points = many_ranked_points(
            request.ranking, request.members, layout, weight=request.weight, rounds=rounds
        )
        method = f"tiled descent with ranking, {rounds} passes"
    else:
        iterations, starts = _budget(request)
        drawn = [
            random_points(*shape, derive_seed(request.seed, "ranked", k)) for k in range(starts - 1)
        ]
        points = joint.ranked_points(
            request.ranking,
            request.members,
            weight=request.weight,
            starts=[layout, *drawn],
            iterations=iterations,
            workers=request.workers if starts > 2 else 1,
        )
        plural = "s" if starts > 1 else ""
        method = f"smooth-max with ranking ({request.effort}: {starts} start{plural})"
    return certify(points, method=method, seed=request.seed), request.weight


def _budget(request: Request) -> tuple[int, int]:
    """Return iterations per exponent and starts, from the effort in seconds and what an evaluation
    takes.
    """
    pairs = request.num_classes**2
    evaluation = 2e-4 + 7e-8 * pairs + 3e-10 * pairs * request.dim
    work = WORK[request.effort] / (len(joint.EXPONENTS) * evaluation)
    iterations = int(np.clip(work, 10 if request.effort == "fast" else 20, 200))
    # in few dimensions minima differ; in more, one start ends where any other does
    few = {"fast": 2, "balanced": 16, "thorough": 100}
    most = few if request.dim <= 8 else {"thorough": 4}
    return iterations, int(np.clip(work / iterations, 1, most.get(request.effort, 1)))


def _projected(request: Request) -> tuple[Code, float]:
    """Lay out the prior by the axes along which it varies most, and separate only the pairs that
    are too near.

    On a circle points cannot pass each other, and a class without prior has nothing to be near to:
    both are placed by the weighed objective.
    """
    if request.dim == 2 or len(request.members) < request.num_classes:
        code, weight = _weighed(request)
        why = "Some classes have no prior"
        if request.dim == 2:
            why = "On a circle points cannot pass each other"
        note = f"{code.certificate.note} {why}: weighed, not projected.".strip()
        return Code(code.points, replace(code.certificate, note=note)), weight
    if request.num_classes > MATRIX_POINTS:
        raise InputError(
            "Classes for " + arg("method", '"project"'),
            f"be at most {MATRIX_POINTS:,}, which it stores every pair of",
            f"{request.num_classes:,}",
            f"Use {AUTO}.",
        )
    shape = request.num_classes, request.dim
    similarity = joint.positive_part(request.similarity)
    layout = joint.spectral_layout(similarity, request.members, *shape, seed=request.seed)
    target = joint.target_cosine(*shape)
    method = f"prior projected, pairs separated to a cosine of {target:.2f}"
    return certify(joint.separate_points(layout, target), method=method, seed=request.seed), 0.0


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
        note += " All pairs of this code are equally far apart: no assignment can mean anything."
    else:
        work = WORK[request.effort] / (1e-2 + 6e-9 * request.num_classes**3)
        starts = int(np.clip(work, 1, 500))
        order = assign(points, request.ranking.weights, starts=starts, seed=request.seed)
        points = points[order]
    method = f"{code.certificate.method}; classes assigned"
    certificate = replace(code.certificate, method=method, note=note.strip(), seed=request.seed)
    return Code(points, certificate), 0.0


def separate(request: Request, *, search_only: bool = False) -> Code:
    """Return the best known code or a better one that is searched for; with every axis in use where
    requested.
    """
    num_classes, dim = request.num_classes, request.dim
    fill = request.every_axis and request.prior is None and num_classes > dim + 1
    # as many as a search at "fast" takes a second for
    if fill and num_classes**2 * dim <= 2**21:
        known = known_code(num_classes, dim)
        padded = known is not None and bool(_empty_axes(known).any())
        if known is not None and padded and request.effort == "fast":
            return _search_from(known, request.seed)
        search_only |= padded
    code = best_code(
        num_classes,
        dim,
        effort=request.effort,
        seed=request.seed,
        workers=request.workers,
        search_only=search_only,
    )
    return _turn_to_empty_axes(code, request.seed) if fill else code


def _empty_axes(code: Code) -> NDArray[np.bool_]:
    """Return which axes no point of a code uses, shape (D,)."""
    return np.logical_not(code.points.any(axis=0))


def _turn_to_empty_axes(code: Code, seed: int) -> Code:
    """Return a code whose points all have a random direction in the axes that were empty, at a
    small angle.
    """
    empty = _empty_axes(code)
    if not empty.any():
        return code
    # of the squared length: cosines grow by no more than that
    share = min(float(empty.mean()), 1 / 32)
    extra = np.random.default_rng(derive_seed(seed, "axes")).standard_normal(
        (len(code.points), int(empty.sum()))
    )
    extra *= math.sqrt(share) / np.linalg.norm(extra, axis=1, keepdims=True)
    points = code.points * math.sqrt(1 - share)
    points[:, empty] = extra
    # where two neighbors turn the same way
    largest = (1 - share) * code.certificate.max_cosine + share
    method = f"{code.certificate.method}, turned toward all {len(empty)} axes"
    theorem = largest, "at most, from the code it was"
    return certify(points, method=method, seed=seed, theorem=theorem)


def _search_from(padded: Code, seed: int) -> Code:
    """Return a code on all axes in under a second: a descent from a padded code, or a few random
    starts.

    Of 100 points in 25 dimensions the maximum cosine is 0.0915, against 0.0909 of the padded code
    and 0.1104 of a whole search of the same effort, which takes five times as long.
    """
    num_points, dim = padded.points.shape
    turned = _turn_to_empty_axes(padded, seed).points
    # low enough to move, too high to forget the code
    exponents = [2**power for power in range(6, 12)]
    moved = descend(SmoothMax(num_points, dim), turned, exponents, iterations=100)
    starts = Effort.named("fast", num_points, dim).starts
    searched, _ = optimize(num_points, dim, effort=Effort(starts, finalists=0), seed=seed)
    method = f"descent from {padded.certificate.method}"
    if largest_cosine(searched) < largest_cosine(moved):
        moved, method = searched, f"smooth-max search ({starts} starts)"
    return certify(moved, method=method, seed=seed)


def _codes(request: Request) -> tuple[Code, float]:
    code = known_code(request.num_classes, request.dim, seed=request.seed)
    if code is None:
        rule = f"be a number of points for which a code is known in {request.dim} dimensions"
        raise InputError("classes", rule, request.num_classes, f"Use {AUTO}, which searches.")
    return (code, 0.0) if request.prior is None else _assigned(request, code)


def _paper(request: Request) -> tuple[Code, float]:
    """Descend Equation 5, or with a prior the sum of Equations 5 and 6, by
    default with weight 1.
    """
    ranked = request.prior is not None
    steps = (
        authors_steps(request.num_classes, request.dim) if request.steps is None else request.steps
    )
    points = paper_descent(
        request.num_classes,
        request.dim,
        seed=request.seed,
        ranking=request.ranking if ranked else None,
        members=request.members if ranked else None,
        weight=request.weight,
        steps=steps,
    )
    equations = f"Eq. 5 + {request.weight:g} x Eq. 6" if ranked else "Eq. 5"
    method = f"paper ({equations}, {steps:,} steps)"
    return certify(points, method=method, seed=request.seed), request.weight


def _random(request: Request) -> tuple[Code, float]:
    if request.prior is not None:
        raise InputTypeError("prior", "be left out of random placement, which does not use it")
    generator = torch.Generator().manual_seed(request.seed)
    points = sample_uniform(
        request.num_classes, request.dim, generator=generator, dtype=torch.float64
    )
    return certify(normalize(points).numpy(), method="random", seed=request.seed), 0.0


# with a prior; `place` calls `separate` for "auto" and "optimize" without one, or with a weight of
# 0
METHODS: dict[str, Callable[[Request], tuple[Code, float]]] = {
    "auto": _weighed,
    "optimize": _weighed,
    "project": _projected,
    "assign": lambda request: _assigned(request, separate(request)),
    "codes": _codes,
    "paper": _paper,
    "random": _random,
}
