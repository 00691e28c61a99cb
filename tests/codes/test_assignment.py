from itertools import permutations

import numpy as np

from hyperproto.codes.best import best_code
from hyperproto.codes.measure import random_points
from hyperproto.codes.ranking import Ranking, assign
from tests.codes.test_ranking import similarity


def test_assignment_keeps_the_points_and_lowers_the_loss():
    code, ranking = best_code(24, 4).points, Ranking(similarity(24, 0, decimals=3))
    order = assign(code, ranking.weights, starts=5, seed=0)
    assert sorted(order) == list(range(24))
    assert ranking(code[order])[0] < ranking(code)[0]


def test_a_code_that_was_shuffled_is_put_back_or_better():
    points = random_points(30, 3, 1)
    shuffled = np.random.default_rng(2).permutation(30)
    ranking = Ranking(points[shuffled] @ points[shuffled].T)
    order = assign(points, ranking.weights, starts=30, seed=0)
    assert ranking(points[order])[0] <= ranking(points[shuffled])[0] + 1e-9


def test_the_assignment_is_near_the_best_of_all():
    points, ranking = random_points(6, 3, 1), Ranking(similarity(6, 2, decimals=3))
    losses = sorted(ranking(points[list(p)])[0] for p in permutations(range(6)))
    reached = ranking(points[assign(points, ranking.weights, starts=30, seed=0)])[0]
    assert np.searchsorted(losses, reached - 1e-9) < 0.02 * len(losses)


def test_with_points_fixed_the_loss_is_linear_in_what_the_assignment_maximises():
    points, ranking = random_points(9, 4, 3), Ranking(similarity(9, 4, decimals=3))
    rng = np.random.default_rng(5)
    orders = [rng.permutation(9) for _ in range(4)]
    heights = [np.vdot(ranking.weights, points[o] @ points[o].T) / ranking.triplets for o in orders]
    sums = [ranking(points[o])[0] + height for o, height in zip(orders, heights, strict=True)]
    np.testing.assert_allclose(sums, sums[0], atol=1e-9)


def test_assignment_is_fixed_by_the_seed():
    points, weights = random_points(15, 3, 8), Ranking(similarity(15, 9)).weights
    first, again = (assign(points, weights, starts=5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
