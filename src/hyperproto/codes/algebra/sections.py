"""Sections found by search, as data: which anchors of which parent, how many points, which cosine.

``sections.csv`` is written by ``python -m hyperproto.codes.algebra.search``. Its numbers are measured, the
cosine in accordance with (c - τ)/(1 - τ) of :mod:`~hyperproto.codes.algebra.section`; tests build them again.
"""

import csv
from functools import cache
from importlib import resources

import numpy as np

from hyperproto.codes.algebra.entry import Entry, fixed
from hyperproto.codes.algebra.exact import exact_entries
from hyperproto.codes.algebra.families import sign_entry
from hyperproto.codes.algebra.geometric import quadric_entry, unitary_entry
from hyperproto.codes.algebra.quadratic import bch_forms, delsarte_goethals_forms
from hyperproto.codes.algebra.section import section
from hyperproto.codes.code import Array

__all__ = ["parents", "section_entries"]

TABLE = "sections.csv"
PARENTS = (
    "E8 roots",
    "Barnes-Wall 16",
    "equiangular 276",
    "Leech derived 1",
    "Leech",
    "construction A 12",
)


@cache
def parents() -> dict[str, Entry]:
    """Return the codes that sections are taken of, by name."""
    entries = [entry for entry in exact_entries() if entry.name in PARENTS]
    kerdock = (delsarte_goethals_forms(bits, terms) for bits, terms in ((4, 0), (4, 1), (6, 0), (8, 0)))
    gold = (bch_forms(bits, 1) for bits in (3, 5, 7))
    entries += [sign_entry(forms) for forms in (*kerdock, *gold)]
    entries += [quadric_entry(order) for order in (3, 4, 5, 7)]
    entries += [unitary_entry(order) for order in (7, 11, 13)]
    return {entry.name: entry for entry in entries}


@cache
def section_entries() -> tuple[Entry, ...]:
    """Return the entries of the table."""
    table = resources.files("hyperproto.codes.algebra") / TABLE
    if not table.is_file():
        return ()
    with table.open(encoding="utf-8") as lines:
        return tuple(_entry(row) for row in csv.DictReader(lines))


def _entry(row: dict[str, str]) -> Entry:
    """Return the entry of one line."""
    parent = parents()[row["parent"]]
    anchors = [int(word) for word in row["anchors"].split()]
    cosines = [float(word) for word in row["cosines"].split()]

    def build() -> Array:
        points = parent.build()
        return section(points, points[anchors], np.array(cosines))

    return Entry(
        f"section of {parent.name} at {row['anchors']} ({row['num_points']})",
        int(row["num_points"]),
        parent.dim - len(anchors),
        float(row["max_cosine"]),
        f"{parent.citation}; Delsarte, Goethals, Seidel (1977): section, its size measured",
        fixed(build),
    )
