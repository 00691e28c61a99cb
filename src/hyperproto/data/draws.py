"""Random numbers that depend on seed, epoch and sample alone: not on the batch, the worker or the process."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperproto._core.seeding import derive_seed

__all__ = ["uniforms"]

# SplitMix64: a counter goes up in steps of the golden ratio, and each value is mixed until no trace of the steps is
# left. Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniforms(seed: int, epoch: int, samples: ArrayLike, columns: int | Sequence[int]) -> NDArray[np.float64]:
    """Return numbers in [0, 1), a row for each sample.

    Parameters
    ----------
    seed, epoch : int
        Name the stream.
    samples : array of int, shape (n,)
        Which sample each row is for; at least 0, in any order.
    columns : int or sequence of int
        How many numbers a sample gets, or which of its numbers. Column 3 is the same however many there are.

    Returns
    -------
    array of float64, shape (n, columns)

    >>> bool((uniforms(0, 5, [7, 8], 3)[1] == uniforms(0, 5, [8], 3)).all())
    True
    """
    key = np.uint64(derive_seed(seed, "augment", epoch))
    wanted = np.arange(columns) if isinstance(columns, int) else np.asarray(columns)
    streams = _mix(_mix(np.asarray(samples).astype(np.uint64) * STEP + STEP) + key)
    bits = _mix(streams[:, None] + (wanted.astype(np.uint64) + np.uint64(1)) * STEP)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Map 64 bits to 64 bits, one to one, so that a change of one bit changes half of them."""
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return bits ^ (bits >> np.uint64(31))
