"""Timing two things in turn, so that whatever else the machine does falls on both."""

import statistics
import time
from collections.abc import Callable


def compare(
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float, float]:
    """Return median seconds of ours, median seconds of the peer, and the median over rounds of peer
    / ours.

    ``time.process_time`` as the clock does not count what else the machine does.
    """
    for _ in range(5):
        ours(), peer()
    pairs = [(seconds(ours, clock), seconds(peer, clock)) for _ in range(rounds)]
    mine, theirs = zip(*pairs, strict=True)
    return (
        statistics.median(mine),
        statistics.median(theirs),
        statistics.median(p / o for o, p in pairs),
    )


def seconds(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    started = clock()
    function()
    return clock() - started
