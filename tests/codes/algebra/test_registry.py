import math

import numpy as np
import pytest
from algebra_helpers import assert_is_code
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperproto.codes.algebra.families import family_entries
from hyperproto.codes.algebra.registry import (
    best_entry,
    entry_order,
    parents,
    section_entries,
    single_entries,
)

GOLDEN = (1 + math.sqrt(5)) / 2


@pytest.mark.parametrize(
    ("num_points", "dim", "cosine"),
    [
        (12, 3, 1 / math.sqrt(5)),
        (24, 4, 1 / 2),
        (120, 4, GOLDEN / 2),
        (10, 4, 1 / 6),
        (16, 5, 1 / 5),
        (27, 6, 1 / 4),
        (56, 7, 1 / 3),
        (240, 8, 1 / 2),
        (50, 21, 1 / 21),
        (56, 20, 1 / 15),
        (77, 21, 1 / 12),
        (112, 21, 1 / 9),
        (162, 21, 1 / 7),
        (100, 22, 1 / 11),
        (275, 22, 1 / 6),
        (891, 22, 1 / 4),
        (552, 23, 1 / 5),
        (4600, 23, 1 / 3),
        (196560, 24, 1 / 2),
        (288, 16, 1 / 4),
        (325, 52, 1 / 16),
        (756, 105, 1 / 25),
        (2752, 301, 1 / 49),
        (7300, 657, 1 / 81),
        (4224, 64, 1 / 8),
        (66048, 256, 1 / 16),
        (1050624, 1024, 1 / 32),
    ],
)
def test_known_best_values_are_offered_exactly(num_points, dim, cosine):
    assert best_entry(num_points, dim).max_cosine == pytest.approx(cosine, abs=1e-14)


@pytest.mark.parametrize(
    ("num_points", "dim", "at_most"),
    [
        (100, 25, 1 / 11),
        (200, 25, 1 / 6),
        (200, 50, 0.0750),
        (1000, 64, 0.1),
        (10_000, 128, 1 / 8),
        (10_000, 255, 1 / 18),
        (100_000, 128, 1 / 4),
        (1_000_000, 128, 1 / 4),
        (1_000_000, 1024, 1 / 32),
        (8_388_608, 256, 1 / 8),
        (2112, 32, 1 / 4),
        (840, 12, 1 / 2),
        (29768, 21, 1 / 2),
        (32768, 255, 1 / 17),
        (5540, 252, 1 / 20),
    ],
)
def test_targets_are_met_by_the_registry_alone(num_points, dim, at_most):
    assert best_entry(num_points, dim).max_cosine <= at_most + 1e-15


def candidates(num_points, dim):
    """Return everything the registry holds that fits, best first."""
    fitting = [
        entry for entry in single_entries() if entry.num_points >= num_points and entry.dim <= dim
    ]
    return sorted([*fitting, *family_entries(num_points, dim)], key=entry_order)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 10**7), st.integers(3, 2000))
def test_the_best_entry_holds_the_points_and_no_other_is_better(num_points, dim):
    found = candidates(num_points, dim)
    assert all(entry.num_points >= num_points and entry.dim <= dim for entry in found)
    best = best_entry(num_points, dim)
    assert (best is None) == (not found)
    assert not found or best.max_cosine <= min(entry.max_cosine for entry in found) + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 10**6), st.integers(3, 600))
def test_more_room_or_fewer_points_never_hurt(extra, dim):
    num_points = (
        2 * dim + extra
    )  # up to 2D points closed forms are optimal, and the registry need not be
    best = best_entry(num_points, dim)
    if best is None:
        return
    fewer, wider = best_entry(2 * dim + (extra + 1) // 2, dim), best_entry(num_points, dim + 40)
    assert fewer.max_cosine <= best.max_cosine + 1e-12
    assert wider.max_cosine <= best.max_cosine + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_entry_keeps_its_promise_on_sampled_rows(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(3, 150))
    num_points = int(2 * dim + 10 ** rng.uniform(0.5, 6))
    found = [
        *family_entries(num_points, dim),
        *(e for e in single_entries() if e.num_points > 250_000),
    ]
    for entry in found[:2]:
        near = rng.integers(entry.num_points) + np.arange(100)
        index = np.unique(
            np.concatenate([near % entry.num_points, rng.integers(0, entry.num_points, 100)])
        )
        points = entry.take(index)
        assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
        cosines = points @ points.T
        np.fill_diagonal(cosines, -1)
        assert cosines.max() <= entry.max_cosine + 1e-12


@pytest.mark.parametrize("dim", [*range(4, 40, 3), 52, 67, 73])
def test_every_small_member_of_a_family_attains_its_cosine(dim):
    seen = set()
    for num_points in (2 * dim + 1, 3 * dim, 5 * dim, 10 * dim):
        for entry in family_entries(num_points, dim):
            if entry.num_points <= 1000 and entry.name not in seen:
                seen.add(entry.name)
                assert_is_code(entry.build(), entry.num_points, entry.dim, entry.max_cosine)
    assert seen


def test_nothing_fits_more_points_than_any_code_has():
    assert best_entry(10**9, 5) is None


def test_among_equal_codes_the_one_with_the_least_padding_is_taken():
    cosine, dim = best_entry(240, 8).max_cosine, best_entry(240, 8).dim
    rivals = [entry for entry in candidates(240, 10) if entry.max_cosine == cosine]
    assert [entry.dim for entry in rivals] == sorted((entry.dim for entry in rivals), reverse=True)
    assert best_entry(240, 10).dim == max(entry.dim for entry in rivals)
    assert dim == 8


def test_names_of_single_entries_are_unique():
    names = [entry.name for entry in single_entries()]
    assert len(set(names)) == len(names)


def test_small_arguments_are_explained():
    with pytest.raises(ValueError, match="`num_points` must be at least 2; got 1"):
        best_entry(1, 3)


ENTRIES = section_entries()
PARENTS = sorted({entry.name.split(" at ")[0] for entry in ENTRIES})


@pytest.mark.parametrize("parent", PARENTS)
def test_sections_of_a_parent_are_what_the_table_says(parent):
    mine = [entry for entry in ENTRIES if entry.name.startswith(parent + " at ")]
    rng = np.random.default_rng(0)
    for i in rng.choice(len(mine), min(4, len(mine)), replace=False):
        entry = mine[i]
        points = entry.build()
        assert points.shape == (entry.num_points, entry.dim)
        assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
        sample = rng.choice(len(points), min(len(points), 1000), replace=False)
        cosines = points[sample] @ points.T
        cosines[np.arange(len(sample)), sample] = -1
        assert cosines.max() <= entry.max_cosine + 1e-12
        if len(points) <= 1000:
            assert cosines.max() == pytest.approx(entry.max_cosine, abs=1e-12)


@pytest.mark.parametrize(
    ("dim", "num_points", "cosine"),
    [
        (62, 1116, 1 / 10),
        (61, 660, 1 / 11),
        (60, 414, 1 / 12),
        (50, 204, 1 / 18),
        (14, 70, 1 / 6),
        (13, 42, 1 / 8),
    ],
)
def test_known_derived_codes_are_reached(dim, num_points, cosine):
    fits = [e.max_cosine for e in ENTRIES if e.num_points >= num_points and e.dim <= dim]
    assert min(fits) <= cosine + 1e-12


def test_every_parent_is_built_from_an_entry():
    names = {name.removeprefix("section of ") for name in PARENTS}
    assert names <= set(parents())
