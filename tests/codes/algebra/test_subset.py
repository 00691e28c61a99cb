import numpy as np
import pytest

from hyperproto.codes.algebra.families import sign_entry
from hyperproto.codes.algebra.quadratic import FormSet
from hyperproto.codes.algebra.registry import best_entry, exact_entries
from hyperproto.codes.algebra.subset import choose_subset, fairness
from hyperproto.codes.best import known_code

ENTRIES = {entry.name: entry for entry in exact_entries()}


@pytest.mark.parametrize(
    ("entry", "num_points"),
    [
        (ENTRIES["equiangular 276 derived 1"], 200),
        (ENTRIES["E8 roots"], 100),
        (ENTRIES["Leech derived 2"], 500),
        (ENTRIES["Golay signs 21"], 300),
        (sign_entry(FormSet(6, 0, kerdock=True), 2), 700),
        (sign_entry(FormSet(6, 0, kerdock=True)), 3000),
        (sign_entry(FormSet(7, 1, kerdock=False)), 10_000),
        (sign_entry(FormSet(7, 2, kerdock=False)), 50_000),
        (sign_entry(FormSet(8, 0, kerdock=True), 1), 20_000),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_fair_subset_is_clearly_fairer_than_a_random_one(entry, num_points):
    points = entry.take(choose_subset(entry, num_points, seed=0))
    mean_norm, _, deviation = fairness(points, entry.max_cosine, seed=0)
    index = np.sort(np.random.default_rng(0).permutation(entry.num_points)[:num_points])
    random_norm, _, random_deviation = fairness(entry.take(index, dtype=np.float32), entry.max_cosine)
    assert len(np.unique(points.round(9), axis=0)) == num_points
    assert mean_norm < 0.5 * random_norm
    assert deviation < 0.6 * random_deviation


def test_fairness_counts_what_it_says():
    square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    assert fairness(square, 0.0) == (0, 2, 0)
    assert fairness(square[:3], 0.0) == pytest.approx((1 / 3, 4 / 3, np.std([1, 2, 1])))


def test_seed_fixes_the_choice_and_changes_it():
    entry = ENTRIES["equiangular 276 derived 1"]
    first, again, other = (choose_subset(entry, 200, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_whole_code_is_taken_whole():
    entry = ENTRIES["Higman-Sims graph"]
    points = known_code(100, 25).points
    assert np.array_equal(points[:, :22], entry.build())
    assert not points[:, 22:].any()
    assert fairness(points, entry.max_cosine)[2] == 0


def test_opposite_points_stay_together_where_there_are_any():
    entry = ENTRIES["laminated 18"]
    points = entry.take(choose_subset(entry, 1200, seed=5))
    assert fairness(points, entry.max_cosine)[0] < 1e-12
    assert (points @ points.T).min(axis=1) == pytest.approx(-np.ones(1200))


def test_single_precision_is_the_rounding_of_double():
    entry = best_entry(40_000, 128)
    index = choose_subset(entry, 40_000)
    single, double = (entry.take(index, dtype=dtype) for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    assert np.allclose(single, double, rtol=3e-7, atol=0)
