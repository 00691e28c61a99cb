"""Learning rates as pure functions of progress: nothing to store, nothing to restore."""

import math
from collections.abc import Callable

__all__ = ["SCHEDULES"]

WARM_UP = 0.25  # share of the one cycle in which the rate rises


def one_cycle(progress: float) -> float:
    """Rise linearly over the first quarter, then fall to zero along a half cosine; suits short budgets.

    >>> [round(one_cycle(p), 3) for p in (0, 0.25, 0.625, 1)]
    [0.04, 1.0, 0.5, 0.0]
    """
    if progress < WARM_UP:
        return 0.04 + 0.96 * progress / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP)))


def paper(progress: float) -> float:
    """Divide by ten after 100 and after 200 of 250 epochs, at the same shares of any length.

    >>> [paper(epoch / 250) for epoch in (0, 99, 100, 200)]
    [1.0, 1.0, 0.1, 0.01]
    """
    return 1.0 if progress < 100 / 250 else 0.1 if progress < 200 / 250 else 0.01


def constant(progress: float) -> float:
    """Keep the rate."""
    return 1.0


SCHEDULES: dict[str, Callable[[float], float]] = {
    "one-cycle": one_cycle,
    "paper": paper,
    "constant": constant,
}
