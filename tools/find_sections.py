"""Search for good sections of the registry's codes, and write ``sections.csv``.

    python tools/find_sections.py

A beam search over anchors: a state is a list of anchors and cosines and the points that fit them.
It is extended by anchors that stand in different relations to the last one, at every cosine that
leaves more than 2D points, and kept while no code known already, or found before, is as good. A few
minutes; the seed is fixed.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from hyperproto.codes import algebra
from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.algebra.families import family_entries
from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.algebra.registry import TABLE, exact_entries, parents
from hyperproto.codes.measure import Array, max_cosine

DEPTH, WIDTH, TRIES = (
    10,
    32,
    4,
)  # anchors at most; states kept per depth; anchors tried per relation
MEASURED = 600  # up to this many points the largest cosine is measured; beyond, the parent's stands
WORTH = 0.99  # a section must beat what is known by one per cent
HOPEFUL = 1.02  # and is extended further if it is at most two per cent worse


@dataclass(frozen=True)
class Section:
    """A section of a parent: what it is and how good it is."""

    parent: str
    anchors: tuple[int, ...]
    cosines: tuple[float, ...]
    members: Integers
    dim: int
    max_cosine: float

    def holds(self, num_points: int, dim: int) -> bool:
        """Return whether it could serve ``num_points`` points in ``dim`` dimensions."""
        return len(self.members) >= num_points and self.dim <= dim


@cache
def known_cosine(num_points: int, dim: int) -> float:
    """Return the best maximum cosine of the registry without sections."""
    fits = [e for e in exact_entries() if e.num_points >= num_points and e.dim <= dim]
    return min(
        (entry.max_cosine for entry in (*fits, *family_entries(num_points, dim))), default=1.0
    )


def sections_of(parent: Entry, rng: np.random.Generator) -> list[Section]:
    """Return the good sections of one parent."""
    points = parent.build()
    found: list[Section] = []
    beam = [Section(parent.name, (), (), np.arange(len(points)), parent.dim, parent.max_cosine)]
    for _ in range(DEPTH):
        fresh: dict[tuple[int, float], Section] = {}
        for state in beam:
            for child in _extensions(state, parent, points, rng):
                key = len(child.members), round(child.max_cosine, 9)
                if key not in fresh and _is_news(child, found, HOPEFUL):
                    fresh[key] = child
        found = _frontier([*found, *fresh.values()])
        ranked = sorted(fresh.values(), key=lambda child: child.max_cosine)
        beam = (
            [ranked[i] for i in np.unique(np.linspace(0, len(ranked) - 1, WIDTH).astype(int))]
            if ranked
            else []
        )
    return found


def _extensions(
    state: Section, parent: Entry, points: Array, rng: np.random.Generator
) -> Iterator[Section]:
    """Yield the sections with one anchor more."""
    dim = state.dim - 1
    for anchor in _anchors(state, points, rng):
        anchors = (*state.anchors, anchor)
        U = points[list(anchors)]
        if np.linalg.cond(U @ U.T) > 1e6:
            continue
        products = (points[state.members] @ points[anchor]).round(9)
        for value, count in zip(*np.unique(products, return_counts=True), strict=True):
            if count <= 2 * dim or abs(value) > 1 - 1e-9:
                continue
            members = state.members[products == value]
            cosines = (*state.cosines, _exactly(float(value)))
            largest = (
                _exactly(max_cosine(points[members])) if count <= MEASURED else parent.max_cosine
            )
            yield Section(
                parent.name, anchors, cosines, members, dim, section_cosine(largest, U, cosines)
            )


def section_cosine(max_cosine: float, anchors: Array, cosines: Sequence[float]) -> float:
    """Return (s - τ)/(1 - τ): what a cosine s between points of a section becomes."""
    tau = float(np.array(cosines) @ np.linalg.solve(anchors @ anchors.T, np.array(cosines)))
    return (max_cosine - tau) / (1 - tau)


def _anchors(state: Section, points: Array, rng: np.random.Generator) -> list[int]:
    """Return points to try as the next anchor: some of each relation to the last anchor, inside and
    out.
    """
    if not state.anchors:
        return [0, len(points) - 1]
    products = (points @ points[state.anchors[-1]]).round(9)
    chosen: set[int] = set(
        rng.choice(state.members, min(5 * TRIES, len(state.members)), replace=False).tolist()
    )
    for value in np.unique(products):
        pool = np.flatnonzero(products == value)
        chosen.update(rng.choice(pool, min(TRIES, len(pool)), replace=False).tolist())
    return sorted(chosen - set(state.anchors))


def _exactly(value: float) -> float:
    """Return the number whose square is a fraction with a small denominator, nearest to a rounded
    cosine.
    """
    square = Fraction(value * value).limit_denominator(5000)
    return math.copysign(math.sqrt(square), value)


def _is_news(child: Section, found: list[Section], factor: float = WORTH) -> bool:
    """Return whether the cosine is below ``factor`` times the best one known or found."""
    size, dim = len(child.members), child.dim
    rivals = [other.max_cosine for other in found if other.holds(size, dim)]
    return dim > 3 and 0 < child.max_cosine < factor * min([known_cosine(size, dim), *rivals])


def _frontier(sections: list[Section]) -> list[Section]:
    """Return the sections worth keeping: larger ones first, smaller ones if
    better by one per cent.
    """
    kept: list[Section] = []
    for item in sorted(sections, key=lambda item: (-len(item.members), item.dim, item.max_cosine)):
        if _is_news(item, kept):
            kept.append(item)
    return kept


def main() -> None:
    """Search every parent and write the table."""
    rng, found = np.random.default_rng(0), list[Section]()
    for parent in parents().values():
        found = _frontier([*found, *sections_of(parent, rng)])
        print(f"{parent.name}: {len(found)} sections")
        write(found)


def write(sections: list[Section]) -> None:
    """Write the table, by dimension and cosine."""
    with (Path(algebra.__file__).parent / TABLE).open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(["parent", "dim", "num_points", "max_cosine", "anchors", "cosines"])
        for item in sorted(sections, key=lambda item: (item.dim, item.max_cosine)):
            anchors, cosines = " ".join(map(str, item.anchors)), " ".join(map(repr, item.cosines))
            table.writerow(
                [item.parent, item.dim, len(item.members), repr(item.max_cosine), anchors, cosines]
            )


if __name__ == "__main__":
    main()
