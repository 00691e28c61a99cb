"""The best code we can offer for K points in D dimensions: known ones first, then a search, then
the better.

``zoo`` has codes of long searches; ``tools/make_zoo.py`` makes the files again, or continues where
it was stopped. The registry, the zoo's format and the search are imported where they are first
needed: most spaces have few classes, whose code has a closed form.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np

from hyperproto._core.checks import choose
from hyperproto._core.processes import one_thread
from hyperproto.codes.certificate import (
    MEETS,
    Code,
    best_possible,
    certify,
    closed_code,
    separation_bound,
)
from hyperproto.codes.measure import Array, random_points

ZOO = Path(__file__).with_name("zoo")
MATRIX_POINTS = 4000  # up to here the search may keep K x K; beyond, only the pairs that are near
# where a code is known, no search is made whose single start takes longer than this many efforts
PATIENCE = 1.5
NEAR_CODES = 3  # codes of nearly K points to start from
SINGLE_PRECISION = 2**24  # entries from which points are made in float32: no second, larger copy


def best_code(
    num_points: int,
    dim: int,
    *,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    search_only: bool = False,
) -> Code:
    """Return the best of what applies: closed forms, the registry, the zoo, and a search.

    A known code that is proved optimal is final. Otherwise a search of the given effort is made,
    starting from nothing and from known codes of nearly K points, unless one start alone would take
    far longer than the effort allows; the smaller maximum cosine wins.
    """
    from hyperproto.codes.search import WORK, Effort, optimize, seconds_per_start

    work = choose(effort, WORK, what="effort")
    known = None if search_only else known_code(num_points, dim, seed=seed)
    if known is not None:
        # by a thorough search: a lesser one has no chance
        stored = known is from_zoo(num_points, dim)
        if known.certificate.proved or (stored and effort != "thorough"):
            return known
    if num_points > MATRIX_POINTS:
        # how many passes over all pairs fit the effort, at some 2e10 multiply-adds a second
        rounds = min(60, int(work / (num_points**2 * dim / 2 / 2e10 + 1e-5 * num_points)))
        if known is not None and rounds == 0:
            return known
        searched = _search_large(num_points, dim, rounds, seed)
    else:
        if known is not None and seconds_per_start(num_points, dim) > PATIENCE * work:
            return known
        points, search = optimize(
            num_points,
            dim,
            effort=Effort.named(effort, num_points, dim),
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            bound=best_possible(num_points, dim),
            initial_codes=_near_codes(num_points, dim),
        )
        method = f"smooth-max search ({effort}: {search.starts} starts)"
        searched = certify(points, method=method, seed=seed)
    if known is None or searched.certificate.max_cosine < known.certificate.max_cosine:
        return searched
    return known


@one_thread()
def known_code(num_points: int, dim: int, *, seed: int = 0) -> Code | None:
    """Return the best code that needs no search: a closed form, else the better of the zoo's and
    the registry's.

    Of a code of the registry a subset is padded with zeros.
    """
    if (exact := closed_code(num_points, dim)) is not None:
        return exact
    from hyperproto.codes.algebra.registry import best_entry

    entry, stored = best_entry(num_points, dim), from_zoo(num_points, dim)
    if entry is None or (
        stored is not None and stored.certificate.max_cosine < entry.max_cosine - MEETS
    ):
        return stored
    dtype = np.float32 if num_points * dim > SINGLE_PRECISION else np.float64
    points = entry.take(entry.draw(num_points, seed=seed), dim=dim, dtype=dtype)
    whole = num_points == entry.num_points
    share = "" if whole else f", {num_points} of its {entry.num_points} points"
    padded = "" if dim == entry.dim else f", {entry.dim} dimensions padded to {dim}"
    return certify(
        points,
        method=f"code {entry.name}{share}{padded} ({entry.citation})",
        seed=None if whole else seed,
        theorem=(entry.max_cosine, entry.citation),
    )


def known_max_cosine(num_points: int, dim: int) -> float:
    """Return the maximum cosine of :func:`known_code`, without building it; 1 where nothing is
    known.
    """
    if num_points <= 2 * dim or dim == 2:  # closed forms, which meet the bound
        return separation_bound(num_points, dim)
    from hyperproto.codes.algebra.registry import best_entry

    entry, stored = best_entry(num_points, dim), from_zoo(num_points, dim)
    return min(entry.max_cosine if entry else 1.0, stored.certificate.max_cosine if stored else 1.0)


@cache
def from_zoo(num_points: int, dim: int) -> Code | None:
    """Return the stored code of K points in D dimensions, measured again, or None where there is
    none.
    """
    path = ZOO / f"{num_points}x{dim}.safetensors"
    if not path.is_file():
        return None
    from safetensors.numpy import load_file

    points: Array = load_file(path)["points"].astype(np.float64)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return certify(points, method="zoo: smooth-max search, stored with the package")


def _search_large(num_points: int, dim: int, rounds: int, seed: int) -> Code:
    """Search without K x K, where the effort allows a pass over all pairs."""
    # a Fibonacci spiral: equal steps in height, the golden angle between one and the next
    if dim == 3:
        steps = np.arange(num_points) + 0.5
        height, turn = 1 - 2 * steps / num_points, np.pi * (3 - np.sqrt(5)) * steps
        radius = np.sqrt(1 - height**2)
        points: Array = np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
        return certify(points, method="spiral")
    if rounds == 0:
        method = "random: too many for a search of this effort, and no code is known"
        return certify(random_points(num_points, dim, seed), method=method, seed=seed)
    from hyperproto.codes.large import tiled_descent

    points = tiled_descent(num_points, dim, rounds=rounds, seed=seed)
    return certify(points, method=f"tiled descent, {rounds} passes", seed=seed)


def _near_codes(num_points: int, dim: int) -> list[Array]:
    """Return registry codes of nearly K points in nearly D dimensions, the nearest first."""
    from hyperproto.codes.algebra.registry import single_entries

    near = [
        entry
        for entry in single_entries()
        if 0.75 * num_points <= entry.num_points <= 1.5 * num_points and abs(entry.dim - dim) <= 1
    ]
    near.sort(
        key=lambda entry: (abs(entry.dim - dim), abs(entry.num_points - num_points), entry.name)
    )
    return [entry.build() for entry in near[:NEAR_CODES]]
