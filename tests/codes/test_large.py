from functools import partial

import numpy as np
import pytest

from hyperproto.codes import large
from hyperproto.codes.large import EdgeHinge, near_pairs, tiled_descent
from hyperproto.codes.measure import max_cosine, random_points, row_blocks


def test_tiles_find_every_pair_above_the_threshold(monkeypatch):
    monkeypatch.setattr(large, "row_blocks", partial(row_blocks, entries=16 * 2048))
    points = random_points(50, 5, seed=0)
    i, j = near_pairs(points, 0.3)
    cosine = np.triu(points @ points.T, k=1)
    np.testing.assert_array_equal(np.stack([i, j]), np.nonzero(cosine > 0.3))


def test_gradient_matches_finite_differences():
    points = random_points(30, 6, seed=1)
    hinge = EdgeHinge(near_pairs(points, 0.2), (30, 6), 0.3)
    direction = np.random.default_rng(2).standard_normal(points.size)
    x = 1.5 * points.reshape(-1)
    _, gradient = hinge(x)
    step = 1e-3  # the cosines are single precision
    numeric = (hinge(x + step * direction)[0] - hinge(x - step * direction)[0]) / (2 * step)
    assert gradient @ direction == pytest.approx(numeric, rel=1e-3)


def test_points_separate_and_a_seed_fixes_every_bit():
    points = tiled_descent(400, 16, rounds=20, seed=0)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-14)
    assert max_cosine(points) < 0.6 * max_cosine(random_points(400, 16, seed=0))
    np.testing.assert_array_equal(points, tiled_descent(400, 16, rounds=20, seed=0))


def test_more_rounds_never_make_it_worse():
    found = [max_cosine(tiled_descent(200, 8, rounds=rounds, seed=0)) for rounds in (1, 3, 10, 13)]
    assert found[0] <= max_cosine(random_points(200, 8, seed=0))
    assert found == sorted(found, reverse=True)
