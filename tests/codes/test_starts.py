import numpy as np
import pytest

from hyperproto.codes.certificate import cross_polytope
from hyperproto.codes.measure import max_cosine, random_points, unit_rows
from hyperproto.codes.starts import (
    NAMES,
    adapt_code,
    cyclic_start,
    deepest_holes,
    drop_points,
    group,
    insert_points,
    move_points,
    short_orbits,
    symmetric_start,
)


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


def same_set(a, b):
    """Return whether two sets of points are equal, in any order."""
    return len(a) == len(b) and np.abs(a[:, None] - b[None]).max(axis=2).min(axis=1).max() < 1e-9


def test_the_helper_can_tell_sets_apart():
    assert same_set(np.eye(3), np.eye(3)[::-1])
    assert not same_set(np.eye(3), -np.eye(3))


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_closed_and_orthogonal(name):
    elements = group(name)
    np.testing.assert_allclose(
        elements @ elements.transpose(0, 2, 1), np.broadcast_to(np.eye(3), elements.shape), atol=1e-12
    )
    products = np.einsum("aij,bjk->abik", elements, elements).reshape(-1, 9)
    distances = np.abs(products[:, None] - elements.reshape(1, -1, 9)).max(axis=2)
    assert distances.min(axis=1).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "order", "orbits"), [("T", 12, [4, 4, 6]), ("O", 24, [6, 8, 12]), ("I", 60, [12, 20, 30])]
)
def test_polyhedral_groups_have_their_order_and_short_orbits(name, order, orbits):
    assert len(group(name)) == order
    assert sorted(map(len, short_orbits(name))) == orbits


@pytest.mark.parametrize("num_points", [7, 24, 60, 119, 120])
def test_symmetric_starts_are_unit_and_kept_by_a_group(num_points):
    for seed in range(5):
        points = symmetric_start(num_points, np.random.default_rng(seed))
        assert points.shape == (num_points, 3)
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-12)
        assert any(all(same_set(points @ g.T, points) for g in group(name)) for name in NAMES)


@pytest.mark.parametrize(("num_points", "dim"), [(11, 4), (30, 7), (64, 16)])
def test_cyclic_starts_are_distinct_unit_points(num_points, dim):
    for seed in range(5):
        points = cyclic_start(num_points, dim, np.random.default_rng(seed))
        assert points.shape == (num_points, dim)
        cosine = points @ points.T
        np.testing.assert_allclose(np.diag(cosine), 1, atol=1e-12)
        assert (cosine - 2 * np.eye(num_points)).max() < 1 - 1e-8


def test_a_point_orthogonal_to_the_axes_that_are_kept_gets_a_direction():
    points = np.repeat(np.eye(4), [3, 3, 3, 1], axis=0)
    adapted = adapt_code(points, 10, 3, np.random.default_rng(0), noise=0.01)
    np.testing.assert_allclose(np.linalg.norm(adapted, axis=1), 1)
