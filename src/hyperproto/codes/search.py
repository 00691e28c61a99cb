"""One piece of a search each: a start, a chain of hops, the hardening of a finalist.

Each is a pure function of its arguments, so it gives the same bits in whichever process it runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hyperproto._core.seeding import derive_seed
from hyperproto._core.threads import one_thread
from hyperproto.codes.adapt import adapt_code, drop_points, move_points
from hyperproto.codes.code import Array
from hyperproto.codes.descent import unit_rows
from hyperproto.codes.effort import MANY_DIMS
from hyperproto.codes.polish import polish
from hyperproto.codes.smooth_max import SmoothMax, descend, largest_cosine
from hyperproto.codes.symmetry import cyclic_start, symmetric_start

__all__ = ["CLOSE", "Candidate", "adapted_start", "fresh_start", "harden", "hop"]

CLOSE = 1e-7  # within this of the bound a search has nothing left to gain
FIRST_EXPONENTS = (4, 8, 2, 16, 1, 32)  # low ones find the sharp codes
ADAPTED_EXPONENTS = (128, 32, 8, 64, 16)
SEARCH_EXPONENT = 2**11  # where candidates are compared


@dataclass(frozen=True)
class Candidate:
    """Points of a search, and their maximum cosine."""

    cosine: float
    points: Array

    @classmethod
    def of(cls, points: Array) -> "Candidate":
        """Measure the points."""
        return cls(largest_cosine(points), points)


def fresh_start(num_points: int, dim: int, seed: int, index: int, bound: float) -> Candidate:
    """Converge one start from nothing: random, symmetric, or a code of one point more without that point."""
    rng = np.random.default_rng(derive_seed(seed, "start", index))
    first = FIRST_EXPONENTS[index % len(FIRST_EXPONENTS)]
    turn = index // len(FIRST_EXPONENTS)  # every kind of start meets every first exponent
    vacancy = dim <= 5 and turn % 4 == 3
    symmetric = turn % 4 > 0 if dim == 3 else turn % 2 == 1  # on S² most records are symmetric, or nearly
    points = _begin(num_points + vacancy, dim, rng, symmetric=symmetric)
    with one_thread():
        points = _converge(points, first, bound)
        if vacancy:
            points = _sharpen(drop_points(points, 1, rng), 64)
        return Candidate.of(points)


def adapted_start(
    code: Array, num_points: int, dim: int, seed: int, index: int, turn: int, bound: float
) -> Candidate:
    """Converge one start from given code number ``index``; its first turn adds next to no noise."""
    rng = np.random.default_rng(derive_seed(seed, "adapted", index, turn))
    with one_thread():
        points = adapt_code(code, num_points, dim, rng, noise=0.01 if turn else 1e-6)
        exponent = ADAPTED_EXPONENTS[turn % len(ADAPTED_EXPONENTS)]
        return Candidate.of(_converge(points, exponent, bound))


def hop(candidate: Candidate, seed: int, index: int, hops: int, bound: float) -> Candidate:
    """Move a few points into the deepest holes and converge again, ``hops`` times, keeping what is better."""
    rng = np.random.default_rng(derive_seed(seed, "hop", index))
    best = candidate
    with one_thread():
        for _ in range(hops):
            if best.cosine <= bound + CLOSE:
                break
            count = int(rng.integers(1, 4))
            first = (64, 16)[int(rng.integers(2))]
            moved = Candidate.of(_sharpen(move_points(best.points, count, rng), first))
            if moved.cosine < best.cosine - 1e-10:
                best = moved
    return best


def harden(candidate: Candidate, bound: float) -> Candidate:
    """Take the exponent to 2^13, polish the contacts, and again at 2^20; return the best seen on the way.

    In few dimensions a candidate is a particular arrangement, and the exponent goes on from where it was. In
    more, it may only not have converged yet: then the exponent also goes back to where the points still move.
    """
    points, dim = candidate.points, candidate.points.shape[1]
    large = points.size > 20_000
    iterations = 100 if dim <= 5 or large else 250 if dim < MANY_DIMS else 400
    begins = [12] if dim <= 5 else [12, 7] if dim < MANY_DIMS else [3] if large else [1]
    best = candidate
    with one_thread():
        for begin in begins:
            for end in _hardened(points, begin, iterations):
                best = min(best, Candidate.of(end), key=lambda c: c.cosine)
                if best.cosine <= bound + 1e-13:
                    return best
    return best


def _hardened(points: Array, begin: int, iterations: int) -> Iterator[Array]:
    """Yield the points at 2^13 and at 2^20, each before and after the polish."""
    smooth = SmoothMax(*points.shape)
    for exponents in ([2**k for k in range(begin, 14)], [2**k for k in range(14, 21)]):
        points = descend(smooth, points, exponents, iterations=iterations, tolerance=1e-6)
        yield points
        yield polish(points, exponent=exponents[-1])


def _begin(num_points: int, dim: int, rng: np.random.Generator, *, symmetric: bool) -> Array:
    """Return a symmetric start where one is asked for and there is one, else random points."""
    points = None
    if symmetric:
        points = symmetric_start(num_points, rng) if dim == 3 else cyclic_start(num_points, dim, rng)
    return unit_rows(rng.standard_normal((num_points, dim))) if points is None else points


def _converge(points: Array, first: int, bound: float) -> Array:
    """Minimise fully at the first exponent; stop there if that met the bound, else sharpen."""
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
