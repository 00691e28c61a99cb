"""More points beside given ones, which stay where they are: as far from them and from each other as can be found."""

import numpy as np

from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto._core.threads import one_thread
from hyperproto.codes.adapt import insert_points
from hyperproto.codes.beside import SmoothMaxBeside, largest_cosine_beside
from hyperproto.codes.code import Array
from hyperproto.codes.descent import TILE_ENTRIES, unit_rows
from hyperproto.codes.effort import WORK
from hyperproto.codes.lbfgs import minimise

__all__ = ["extend_code"]

FIRST = (4, 16, 64, 256)  # all starts together
LAST = (2**9, 2**11, 2**13, 2**16, 2**20)  # the best of them, one by one
ITERATIONS = 60
FINALISTS = 4
MOST_STARTS = 64
MANY = 4000  # old points from which holes are looked for among random directions only
CANDIDATES = 256


def extend_code(fixed: Array, count: int, *, effort: str = "balanced", seed: int = 0) -> Array:
    """Return ``count`` points that maximise the smallest angle to the given ones and among themselves.

    Parameters
    ----------
    fixed : Array, shape (M, D)
        Unit rows, which stay as they are.
    count : int
        How many to add.
    effort : {"fast", "balanced", "thorough"}
        How many starts, as far as they are affordable.
    seed : int
        Fixes every bit of the result.

    Returns
    -------
    Array, shape (count, D), unit rows.

    Examples
    --------
    >>> square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    >>> (extend_code(square, 1) @ square.T).max().round(6).item()
    0.707107
    """
    starts, iterations = _budget(len(fixed), fixed.shape[1], count, effort)
    with one_thread():
        fixed = np.ascontiguousarray(fixed, dtype=np.float64)
        begun = np.stack([_begin(fixed, count, derive_seed(seed, "extend", k)) for k in range(starts)])
        ends = _descend(fixed, begun, FIRST, iterations)
        order = np.argsort(largest_cosine_beside(fixed, ends), kind="stable")[:FINALISTS]
        ends = np.concatenate([_descend(fixed, ends[[k]], LAST, iterations) for k in order])
        best: Array = ends[largest_cosine_beside(fixed, ends).argmin()]
    return best


def _descend(fixed: Array, points: Array, exponents: tuple[int, ...], iterations: int) -> Array:
    """Follow the minimum of all starts over rising exponents. Shape (B, count, D), unit rows."""
    smooth = SmoothMaxBeside(fixed, *points.shape[:2])
    x = points.reshape(-1)
    for exponent in exponents:
        smooth.exponent = exponent
        x = minimise(smooth, x, iterations=iterations)
    return unit_rows(x.reshape(-1, points.shape[2])).reshape(points.shape)


def _begin(fixed: Array, count: int, seed: int) -> Array:
    """Return new points in deep holes between the old ones, other ones for every seed."""
    rng = np.random.default_rng(seed)
    if len(fixed) <= MANY:
        return insert_points(fixed, count, rng)[len(fixed) :]
    candidates = unit_rows(rng.standard_normal((CANDIDATES + count, fixed.shape[1])))
    tile = TILE_ENTRIES // len(candidates)
    tiles = [(candidates @ fixed[k : k + tile].T).max(axis=1) for k in range(0, len(fixed), tile)]
    nearest = np.max(tiles, axis=0)
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(int(nearest.argmin()))
        np.maximum(nearest, candidates @ candidates[chosen[-1]], out=nearest)
    points: Array = candidates[chosen]
    return points


def _budget(num_fixed: int, dim: int, count: int, effort: str) -> tuple[int, int]:
    """Return starts and iterations an exponent, in counts, from the effort in seconds and what one takes."""
    pairs = count * (num_fixed + count)
    evaluation = 1e-6 + pairs * (3e-8 + 2e-10 * dim)
    holes = 0 if num_fixed > MANY else count * (num_fixed + count) * (3e-5 + 5e-7 * dim)
    work = choose(effort, WORK, what="effort") / 2
    starts = int(np.clip(work / (holes + len(FIRST) * ITERATIONS * evaluation), 1, MOST_STARTS))
    return starts, int(np.clip(work / (len(LAST) * evaluation), 10, ITERATIONS))
