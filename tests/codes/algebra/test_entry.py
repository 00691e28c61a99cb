import numpy as np
import pytest
from algebra_helpers import assert_is_code
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperproto.codes.algebra.entry import derive, members, section
from hyperproto.codes.algebra.lattices import e8_roots
from hyperproto.codes.algebra.quadratic import FormSet, SignCode
from hyperproto.codes.algebra.registry import best_entry, exact_entries


@pytest.mark.parametrize(("steps", "num_points"), [(1, 56), (2, 27), (3, 16), (4, 10)])
def test_deriving_e8_gives_the_known_codes(steps, num_points):
    s = 1 / 2
    assert_is_code(derive(e8_roots(), s, steps=steps), num_points, 8 - steps, s / (1 + steps * s))


@pytest.mark.parametrize("base", [0, 100, 255, 287])
def test_derived_cosine_is_s_over_one_plus_s_at_any_point(base):
    code = SignCode(FormSet(4, 0, kerdock=True))
    points = code.rows(np.arange(code.num_points))
    assert_is_code(derive(points, 1 / 4, base=base), 128, 15, 1 / 5)


def test_a_subset_is_drawn_by_the_seed_and_a_whole_code_is_whole():
    entry = next(entry for entry in exact_entries() if entry.name == "equiangular 276 derived 1")
    first, again, other = (entry.draw(200, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first)) == 200
    assert np.array_equal(entry.draw(275, seed=3), np.arange(275))


def test_of_a_huge_code_the_first_points_are_taken():
    entry = best_entry(10**6, 128)
    assert np.array_equal(entry.draw(1000, seed=5), np.arange(1000))


def test_single_precision_is_the_rounding_of_double():
    entry = best_entry(40_000, 128)
    index = entry.draw(40_000, seed=0)
    single, double = (entry.take(index, dtype=dtype) for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    assert np.allclose(single, double, rtol=3e-7, atol=0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_section_turns_cosines_by_the_formula(seed, count):
    rng = np.random.default_rng(seed)
    points = e8_roots()
    anchors = points[rng.choice(240, count, replace=False)]
    if np.linalg.matrix_rank(anchors) < count:
        return
    cosines = anchors @ points[rng.integers(240)]
    tau = cosines @ np.linalg.solve(anchors @ anchors.T, cosines)
    if tau > 1 - 1e-9:  # a point spanned by the anchors
        return
    kept = points[members(points, anchors, cosines)]
    lower = section(points, anchors, cosines)
    before, after = (kept @ kept.T).round(9), lower @ lower.T
    for cosine in np.unique(before):
        assert np.allclose(after[before == cosine], (cosine - tau) / (1 - tau), atol=1e-8)
    assert lower.shape[1] == 8 - count


def test_sections_at_right_angles_are_smaller_root_systems():
    roots = e8_roots()
    seven = section(roots, roots[:1], 0.0)
    assert_is_code(seven, 126, 7, 1 / 2)
    at_60 = roots[members(roots, roots[:1], 0.5)[:1]]
    assert_is_code(section(roots, np.concatenate([roots[:1], at_60]), 0.0), 72, 6, 1 / 2)
