"""The registry: which known code holds K points in D dimensions with the smallest maximum cosine.

Subsets and zero-padding keep the maximum cosine, so a code of K' >= K points in D' <= D dimensions serves K
points in D dimensions. Nothing is built to answer.
"""

from collections.abc import Iterator

from hyperproto._core.checks import check_integer
from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.algebra.exact import exact_entries
from hyperproto.codes.algebra.families import family_entries
from hyperproto.codes.algebra.sections import section_entries

__all__ = ["best_entry", "candidates", "single_entries"]


def single_entries() -> tuple[Entry, ...]:
    """Return every entry that is not a member of a parametrised family."""
    return exact_entries() + section_entries()


def candidates(num_points: int, dim: int) -> list[Entry]:
    """Return the entries that hold ``num_points`` points in ``dim`` dimensions, best first.

    Ordered by maximum cosine; among equals the one with the least padding, then with the fewest points to
    spare.
    """
    check_integer(num_points, "num_points", at_least=2)
    check_integer(dim, "dim", at_least=2)
    return sorted(_fitting(num_points, dim), key=_order)


def best_entry(num_points: int, dim: int) -> Entry | None:
    """Return the entry of the least maximum cosine for ``num_points`` points in ``dim`` dimensions, if any
    fits.

    Closed forms (K <= 2D, D = 2) are not in the registry: ask :func:`hyperproto.codes.closed_form` first.

    >>> best_entry(200, 25).name, best_entry(1_000_000, 1024).max_cosine
    ('equiangular 276 derived 1', 0.03125)
    """
    return next(iter(candidates(num_points, dim)), None)


def _fitting(num_points: int, dim: int) -> Iterator[Entry]:
    for entry in single_entries():
        if entry.num_points >= num_points and entry.dim <= dim:
            yield entry
    yield from family_entries(num_points, dim)


def _order(entry: Entry) -> tuple[float, int, int]:
    return round(entry.max_cosine, 12), -entry.dim, entry.num_points
