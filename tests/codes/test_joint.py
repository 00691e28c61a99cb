from functools import partial

import numpy as np
import pytest
from scipy.optimize import check_grad

from hyperproto.codes.joint import _near_layout, separate_points, target_cosine
from hyperproto.codes.measure import random_points


def cosines(points):
    return (points @ points.T)[~np.eye(len(points), dtype=bool)]


def test_gradient_agrees_with_differences():
    layout = random_points(9, 3, seed=0)
    objective = partial(_near_layout, layout=layout, max_cosine=0.2, firmness=7.0)
    x = random_points(9, 3, seed=1).reshape(-1) * 1.3
    assert check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], x) < 1e-6


def test_a_separate_layout_stays():
    layout = np.eye(4)
    np.testing.assert_allclose(separate_points(layout, 0.1), layout, atol=1e-12)


@pytest.mark.parametrize("dim", [3, 8])
def test_every_pair_is_separated_to_the_target(dim):
    layout = random_points(40, dim, seed=2)
    target = target_cosine(40, dim)
    assert cosines(layout).max() > target + 0.02
    separated = separate_points(layout, target)
    assert cosines(separated).max() < target + 0.01
    np.testing.assert_allclose(np.linalg.norm(separated, axis=1), 1, atol=1e-12)
    assert (separated * layout).sum(axis=1).mean() > 0.9
    np.testing.assert_array_equal(separated, separate_points(layout, target))


def test_coinciding_points_are_separated():
    layout = np.array([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0], [0.0, 1.0, 0.0]])
    layout /= np.linalg.norm(layout, axis=1, keepdims=True)
    assert cosines(separate_points(layout, 0.5)).max() < 0.51
