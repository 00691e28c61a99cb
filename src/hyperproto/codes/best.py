"""The best code we can offer for K points in D dimensions: known ones first, then a search, then the better."""

import os
from collections.abc import Iterator

from hyperproto._core.registry import choose
from hyperproto.codes.algebra import Entry, build_subset, candidates, single_entries
from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.certify import MEETS, certify, proved_optimum
from hyperproto.codes.closed_forms import closed_form, spiral
from hyperproto.codes.code import Array, Code
from hyperproto.codes.descent import random_points
from hyperproto.codes.effort import WORK, Effort
from hyperproto.codes.starts import Progress, Search, optimise
from hyperproto.codes.tiled import tiled_descent
from hyperproto.codes.zoo import from_zoo

__all__ = ["best_code", "known_code", "known_max_cosine"]

MATRIX_POINTS = 4000  # up to here the search may hold K x K; beyond, only the pairs that are near
PATIENCE = 1.5  # where a code is known, a search whose single start takes longer than this many efforts is not begun
NEAR_CODES = 3  # codes of nearly K points to start from
SINGLE_PRECISION = 2**24  # entries from which points are made in float32: no second, larger copy


def best_code(
    num_points: int,
    dim: int,
    *,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
    search_only: bool = False,
) -> Code:
    """Return the best of what applies: closed forms, the registry, the zoo, and a search.

    A known code that is proved optimal ends the matter. Otherwise a search of the given effort is made, starting
    from nothing and from known codes of nearly K points, unless one start alone would take far longer than the
    effort allows; the smaller maximum cosine wins.
    """
    choose(effort, WORK, what="effort")
    known = None if search_only else known_code(num_points, dim, seed=seed)
    if known is not None and (known.certificate.proved or (effort != "thorough" and _is_stored(known))):
        return known  # stored codes come from thorough searches: a lesser one has no chance
    target = max(separation_bound(num_points, dim), (proved_optimum(num_points, dim) or (-1.0, ""))[0])
    if known is None or _affordable(num_points, dim, effort):
        found = _search(num_points, dim, effort, seed, workers or os.cpu_count() or 1, target, seconds, progress)
        if known is None or found.certificate.max_cosine < known.certificate.max_cosine:
            return found
    return known


def known_code(num_points: int, dim: int, *, seed: int = 0) -> Code | None:
    """Return the best code that needs no search: a closed form, a registry code or a zoo code."""
    exact = closed_form(num_points, dim)
    if exact is not None:
        points, method, proof = exact
        return certify(points, method=method, seed=None, proof=proof)
    entry = next(iter(candidates(num_points, dim)), None)
    stored = from_zoo(num_points, dim)
    if stored is not None and (entry is None or stored.certificate.max_cosine < entry.max_cosine - MEETS):
        return stored
    return None if entry is None else _from_registry(entry, num_points, dim, seed)


def known_max_cosine(num_points: int, dim: int) -> float:
    """Return the maximum cosine of :func:`known_code`, without building it; 1 where nothing is known."""
    if num_points <= 2 * dim or dim == 2:  # closed forms, which meet the bound
        return separation_bound(num_points, dim)
    entry = next(iter(candidates(num_points, dim)), None)
    stored = from_zoo(num_points, dim)
    offers = [entry.max_cosine if entry else 1.0, stored.certificate.max_cosine if stored else 1.0]
    return min(offers)


def _from_registry(entry: Entry, num_points: int, dim: int, seed: int) -> Code:
    large = num_points * dim > SINGLE_PRECISION
    points, fair = build_subset(entry, num_points, dim, seed=seed, dtype="float32" if large else "float64")
    whole = num_points == entry.num_points
    share = "" if whole else f", {num_points} of its {entry.num_points} points"
    padded = "" if dim == entry.dim else f", {entry.dim} dimensions padded to {dim}"
    remark = f"norm of the mean {fair.mean_norm:.2g}; neighbours per point {fair.neighbour_mean:.1f}"
    return certify(
        points,
        method=f"code {entry.name}{share}{padded} ({entry.citation})",
        seed=None if whole else seed,
        theorem=(entry.max_cosine, entry.citation),
        remark=f"{remark} ± {fair.neighbour_std:.1f}",
    )


def _is_stored(code: Code) -> bool:
    stored = from_zoo(*code.points.shape)
    return stored is not None and code is stored


def _affordable(num_points: int, dim: int, effort: str) -> bool:
    if num_points > MATRIX_POINTS:
        return _rounds(num_points, dim, effort) > 0
    single = Effort(starts=1, rounds=0, finalists=0)
    return single.work(num_points, dim) <= PATIENCE * WORK[effort]


def _rounds(num_points: int, dim: int, effort: str) -> int:
    """Return how many passes over all pairs fit the effort, at some 2e10 multiply-adds a second."""
    seconds_per_pass = num_points**2 * dim / 2 / 2e10 + 1e-5 * num_points
    return min(60, int(WORK[effort] / seconds_per_pass))


def _search(
    num_points: int,
    dim: int,
    effort: str,
    seed: int,
    workers: int,
    target: float,
    seconds: float | None,
    progress: Progress | None,
) -> Code:
    if num_points > MATRIX_POINTS:
        start = spiral(num_points) if dim == 3 else random_points(num_points, dim, seed)
        rounds = _rounds(num_points, dim, effort)
        if rounds == 0 or dim == 3:
            method = "spiral" if dim == 3 else "random: too many for a search of this effort, and no code is known"
            return certify(start, method=method, seed=None if dim == 3 else seed)
        points = tiled_descent(num_points, dim, rounds=rounds, seed=seed, initial=start, progress=progress)
        return certify(points, method=f"tiled descent, {rounds} passes", seed=seed)
    counts = Effort.named(effort, num_points, dim)
    points, search = optimise(
        num_points,
        dim,
        effort=counts,
        seed=seed,
        workers=workers,
        bound=target,
        initial_codes=list(_near_codes(num_points, dim)),
        seconds=seconds,
        progress=progress,
    )
    method = f"smooth-max search ({effort}: {search.starts} starts, {search.hops} hops)"
    return certify(points, method=method, seed=seed, remark=_account(search, seconds))


def _account(search: Search, seconds: float | None) -> str:
    if search.interrupted:
        return "interrupted: the best so far, not fixed by the seed"
    return f"ended after {seconds:g} s: not fixed by the seed" if search.capped else ""


def _near_codes(num_points: int, dim: int) -> Iterator[Array]:
    """Yield registry codes of nearly K points in nearly D dimensions, the nearest first."""
    near = [
        entry
        for entry in single_entries()
        if 0.75 * num_points <= entry.num_points <= 1.5 * num_points and abs(entry.dim - dim) <= 1
    ]
    near.sort(key=lambda entry: (abs(entry.dim - dim), abs(entry.num_points - num_points), entry.name))
    for entry in near[:NEAR_CODES]:
        yield entry.build()
