"""Many starts, hops from the best of them, and the hardening of the finalists.

A start, a chain of hops and a hardening are pure functions of their arguments, so they give the same bits in
whichever process they run.
"""

import math
import signal
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hyperproto._core.checks import choose
from hyperproto._core.processes import derive_seed, one_thread
from hyperproto.codes.certificate import separation_bound
from hyperproto.codes.measure import Array, unit_rows
from hyperproto.codes.smooth_max import SmoothMax, descend, largest_cosine, polish
from hyperproto.codes.starts import adapt_code, cyclic_start, drop_points, move_points, symmetric_start

Task = tuple[Callable[..., Any], tuple[Any, ...]]
Progress = Callable[[int, int, float, float], None]

CHAINS = 4  # candidates that hop in one round
CHAIN_HOPS = 10
MANY_DIMS = 13  # from here on minima differ little, and how slowly the exponent rises matters more than starts
WORK = {"fast": 0.8, "balanced": 8.0, "thorough": 50.0}  # seconds on one core, turned into counts
CLOSE = 1e-7  # within this of the bound a search has nothing left to gain
FIRST_EXPONENTS = (4, 8, 2, 16, 1, 32)  # low ones find the sharp codes
ADAPTED_EXPONENTS = (128, 32, 8, 64, 16)
SEARCH_EXPONENT = 2**11  # where candidates are compared
ROUND = 12  # starts between two checks of the bound, whatever the number of workers
POPULATION = 12  # candidates remembered
SAME = 1e-4  # of 1 - cosine: candidates nearer than this are taken for the same code
TURNS = 3  # starts from each given code
POOL_WORK = 3.0  # below this the second that processes take to start is not worth it


@dataclass(frozen=True)
class Effort:
    """How much to try, in counts and not by the clock, so that a seed fixes the result.

    Attributes
    ----------
    starts : int
        Starts from nothing; given codes come on top.
    rounds : int
        Rounds of hops: in each, four of the best candidates hop ten times.
    finalists : int
        Candidates taken to the highest exponent and polished.
    """

    starts: int
    rounds: int
    finalists: int

    @classmethod
    def named(cls, name: str, num_points: int, dim: int) -> "Effort":
        """Return the counts of "fast", "balanced" or "thorough": near 1, 10 and 60 s at K = 100.

        >>> Effort.named("balanced", 100, 10)
        Effort(starts=41, rounds=2, finalists=4)
        """
        work = choose(name, WORK, what="effort")
        start = seconds_per_start(num_points, dim)
        chain_round = CHAINS * CHAIN_HOPS * 0.5 * start
        return cls(
            starts=max(1, round(0.4 * work / start)),
            rounds=int(0.5 * work / chain_round),
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


def fresh_start(num_points: int, dim: int, seed: int, index: int, bound: float) -> Candidate:
    """Converge one start from nothing: random, symmetric, or a code of one point more without that point."""
    rng = np.random.default_rng(derive_seed(seed, "start", index))
    first = FIRST_EXPONENTS[index % len(FIRST_EXPONENTS)]
    turn = index // len(FIRST_EXPONENTS)  # every kind of start meets every first exponent
    vacancy = dim <= 5 and turn % 4 == 3
    symmetric = turn % 4 > 0 if dim == 3 else turn % 2 == 1  # on S² most records are symmetric, or nearly
    count, points = num_points + vacancy, None
    if symmetric:
        points = symmetric_start(count, rng) if dim == 3 else cyclic_start(count, dim, rng)
    if points is None:
        points = unit_rows(rng.standard_normal((count, dim)))
    with one_thread():
        points = _converge(points, first, bound)
        if vacancy:
            points = _sharpen(drop_points(points, 1, rng), 64)
        return _measured(points)


def adapted_start(
    code: Array, num_points: int, dim: int, seed: int, index: int, turn: int, bound: float
) -> Candidate:
    """Converge one start from given code number ``index``; its first turn adds next to no noise."""
    rng = np.random.default_rng(derive_seed(seed, "adapted", index, turn))
    with one_thread():
        points = adapt_code(code, num_points, dim, rng, noise=0.01 if turn else 1e-6)
        exponent = ADAPTED_EXPONENTS[turn % len(ADAPTED_EXPONENTS)]
        return _measured(_converge(points, exponent, bound))


def hop(candidate: Candidate, seed: int, index: int, bound: float) -> Candidate:
    """Move a few points into the deepest holes and converge again, ten times, keeping what is better."""
    rng = np.random.default_rng(derive_seed(seed, "hop", index))
    best = candidate
    with one_thread():
        for _ in range(CHAIN_HOPS):
            if best.cosine <= bound + CLOSE:
                break
            count = int(rng.integers(1, 4))
            first = (64, 16)[int(rng.integers(2))]
            moved = _measured(_sharpen(move_points(best.points, count, rng), first))
            if moved.cosine < best.cosine - 1e-10:
                best = moved
    return best


def harden(candidate: Candidate, bound: float) -> Candidate:
    """Take the exponent to 2^13, polish the contacts, and again at 2^20; return the best seen on the way.

    In few dimensions a candidate is a particular arrangement, and the exponent goes on from where it was. In
    more, it may only not have converged yet: then the exponent also goes back to where the points still move.
    """
    dim, large = candidate.points.shape[1], candidate.points.size > 20_000
    iterations = 100 if dim <= 5 or large else 250 if dim < MANY_DIMS else 400
    begins = [12] if dim <= 5 else [12, 7] if dim < MANY_DIMS else [3] if large else [1]
    best, smooth = candidate, SmoothMax(*candidate.points.shape)
    with one_thread():
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
    tolerance = 1e-2 if points.shape[1] == 3 else 1e-3  # sharp codes of higher dimensions need the patience
    points = descend(SmoothMax(*points.shape), points, [first], iterations=800, tolerance=tolerance)
    if largest_cosine(points) <= bound + 1e-5:
        return polish(points, exponent=2**13)
    return _sharpen(points, 2 * first)


def _sharpen(points: Array, first: int) -> Array:
    """Follow the minimum from the first exponent to where candidates are compared, slowly if D is large."""
    factor, iterations = (4, 50) if points.shape[1] < MANY_DIMS else (2, 100)
    exponents = [SEARCH_EXPONENT]
    while exponents[0] > factor * first:
        exponents.insert(0, exponents[0] // factor)
    return descend(SmoothMax(*points.shape), points, exponents, iterations=iterations)


@dataclass
class Search:
    """What a search has seen: its best candidates, and how it ended.

    Attributes
    ----------
    bound : float
        What nobody can beat; within 1e-7 of it the search stops.
    starts, hops : int
        Done so far.
    capped : bool
        Whether the clock ended it. Then the same seed need not give the same points again.
    """

    bound: float
    starts: int = 0
    hops: int = 0
    capped: bool = False
    best: list[Candidate] = field(default_factory=list, repr=False)

    def keep(self, candidate: Candidate, *, parent: Candidate | None = None) -> None:
        """Remember the best candidates that differ, a better one in place of the one it came from.

        Two whose maximum cosines are nearly equal are most likely the same code, turned or not yet converged.
        """
        others = [other for other in self.best if other is not parent]
        ranked = sorted([*others, candidate], key=lambda c: c.cosine)  # stable: of equals, the one started first
        self.best = ranked[:1]
        for other in ranked[1:]:
            if other.cosine > self.best[-1].cosine + SAME * (1 - other.cosine):
                self.best.append(other)
        del self.best[POPULATION:]


def optimize(
    num_points: int,
    dim: int,
    *,
    effort: Effort,
    seed: int,
    workers: int = 1,
    bound: float | None = None,
    initial_codes: Sequence[Array] = (),
    seconds: float | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Search]:
    """Return the best code a search finds, unit rows, and the account of that search.

    The seed fixes every bit, for any number of workers, which are used only where the search takes longer than
    starting them. It ends within 1e-7 of the bound (default: :func:`separation_bound`), or at the first result after
    ``seconds``. ``initial_codes``, of nearly as many points or dimensions, are starts too;
    ``progress`` is called with (done, total, best maximum cosine, bound) after each start and each chain of hops.
    """
    search = Search(separation_bound(num_points, dim) if bound is None else bound)
    total = effort.starts + TURNS * len(initial_codes) + effort.rounds * CHAINS
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    turns = effort.starts + 0.5 * effort.rounds * CHAINS * CHAIN_HOPS + 2 * effort.finalists
    workers = workers if turns * seconds_per_start(num_points, dim) > POOL_WORK else 1

    def run(tasks: list[Task], *, hops: int) -> None:
        """Keep the results of some tasks, unless there is nothing left to gain, or no time."""
        if search.capped or (search.best and search.best[0].cosine <= search.bound + CLOSE):
            return
        with closing(run_in_order(tasks, workers)) as results:
            for (_, arguments), candidate in zip(tasks, results, strict=True):
                search.keep(candidate, parent=arguments[0] if hops else None)
                search.starts += not hops
                search.hops += hops
                if progress is not None:
                    done = search.starts + search.hops // CHAIN_HOPS
                    progress(done, total, search.best[0].cosine, search.bound)
                if time.monotonic() > deadline:
                    search.capped = True
                    return

    tasks: list[Task] = [  # given codes first, since they are the most likely to meet the bound
        (adapted_start, (code, num_points, dim, seed, k, turn, search.bound))
        for k, code in enumerate(initial_codes)
        for turn in range(TURNS)
    ]
    tasks += [(fresh_start, (num_points, dim, seed, index, search.bound)) for index in range(effort.starts)]
    for first in range(0, len(tasks), ROUND):
        run(tasks[first : first + ROUND], hops=0)
    for turn in range(effort.rounds):
        # in turn, from among fewer and fewer of the best
        eligible = search.best[: max(CHAINS, round(POPULATION * (1 - turn / effort.rounds)))]
        numbers = range(CHAINS * turn, CHAINS * turn + min(CHAINS, len(eligible)))
        run([(hop, (eligible[k % len(eligible)], seed, k, search.bound)) for k in numbers], hops=CHAIN_HOPS)
    finalists = search.best[: 1 if search.capped else effort.finalists]
    with closing(run_in_order([(harden, (c, search.bound)) for c in finalists], workers)) as results:
        for parent, candidate in zip(finalists, results, strict=True):
            search.keep(candidate, parent=parent)
    return search.best[0].points, search


def run_in_order(tasks: Sequence[Task], workers: int) -> Generator[Any, None, None]:
    """Yield ``function(*arguments)`` of each task, in the order of the tasks, from one or several processes.

    One worker is this very process. Closing the generator ends what the processes are doing. Linear algebra runs on
    one thread there, and an interrupt (Ctrl-C) is left to this process.
    """
    if workers == 1:
        yield from (function(*arguments) for function, arguments in tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(
        workers,
        backend="loky",
        return_as="generator",
        batch_size=1,
        max_nbytes=None,  # arguments are copied: tasks may write to them
        inner_max_num_threads=1,
    )
    results = parallel(delayed(_uninterrupted)(*task) for task in tasks)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close the results itself, with a warning
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tasks that were not used: that is what ending early means
            results.close()


def _uninterrupted(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call the function in a worker process, which the parent ends when an interrupt reaches it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(*arguments)
