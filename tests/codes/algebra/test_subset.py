import numpy as np
import pytest

from hyperproto.codes.algebra import best_entry, build_subset, choose_subset, fairness
from hyperproto.codes.algebra.families import sign_entry
from hyperproto.codes.algebra.quadratic import FormSet
from hyperproto.codes.algebra.registry import exact_entries

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
    points, report = build_subset(entry, num_points, entry.dim, seed=0)
    index = np.sort(np.random.default_rng(0).permutation(entry.num_points)[:num_points])
    rival = fairness(entry.take(index, dtype=np.float32), entry.max_cosine)
    assert len(np.unique(points.round(9), axis=0)) == num_points
    assert report.mean_norm < 0.5 * rival.mean_norm
    assert report.neighbor_std < 0.6 * rival.neighbor_std


def test_fairness_counts_what_it_says():
    square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    whole, part = fairness(square, 0.0), fairness(square[:3], 0.0)
    assert (whole.mean_norm, whole.neighbor_mean, whole.neighbor_std) == (0, 2, 0)
    assert part.mean_norm == pytest.approx(1 / 3)
    assert part.neighbor_std == pytest.approx(np.std([1, 2, 1]))


def test_seed_fixes_the_choice_and_changes_it():
    entry = ENTRIES["equiangular 276 derived 1"]
    first, again, other = (choose_subset(entry, 200, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_whole_code_is_taken_whole():
    entry = ENTRIES["Higman-Sims graph"]
    points, report = build_subset(entry, 100, 25)
    assert np.array_equal(points[:, :22], entry.build())
    assert not points[:, 22:].any()
    assert report.neighbor_std == 0


def test_opposite_points_stay_together_where_there_are_any():
    points, report = build_subset(ENTRIES["laminated 18"], 1200, 18, seed=5)
    assert report.mean_norm < 1e-12
    assert (points @ points.T).min(axis=1) == pytest.approx(-np.ones(1200))


def test_single_precision_is_the_rounding_of_double():
    entry = best_entry(40_000, 128)
    single, _ = build_subset(entry, 40_000, 128, dtype=np.float32)
    double, _ = build_subset(entry, 40_000, 128)
    assert single.dtype == np.float32
    assert np.allclose(single, double, rtol=3e-7, atol=0)


def test_a_code_that_does_not_fit_is_refused_with_a_way_out():
    rule = r"must have at most 240 points in at least 8 dimensions; got 300.*Ask best_entry\(300, 8\)"
    with pytest.raises(ValueError, match=rule):
        build_subset(ENTRIES["E8 roots"], 300, 8)
