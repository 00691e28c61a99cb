from itertools import permutations

import numpy as np
import pytest

from hyperproto.codes import assignment
from hyperproto.codes.assignment import assign, swap_gains, swap_many
from hyperproto.codes.best import best_code
from hyperproto.codes.measure import random_points
from hyperproto.codes.ranking import Ranking
from tests.codes.test_ranking import similarity


def test_assignment_keeps_the_points_and_lowers_the_loss():
    code, ranking = best_code(24, 4).points, Ranking(similarity(24, 0, decimals=3))
    order = assign(code, ranking.weights, perturbations=5, seed=0)
    assert sorted(order) == list(range(24))
    assert ranking(code[order])[0] < ranking(code)[0]


def test_assignment_of_few_points_is_the_best_of_all():
    points, ranking = random_points(6, 3, 1), Ranking(similarity(6, 2, decimals=3))
    order = assign(points, ranking.weights, perturbations=30, seed=0)
    best = min(ranking(points[list(p)])[0] for p in permutations(range(6)))
    assert ranking(points[order])[0] == pytest.approx(best, abs=1e-9)


def test_with_points_fixed_the_loss_is_linear_in_what_the_assignment_maximises():
    points, ranking = random_points(9, 4, 3), Ranking(similarity(9, 4, decimals=3))
    rng = np.random.default_rng(5)
    orders = [rng.permutation(9) for _ in range(4)]
    heights = [np.vdot(ranking.weights, points[o] @ points[o].T) / ranking.triplets for o in orders]
    sums = [ranking(points[o])[0] + height for o, height in zip(orders, heights, strict=True)]
    np.testing.assert_allclose(sums, sums[0], atol=1e-9)


def test_gains_are_those_of_making_the_swap():
    wanted = similarity(8, 6, decimals=3)
    np.fill_diagonal(wanted, 0)
    placed = random_points(8, 3, 7) @ random_points(8, 3, 7).T
    np.fill_diagonal(placed, 0)
    gains = swap_gains(wanted, placed, wanted @ placed)
    for r, s in ((0, 1), (2, 7), (5, 3)):
        order = np.arange(8)
        order[[r, s]] = order[[s, r]]
        gained = np.vdot(wanted, placed[np.ix_(order, order)]) - np.vdot(wanted, placed)
        assert gains[r, s] == pytest.approx(gained, abs=1e-9)


def test_many_swaps_at_once_keep_every_point_and_gain(monkeypatch):
    monkeypatch.setattr(assignment, "RELAXED", 40)
    points, ranking = random_points(64, 5, 10), Ranking(similarity(64, 11, decimals=3))
    wanted, cosines = ranking.weights + ranking.weights.T, points @ points.T
    np.fill_diagonal(cosines, 0)
    order = swap_many(wanted, cosines, np.arange(64))
    assert sorted(order) == list(range(64))
    assert np.vdot(wanted, cosines[np.ix_(order, order)]) > np.vdot(wanted, cosines)
    assert ranking(points[order])[0] < ranking(points)[0] - 0.01


def test_assignment_is_fixed_by_the_seed():
    points, weights = random_points(15, 3, 8), Ranking(similarity(15, 9)).weights
    first, again = (assign(points, weights, perturbations=5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
