"""Algebraic spherical codes: exact constructions, and a registry that says which one serves K points in D."""

from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.algebra.fairness import Fairness, fairness, random_fairness
from hyperproto.codes.algebra.registry import best_entry, candidates, single_entries
from hyperproto.codes.algebra.section import derive, section
from hyperproto.codes.algebra.subset import build_subset, choose_subset

__all__ = [
    "Entry",
    "Fairness",
    "best_entry",
    "build_subset",
    "candidates",
    "choose_subset",
    "derive",
    "fairness",
    "random_fairness",
    "section",
    "single_entries",
]
