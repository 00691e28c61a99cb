import numpy as np
import pytest

from hyperproto.codes.adapt import adapt_code, deepest_holes, drop_points, insert_points, move_points
from hyperproto.codes.closed_forms import cross_polytope
from hyperproto.codes.descent import random_points, unit_rows
from hyperproto.codes.measure import max_cosine


@pytest.mark.parametrize(("have", "have_dim"), [(10, 4), (12, 4), (8, 4), (10, 6), (13, 3)])
def test_adapted_codes_have_the_size_asked_for(have, have_dim):
    points = adapt_code(random_points(have, have_dim, 0), 10, 4, np.random.default_rng(0), noise=0.01)
    assert points.shape == (10, 4)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-14)


def test_padding_without_noise_keeps_every_cosine():
    points = random_points(9, 4, 1)
    padded = adapt_code(points, 9, 7, np.random.default_rng(0), noise=0.0)
    np.testing.assert_allclose(padded @ padded.T, points @ points.T, atol=1e-14)


def test_the_hole_of_a_missing_point_is_found():
    points = np.delete(cross_polytope(8, 4), 2, axis=0)  # without e_3
    hole = deepest_holes(points, 1, np.random.default_rng(0))[0]
    assert hole[2] > 0.9


def test_the_crowded_point_is_dropped():
    crowd = unit_rows(np.array([[1, 0.1, 0], [1, 0, 0.1], [1, -0.1, -0.1]]))  # any of these three
    points = np.concatenate([cross_polytope(6, 3)[1:], crowd])
    assert len(drop_points(points, 2, np.random.default_rng(0))) == 6
    assert max_cosine(drop_points(points, 2, np.random.default_rng(0))) < 0.2


def test_moves_keep_the_number_of_points_and_all_but_the_moved():
    points = random_points(12, 4, 2)
    moved = move_points(points, 3, np.random.default_rng(0))
    kept = (np.abs(moved[:, None] - points[None]).max(axis=2) == 0).any(axis=1)
    assert moved.shape == points.shape
    assert kept.sum() == 9


def test_inserting_nothing_changes_nothing():
    points = random_points(5, 3, 3)
    np.testing.assert_array_equal(insert_points(points, 0, np.random.default_rng(0)), points)
