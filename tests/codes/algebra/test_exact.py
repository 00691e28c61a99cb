"""Every single code against its spectrum. Counts are from Conway and Sloane,
chapters 4, 10 and 14.
"""

import numpy as np
import pytest
from algebra_helpers import assert_is_code, spectrum

from hyperproto.codes.algebra.families import family_entries, quadric_entry
from hyperproto.codes.algebra.lattices import golay_words, leech_vectors, octads, quadruples
from hyperproto.codes.algebra.registry import exact_entries

ENTRIES = {entry.name: entry for entry in exact_entries()}
SMALL = [entry for entry in ENTRIES.values() if entry.num_points <= 6000]
LARGE = [entry for entry in ENTRIES.values() if entry.num_points > 6000]


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: entry.name)
def test_code_is_what_its_entry_says(entry):
    assert_is_code(entry.build(), entry.num_points, entry.dim, entry.max_cosine)


@pytest.mark.parametrize("entry", LARGE, ids=lambda entry: entry.name)
def test_large_code_is_what_its_entry_says_seen_from_sampled_points(entry):
    points = entry.build()
    assert points.shape == (entry.num_points, entry.dim)
    assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
    sample = np.random.default_rng(0).choice(len(points), 60, replace=False)
    cosines = points[sample] @ points.T
    cosines[np.arange(60), sample] = -1
    assert cosines.max() == pytest.approx(entry.max_cosine, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("icosahedron", {-1: 1, round(-(5**-0.5), 9): 5, round(5**-0.5, 9): 5, 1: 1}),
        ("E8 roots", {-1: 1, -0.5: 56, 0: 126, 0.5: 56, 1: 1}),
        ("E8 roots derived 1", {-1: 1, round(-1 / 3, 9): 27, round(1 / 3, 9): 27, 1: 1}),
        ("E8 roots derived 2", {-0.5: 10, 0.25: 16, 1: 1}),
        ("E8 roots derived 3", {-0.6: 5, 0.2: 10, 1: 1}),
        ("Barnes-Wall 16", {-1: 1, -0.5: 280, -0.25: 1024, 0: 1710, 0.25: 1024, 0.5: 280, 1: 1}),
        ("Leech", {-1: 1, -0.5: 4600, -0.25: 47104, 0: 93150, 0.25: 47104, 0.5: 4600, 1: 1}),
        ("Leech derived 1", {-1: 1, round(-1 / 3, 9): 891, 0: 2816, round(1 / 3, 9): 891, 1: 1}),
        ("Leech derived 2", {-0.5: 42, -0.125: 512, 0.25: 336, 1: 1}),
        ("equiangular 276", {-1: 1, -0.2: 275, 0.2: 275, 1: 1}),
        ("equiangular 276 derived 1", {-0.25: 112, round(1 / 6, 9): 162, 1: 1}),
        ("equiangular 276 derived 2", {round(-2 / 7, 9): 56, round(1 / 7, 9): 105, 1: 1}),
        ("Higman-Sims graph", {round(-4 / 11, 9): 22, round(1 / 11, 9): 77, 1: 1}),
        ("Hoffman-Singleton graph", {round(-3 / 7, 9): 7, round(1 / 21, 9): 42, 1: 1}),
        ("Gewirtz graph", {-0.4: 10, round(1 / 15, 9): 45, 1: 1}),
        ("M22 graph", {-0.375: 16, round(1 / 12, 9): 60, 1: 1}),
    ],
)
def test_cosines_from_a_point_and_their_counts(name, expected):
    assert spectrum(ENTRIES[name].build()) == expected


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_isotropic_subspaces_have_two_cosines(order):
    q = order
    entry = quadric_entry(q)
    points = entry.build()
    assert_is_code(points, (q + 1) * (q**3 + 1), q * (q * q - q + 1), 1 / q**2)
    assert spectrum(points) == {round(-1 / q, 9): q * (q * q + 1), round(1 / q**2, 9): q**4, 1: 1}


@pytest.mark.parametrize(
    ("name", "dim", "num_points", "cosine"),
    [
        ("conference lines 13", 7, 28, 13**-0.5),
        ("conference lines 49", 25, 100, 1 / 7),
        ("unitary lines 5", 21, 252, 1 / 5),
        ("unitary lines 7", 43, 688, 1 / 7),
        ("unitary lines 9", 73, 1460, 1 / 9),
        ("unitary lines 11", 111, 2664, 1 / 11),
        ("Steiner lines 15", 35, 240, 1 / 7),
        ("Steiner lines 31", 155, 992, 1 / 15),
    ],
)
def test_equiangular_lines(name, dim, num_points, cosine):
    entry = next(entry for entry in family_entries(num_points, dim) if entry.name == name)
    points = entry.build()
    assert_is_code(points, num_points, dim, cosine)
    assert set(np.abs(points @ points[0]).round(9)) == {1.0, round(cosine, 9)}


@pytest.mark.parametrize("order", [5, 7])
def test_codes_derived_from_unitary_lines_have_one_dimension_less(order):
    name = f"unitary lines {order} derived"
    entry = next(
        entry for entry in family_entries(order**3, order**2 - order) if entry.name == name
    )
    assert_is_code(entry.build(), order**3, order**2 - order, 1 / (order + 1))


SHARP = (
    "icosahedron",
    "E8 roots",
    "Leech",
    "equiangular 276",
    *(f"E8 roots derived {k}" for k in (1, 2, 3)),
    *(f"Leech derived {k}" for k in (1, 2)),
    *(f"equiangular 276 derived {k}" for k in (1, 2)),
    "Higman-Sims graph",
)


def test_sharp_entries_meet_levenshteins_first_bound_where_it_applies():
    sharp = [*(ENTRIES[name] for name in SHARP), *map(quadric_entry, (3, 4, 5, 7, 8, 9))]
    checked = 0
    for entry in sharp:
        k, d, s = entry.num_points, entry.dim, entry.max_cosine
        if 2 * d < k <= d * (d + 3) / 2:
            assert d * (k - d - 1) * s**2 + d * (d - 1) * s == pytest.approx(k - 2 * d, abs=1e-9)
            checked += 1
    assert checked >= 11


def test_golay_code_has_its_weights_and_is_self_dual():
    words = golay_words()
    assert np.bincount(words.sum(axis=1))[[0, 8, 12, 16, 24]].tolist() == [1, 759, 2576, 759, 1]
    assert not (words[:64] @ words.T % 2).any()


def test_any_five_points_lie_in_one_octad():
    blocks = octads()
    for seed in range(20):
        five = np.random.default_rng(seed).choice(24, 5, replace=False)
        assert blocks[:, five].all(axis=1).sum() == 1


def test_leech_vectors_are_distinct():
    assert len(np.unique((leech_vectors() * np.sqrt(32)).round().astype(np.int8), axis=0)) == 196560


@pytest.mark.parametrize(("dim", "size"), [(9, 18), (10, 30), (11, 35), (12, 51)])
def test_quadruples_meet_in_at_most_two_places(dim, size):
    words = quadruples(dim)
    meets = words @ words.T
    np.fill_diagonal(meets, 0)
    assert words.shape == (size, dim)
    assert meets.max() == 2
