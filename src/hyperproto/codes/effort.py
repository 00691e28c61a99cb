"""How much a search tries."""

from dataclasses import dataclass

from hyperproto._core.registry import choose

__all__ = ["CHAINS", "CHAIN_HOPS", "MANY_DIMS", "Effort"]

CHAINS = 4  # candidates that hop in one round
CHAIN_HOPS = 10
MANY_DIMS = 13  # from here on minima differ little, and how slowly the exponent rises matters more than starts
WORK = {"fast": 0.8, "balanced": 8.0, "thorough": 50.0}  # seconds on one core, turned into counts


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
        start = _seconds_per_start(num_points, dim)
        chain_round = CHAINS * CHAIN_HOPS * 0.5 * start
        return cls(
            starts=max(1, round(0.4 * work / start)),
            rounds=int(0.5 * work / chain_round),
            finalists=max(1, min(4 if dim < MANY_DIMS else 8, round(0.2 * work / start))),
        )

    def work(self, num_points: int, dim: int) -> float:
        """Return about how many seconds this takes on one core."""
        hops = self.rounds * CHAINS * CHAIN_HOPS
        return (self.starts + 0.5 * hops + 2 * self.finalists) * _seconds_per_start(num_points, dim)


def _seconds_per_start(num_points: int, dim: int) -> float:
    """Return about what a start takes on one core: calls, passes over K x K, products with it."""
    pairs = num_points**2
    patience = 1.0 if dim < MANY_DIMS else 2.5
    return patience * (0.02 + 4e-6 * pairs + 1.8e-7 * pairs * dim)
