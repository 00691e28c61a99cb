"""Algebraic spherical codes: exact constructions, and a registry that says which one serves K points in D."""

from hyperproto.codes.algebra.entry import Entry, derive, section
from hyperproto.codes.algebra.registry import best_entry, single_entries
from hyperproto.codes.algebra.subset import Fairness, build_subset, choose_subset, fairness

__all__ = [
    "Entry",
    "Fairness",
    "best_entry",
    "build_subset",
    "choose_subset",
    "derive",
    "fairness",
    "section",
    "single_entries",
]
