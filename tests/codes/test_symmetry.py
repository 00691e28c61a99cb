import numpy as np
import pytest

from hyperproto.codes.symmetry import NAMES, cyclic_start, group, short_orbits, symmetric_start


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
