"""Many starts, hops from the best of them, and the hardening of the finalists."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.code import Array
from hyperproto.codes.effort import CHAIN_HOPS, CHAINS, Effort
from hyperproto.codes.search import CLOSE, Candidate, adapted_start, fresh_start, harden, hop
from hyperproto.codes.workers import Task, ordered_map

__all__ = ["Search", "optimise"]

Progress = Callable[[int, int, float, float], None]

ROUND = 12  # starts between two looks at the bound, whatever the number of workers
POPULATION = 12  # candidates remembered
SAME = 1e-4  # of 1 - cosine: candidates nearer than this are taken for the same code
TURNS = 3  # starts from each given code
POOL_WORK = 3.0  # below this the half second that a process takes to start is not worth it


@dataclass
class Search:
    """What a search has seen: its best candidates, and how it ended.

    Attributes
    ----------
    bound : float
        What nobody can beat; within 1e-7 of it the search stops.
    starts, hops : int
        Done so far.
    capped, interrupted : bool
        Whether the clock or the user ended it. Then the same seed need not give the same points again.
    """

    bound: float
    total: int = 0
    starts: int = 0
    hops: int = 0
    capped: bool = False
    interrupted: bool = False
    best: list[Candidate] = field(default_factory=list, repr=False)

    @property
    def reproducible(self) -> bool:
        """Whether the seed alone fixes the points."""
        return not (self.capped or self.interrupted)

    @property
    def done(self) -> bool:
        """Whether there is nothing left to gain, or no time."""
        return self.capped or bool(self.best and self.best[0].cosine <= self.bound + CLOSE)

    def keep(self, candidate: Candidate, *, parent: Candidate | None = None) -> None:
        """Remember the best candidates that differ, a better one in place of the one it came from.

        Two whose maximum cosines are nearly equal are most likely the same code, turned or not yet converged.
        """
        others = [other for other in self.best if other is not parent]
        ranked = sorted([*others, candidate], key=lambda c: c.cosine)  # stable: of equals, the one begun first
        self.best = ranked[:1]
        for other in ranked[1:]:
            if other.cosine > self.best[-1].cosine + SAME * (1 - other.cosine):
                self.best.append(other)
        del self.best[POPULATION:]

    def take(
        self, run: ordered_map, tasks: list[Task], *, hops: int, deadline: float, progress: Progress | None
    ) -> None:
        """Run one round of tasks and keep its results, unless the search is done already."""
        if self.done:
            return
        for (_, arguments), candidate in zip(tasks, run(tasks), strict=True):
            self.keep(candidate, parent=arguments[0] if hops else None)
            self.starts += not hops
            self.hops += hops
            if progress is not None:
                finished = self.starts + self.hops // CHAIN_HOPS
                progress(finished, self.total, self.best[0].cosine, self.bound)
            if time.monotonic() > deadline:
                self.capped = True
                return


def optimise(
    num_points: int,
    dim: int,
    *,
    effort: Effort,
    seed: int,
    workers: int = 1,
    bound: float | None = None,
    initial_codes: Iterable[Array] = (),
    seconds: float | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Search]:
    """Return the best code a search finds, and the account of that search.

    Parameters
    ----------
    num_points, dim : int
        K and D.
    effort : Effort
        How much to try.
    seed : int
        Fixes every bit of the result, for any number of workers.
    workers : int, default 1
        Processes; more than one is used only where the search takes longer than starting them.
    bound : float, optional
        Stops within 1e-7 of this; the bound of :func:`separation_bound` unless given.
    initial_codes : iterable of Array
        Codes of nearly as many points or dimensions, to start from as well.
    seconds : float, optional
        Ends the search early, at the first result after this time.
    progress : callable, optional
        Called with (done, total, best maximum cosine, bound) after each start and each chain of hops.

    Returns
    -------
    Array, shape (num_points, dim), unit rows; and the Search. An interrupt returns the best so far.
    """
    codes = list(initial_codes)
    search = Search(separation_bound(num_points, dim) if bound is None else bound)
    search.total = effort.starts + TURNS * len(codes) + effort.rounds * CHAINS
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    several = workers if effort.work(num_points, dim) > POOL_WORK else 1
    try:
        with ordered_map(several) as run:
            tasks = _beginnings(num_points, dim, codes, effort.starts, seed, search.bound)
            for first in range(0, len(tasks), ROUND):
                search.take(run, tasks[first : first + ROUND], hops=0, deadline=deadline, progress=progress)
            for turn in range(effort.rounds):
                tasks = _hops(search, seed, turn, effort.rounds)
                search.take(run, tasks, hops=CHAIN_HOPS, deadline=deadline, progress=progress)
            finalists = search.best[: 1 if search.capped else effort.finalists]
            for parent, candidate in zip(
                finalists, run([(harden, (c, search.bound)) for c in finalists]), strict=True
            ):
                search.keep(candidate, parent=parent)
    except KeyboardInterrupt:
        search.interrupted = True
        if not search.best:
            raise
    return search.best[0].points, search


def _beginnings(
    num_points: int, dim: int, codes: Sequence[Array], starts: int, seed: int, bound: float
) -> list[Task]:
    """Return the tasks of all starts: given codes first, since they are the most likely to meet the bound."""
    adapted: list[Task] = [
        (adapted_start, (code, num_points, dim, seed, k, turn, bound))
        for k, code in enumerate(codes)
        for turn in range(TURNS)
    ]
    return adapted + [(fresh_start, (num_points, dim, seed, index, bound)) for index in range(starts)]


def _hops(search: Search, seed: int, turn: int, turns: int) -> list[Task]:
    """Return chains of hops from candidates taken in turn, from among fewer and fewer of the best."""
    eligible = search.best[: max(CHAINS, round(POPULATION * (1 - turn / turns)))]
    chosen = [eligible[(CHAINS * turn + k) % len(eligible)] for k in range(min(CHAINS, len(eligible)))]
    return [
        (hop, (candidate, seed, CHAINS * turn + k, CHAIN_HOPS, search.bound)) for k, candidate in enumerate(chosen)
    ]
