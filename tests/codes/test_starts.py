import numpy as np
import pytest

from hyperproto.codes.certificate import cross_polytope
from hyperproto.codes.measure import max_cosine, random_points, unit_rows
from hyperproto.codes.search import adapt_code, deepest_holes, drop_points, insert_points


@pytest.mark.parametrize(("have", "have_dim"), [(10, 4), (12, 4), (8, 4), (10, 6), (13, 3)])
def test_adapted_codes_have_the_size_asked_for(have, have_dim):
    points = adapt_code(
        random_points(have, have_dim, 0), 10, 4, np.random.default_rng(0), noise=0.01
    )
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


def test_inserting_nothing_changes_nothing():
    points = random_points(5, 3, 3)
    np.testing.assert_array_equal(insert_points(points, 0, np.random.default_rng(0)), points)


def test_a_point_orthogonal_to_the_axes_that_are_kept_gets_a_direction():
    points = np.repeat(np.eye(4), [3, 3, 3, 1], axis=0)
    adapted = adapt_code(points, 10, 3, np.random.default_rng(0), noise=0.01)
    np.testing.assert_allclose(np.linalg.norm(adapted, axis=1), 1)
