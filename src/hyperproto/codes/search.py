"""Many starts, at random and from known codes of nearly the same size, and the hardening of the
best.

A start and a hardening are pure functions of their arguments, so they give the same bits in
whichever process they run, always on one thread. Starts with the symmetry of a finite group, and hops that move points of
the best candidates into holes, were tried: neither ends lower than random starts in the same time.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hyperproto._core.checks import choose
from hyperproto._core.processes import Task, derive_seed, one_thread, run_tasks
from hyperproto._core.progress import report_progress
from hyperproto.codes.certificate import separation_bound
from hyperproto.codes.measure import Array, unit_rows
from hyperproto.codes.smooth_max import SmoothMax, descend, largest_cosine, polish

WORK = {"fast": 0.8, "balanced": 8.0, "thorough": 50.0}  # seconds on one core, turned into counts
# from here on minima differ little, and how slowly the exponent rises matters more than starts
MANY_DIMS = 13
CLOSE = 1e-7  # within this of the bound a search has nothing left to gain
FIRST_EXPONENTS = (4, 8, 2, 16, 1, 32)  # low ones find the sharp codes
ADAPTED_EXPONENTS = (128, 32, 8, 64, 16)
SEARCH_EXPONENT = 2**11  # where candidates are compared
ROUND = 12  # starts between two checks of the bound, whatever the number of workers
POPULATION = 12  # candidates remembered
SAME = 1e-4  # of 1 - cosine: candidates nearer than this are taken for the same code
TURNS = 3  # starts from each given code
DIRECTIONS = 400  # tried when holes are looked for
POOL_WORK = 3.0  # below this the second that processes take to start is not worth it


@dataclass(frozen=True)
class Effort:
    """How much to try, in counts and not by the clock, so that a seed fixes the result.

    Attributes
    ----------
    starts : int
        Random starts; given codes come on top.
    finalists : int
        Candidates taken to the highest exponent and polished.
    """

    starts: int
    finalists: int

    @classmethod
    def named(cls, name: str, num_points: int, dim: int) -> "Effort":
        """Return the counts of "fast", "balanced" or "thorough": near 1, 10 and 60 s at K = 100.

        >>> Effort.named("balanced", 100, 10)
        Effort(starts=92, finalists=4)
        """
        work = choose(name, WORK, what="effort")
        start = seconds_per_start(num_points, dim)
        return cls(
            starts=max(1, round((0.4 if name == "fast" else 0.9) * work / start)),
            finalists=max(1, min(4 if dim < MANY_DIMS else 8, round(0.2 * work / start))),
        )


def seconds_per_start(num_points: int, dim: int) -> float:
    """Return about what a start takes on one core: calls, passes over K x K, products with it."""
    pairs = num_points**2
    patience = 1.0 if dim < MANY_DIMS else 2.5
    return patience * (0.02 + 4e-6 * pairs + 1.8e-7 * pairs * dim)


class Candidate(NamedTuple):
    """Points of a search, and their maximum cosine."""

    cosine: float
    points: Array


def _measured(points: Array) -> Candidate:
    return Candidate(largest_cosine(points), points)


def random_start(num_points: int, dim: int, seed: int, index: int, bound: float) -> Candidate:
    """Converge one start from points drawn at random."""
    rng = np.random.default_rng(derive_seed(seed, "start", index))
    points = unit_rows(rng.standard_normal((num_points, dim)))
    return _measured(_converge(points, FIRST_EXPONENTS[index % len(FIRST_EXPONENTS)], bound))


def adapted_start(
    code: Array, num_points: int, dim: int, seed: int, index: int, turn: int, bound: float
) -> Candidate:
    """Converge one start from given code number ``index``; its first turn adds next to no noise."""
    rng = np.random.default_rng(derive_seed(seed, "adapted", index, turn))
    points = adapt_code(code, num_points, dim, rng, noise=0.01 if turn else 1e-6)
    exponent = ADAPTED_EXPONENTS[turn % len(ADAPTED_EXPONENTS)]
    return _measured(_converge(points, exponent, bound))


def harden(candidate: Candidate, bound: float) -> Candidate:
    """Take the exponent to 2^13, polish the contacts, and again at 2^20; return the best seen on
    the way.

    In few dimensions a candidate is a particular arrangement, and the exponent goes on from where
    it was. In more, it may only not have converged yet: then the exponent also goes back to where
    the points still move.
    """
    dim, large = candidate.points.shape[1], candidate.points.size > 20_000
    iterations = 100 if dim <= 5 or large else 250 if dim < MANY_DIMS else 400
    begins = [12] if dim <= 5 else [12, 7] if dim < MANY_DIMS else [3] if large else [1]
    best, smooth = candidate, SmoothMax(*candidate.points.shape)
    for begin in begins:
        points = candidate.points
        for first, last in ((begin, 13), (14, 20)):
            exponents = [2**k for k in range(first, last + 1)]
            points = descend(smooth, points, exponents, iterations=iterations, tolerance=1e-6)
            for end in (points, polish(points, exponent=2**last)):
                best = min(best, _measured(end), key=lambda c: c.cosine)
                if best.cosine <= bound + 1e-13:
                    return best
    return best


def _converge(points: Array, first: int, bound: float) -> Array:
    """Minimize fully at the first exponent; stop there if that met the bound, else sharpen."""
    # sharp codes of higher dimensions need the patience
    tolerance = 1e-2 if points.shape[1] == 3 else 1e-3
    points = descend(SmoothMax(*points.shape), points, [first], iterations=800, tolerance=tolerance)
    if largest_cosine(points) <= bound + 1e-5:
        return polish(points, exponent=2**13)
    return _sharpen(points, 2 * first)


def _sharpen(points: Array, first: int) -> Array:
    """Follow the minimum from the first exponent to where candidates are compared, slowly if D is
    large.
    """
    factor, iterations = (4, 50) if points.shape[1] < MANY_DIMS else (2, 100)
    exponents = [SEARCH_EXPONENT]
    while exponents[0] > factor * first:
        exponents.insert(0, exponents[0] // factor)
    return descend(SmoothMax(*points.shape), points, exponents, iterations=iterations)


@dataclass
class Search:
    """What a search has seen: its best candidates.

    Attributes
    ----------
    bound : float
        What nobody can beat; within 1e-7 of it the search stops.
    starts : int
        Done so far.
    """

    bound: float
    starts: int = 0
    best: list[Candidate] = field(default_factory=list, repr=False)

    def keep(self, *candidates: Candidate) -> None:
        """Remember the best candidates that differ.

        Two whose maximum cosines are nearly equal are most likely the same code, turned or not yet
        converged.
        """
        # stable: of equals, the one started first
        ranked = sorted([*self.best, *candidates], key=lambda c: c.cosine)
        self.best = ranked[:1]
        for other in ranked[1:]:
            if other.cosine > self.best[-1].cosine + SAME * (1 - other.cosine):
                self.best.append(other)
        del self.best[POPULATION:]


@one_thread()
def optimize(
    num_points: int,
    dim: int,
    *,
    effort: Effort,
    seed: int,
    workers: int = 1,
    bound: float | None = None,
    initial_codes: Sequence[Array] = (),
) -> tuple[Array, Search]:
    """Return the best code a search finds, unit rows, and the account of that search.

    The seed fixes every bit, for any number of workers, which are used only where the search takes
    longer than starting them. It ends within 1e-7 of the bound (default: :func:`separation_bound`).
    ``initial_codes``, of nearly as many points or dimensions, are starts too.
    """
    search = Search(separation_bound(num_points, dim) if bound is None else bound)
    total = effort.starts + TURNS * len(initial_codes)
    work = (effort.starts + 2 * effort.finalists) * seconds_per_start(num_points, dim)
    workers = workers if work > POOL_WORK else 1
    tasks: list[Task] = [  # given codes first, since they are the most likely to meet the bound
        (adapted_start, (code, num_points, dim, seed, k, turn, search.bound))
        for k, code in enumerate(initial_codes)
        for turn in range(TURNS)
    ]
    tasks += [
        (random_start, (num_points, dim, seed, index, search.bound))
        for index in range(effort.starts)
    ]
    for first in range(0, len(tasks), ROUND):
        if search.best and search.best[0].cosine <= search.bound + CLOSE:
            break
        with closing(run_tasks(tasks[first : first + ROUND], workers)) as results:
            for candidate in results:
                search.keep(candidate)
                search.starts += 1
                note = f"maximum cosine {search.best[0].cosine:.6f}, bound {search.bound:.6f}"
                report_progress(search.starts, total, note)
    finalists: list[Task] = [(harden, (c, search.bound)) for c in search.best[: effort.finalists]]
    with closing(run_tasks(finalists, workers)) as results:
        search.keep(*results)
    return search.best[0].points, search


def adapt_code(
    points: Array, num_points: int, dim: int, rng: np.random.Generator, *, noise: float
) -> Array:
    """Return ``num_points`` points in ``dim`` dimensions, as near to the given code as may be.

    Fewer dimensions keep the principal axes, more are zero; points too many are dropped where it is
    most crowded, points missing are put into the deepest holes; then every coordinate is disturbed
    by ``noise``.
    """
    have = points.shape[1]
    if have < dim:
        points = np.pad(points, ((0, 0), (0, dim - have)))
    elif have > dim:
        points = points @ np.linalg.svd(points, full_matrices=False)[2][:dim].T
        lost = ~points.any(axis=1)  # orthogonal to every axis that is kept
        points[lost] = rng.standard_normal((int(lost.sum()), dim))
        points = unit_rows(points)
    points = drop_points(points, max(0, len(points) - num_points), rng)
    points = insert_points(points, max(0, num_points - len(points)), rng)
    return unit_rows(points + noise * rng.standard_normal(points.shape))


def drop_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points without ``count`` of them, each time one of the three most crowded."""
    for _ in range(count):
        cosine = points @ points.T
        np.fill_diagonal(cosine, -1)
        crowd = ((1 - cosine.max()) / (1 - cosine).clip(1e-12)) ** 64
        worst = np.argsort(-crowd.sum(axis=1), kind="stable")[:3]
        points = np.delete(points, rng.choice(worst), axis=0)
    return points


def insert_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points and ``count`` more, each time in one of the three deepest holes found."""
    for _ in range(count):
        points = np.concatenate([points, deepest_holes(points, 3, rng)[[rng.integers(3)]]])
    return points


def deepest_holes(points: Array, count: int, rng: np.random.Generator, *, steps: int = 6) -> Array:
    """Return the ``count`` directions farthest from all points, of many random ones moved into
    their holes.

    Each step turns a direction away from a mean of the points near it. Shape (count, D).
    """
    holes = unit_rows(rng.standard_normal((DIRECTIONS, points.shape[1])))
    for step in range(steps):
        cosine = holes @ points.T
        weight = np.exp(30 * (cosine - cosine.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        holes = unit_rows(holes - 0.3 / (step + 1) * (weight @ points))
    order = np.argsort((holes @ points.T).max(axis=1), kind="stable")
    return holes[order[:count]]
