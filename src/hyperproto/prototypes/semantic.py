"""Prototypes that know what the classes mean: placement with a prior (privileged information, Equation 6)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.seeding import derive_seed
from hyperproto.codes import Code, best_code, certify, known_code
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.codes.code import Array
from hyperproto.codes.descent import random_points
from hyperproto.codes.effort import WORK
from hyperproto.codes.ranked import apart_points, assign, paper_descent, ranked_points, wished_cosine
from hyperproto.codes.ranked.joint import EXPONENTS
from hyperproto.codes.ranked.layouts import positive_part, spectral_layout
from hyperproto.codes.ranked.many import many_ranked_points
from hyperproto.prototypes import request as limits
from hyperproto.prototypes.request import Request

__all__ = ["SEMANTIC_METHODS", "place_with_prior"]

FEW_DIMS = 8  # up to here minima differ: many starts; beyond, one start ends where any other does
MOST_ITERATIONS = 200
ROUNDS = {"fast": 10, "balanced": 30, "thorough": 60}  # passes over all pairs, for many classes


def place_with_prior(method: str, request: Request) -> Code:
    """Place by one of :data:`SEMANTIC_METHODS`, and certify both separation and meaning."""
    if len(request.members) < 3:
        raise InputError(
            f"A prior must speak of three classes at least, to rank two by their likeness to the third; "
            f"it speaks of {len(request.members)}."
        )
    code, weight = SEMANTIC_METHODS[method](request)
    remarks = [code.certificate.remark, *request.prior.notes]
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
    return certify(points, method=method, seed=request.seed, remark=_account(finished)), request.weight


def _many(request: Request) -> Code:
    rounds = ROUNDS[request.effort]
    shape = request.num_classes, request.dim
    start = spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    points, finished = many_ranked_points(
        request.ranking, request.members, start, weight=request.weight, rounds=rounds, progress=request.report
    )
    method = f"tiled descent with ranking, {rounds} passes"
    return certify(points, method=method, seed=request.seed, remark=_account(finished))


def _budget(request: Request) -> tuple[int, int]:
    """Return iterations an exponent and starts, from the effort in seconds and what an evaluation takes."""
    pairs = request.num_classes**2
    evaluation = 2e-4 + 7e-8 * pairs + 3e-10 * pairs * request.dim
    work = WORK[request.effort] / (len(EXPONENTS) * evaluation)
    iterations = int(np.clip(work, 10 if request.effort == "fast" else 20, MOST_ITERATIONS))
    most = {"fast": 2, "balanced": 16, "thorough": 100} if request.dim <= FEW_DIMS else {"thorough": 4}
    return iterations, int(np.clip(work / iterations, 1, most.get(request.effort, 1)))


def _starts(request: Request, count: int) -> list[Array]:
    """Return the prior itself laid out, then random layouts."""
    shape = request.num_classes, request.dim
    first = spectral_layout(request.similarity, request.members, *shape, seed=request.seed)
    return [first] + [random_points(*shape, derive_seed(request.seed, "ranked", k)) for k in range(count - 1)]


def _projected(request: Request) -> tuple[Code, float]:
    """Lay out the prior by the axes along which it varies most, and part only the pairs that are too near.

    On a circle points cannot pass each other, and a class without prior has nothing to be near to: both are placed by
    the weighed objective.
    """
    if request.dim == 2 or len(request.members) < request.num_classes:
        code, weight = _joint(request)
        why = "On a circle points cannot pass each other" if request.dim == 2 else "Some classes have no prior"
        remark = f"{why}: weighed, not projected."
        return Code(
            code.points, replace(code.certificate, remark=f"{code.certificate.remark} {remark}".strip())
        ), weight
    _refuse_seconds(request)
    if request.num_classes > MATRIX_POINTS:
        raise InputError(
            f'`method="project"` holds a number for every pair of classes, at most {MATRIX_POINTS:,} of them; '
            f'got {request.num_classes:,}. Use "auto".'
        )
    shape = request.num_classes, request.dim
    layout = spectral_layout(positive_part(request.similarity), request.members, *shape, seed=request.seed)
    wished = wished_cosine(*shape)
    points = apart_points(layout, wished)
    method = f"prior projected, pairs parted to a cosine of {wished:.2f}"
    return certify(points, method=method, seed=request.seed), 0.0


def _assigned(request: Request, code: Code) -> tuple[Code, float]:
    """Keep a code as it is, and only decide which class gets which point."""
    if len(request.members) < request.num_classes or len(request.anchors) < request.num_classes:
        most, unknown = limits.ALL_ANCHORS, len(request.members) < request.num_classes
        why = "has no prior" if unknown else f"is one of more than {most}"
        raise InputError(f'Assignment needs a prior for every class, at most {most} of them; one {why}. Use "auto".')
    remark, points = code.certificate.remark, code.points
    cosines = points @ points.T
    if np.ptp(cosines[~np.eye(len(points), dtype=bool)]) < 1e-9:
        remark += " All pairs of this code are equally far apart: no assignment can mean anything."
    else:
        kicks = max(1, int(WORK[request.effort] / (1e-3 + 6e-9 * request.num_classes**3)))
        order, finished = assign(
            points, request.ranking.weights, kicks=kicks, seed=request.seed, progress=request.report
        )
        points, remark = points[order], f"{remark} {_account(finished)}"
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
    points, finished = paper_descent(
        request.ranking,
        request.members,
        request.num_classes,
        request.dim,
        seed=request.seed,
        weight=weight,
        progress=request.report,
    )
    method = f"paper (Eq. 5 + {weight:g} x Eq. 6, 10,000 steps)"
    return certify(points, method=method, seed=request.seed, remark=_account(finished)), weight


def _account(finished: bool) -> str:
    return "" if finished else "Interrupted: the best so far, not fixed by the seed."


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
    "project": _projected,
    "assign": lambda request: _assigned(request, _best(request)),
    "codes": lambda request: _assigned(request, _known(request)),
    "paper": _paper,
    "random": _random,
}
