import numpy as np
import pytest
from scipy.optimize import approx_fprime

from hyperproto.codes.certificate import polygon, simplex
from hyperproto.codes.extend import extend_code, extend_ranked
from hyperproto.codes.measure import max_cosine, random_points
from hyperproto.codes.smooth_max import SmoothMaxWithFixedPoints


@pytest.mark.parametrize("exponent", [1, 8])
def test_the_gradient_with_fixed_points_is_that_of_the_value(exponent):
    smooth = SmoothMaxWithFixedPoints(random_points(7, 4, 0), 3, 2, exponent=exponent)
    x = np.random.default_rng(1).normal(size=3 * 2 * 4)
    numeric = approx_fprime(x, lambda x: smooth(x)[0], 1e-7)
    np.testing.assert_allclose(smooth(x)[1], numeric, atol=1e-5)


def test_starts_do_not_know_each_other():
    fixed, points = random_points(5, 3, 0), random_points(8, 3, 1).reshape(4, 2, 3)
    together = SmoothMaxWithFixedPoints(fixed, 4, 2, exponent=4)(points.reshape(-1))
    alone = [
        SmoothMaxWithFixedPoints(fixed, 1, 2, exponent=4)(start.reshape(-1)) for start in points
    ]
    assert together[0] == pytest.approx(sum(value for value, _ in alone))
    np.testing.assert_allclose(
        together[1], np.concatenate([gradient for _, gradient in alone]), atol=1e-14
    )
    whole = [max_cosine(np.concatenate([fixed[:0], start])) for start in points]
    assert (
        SmoothMaxWithFixedPoints(fixed, 4, 2).largest_cosines(points) >= np.array(whole) - 1e-15
    ).all()


@pytest.mark.parametrize(
    ("fixed", "count", "best"),
    [
        (polygon(5), 1, np.cos(np.pi / 5)),  # halfway between two
        (np.eye(3), 3, 0.0),  # the axes become a cross-polytope
        (simplex(4, 3), 4, 1 / 3),  # the tetrahedron becomes a cube
    ],
)
def test_known_codes_are_completed(fixed, count, best):
    added = extend_code(fixed, count, effort="fast")
    assert max_cosine(np.concatenate([fixed, added])) == pytest.approx(best, abs=1e-6)


def test_a_seed_fixes_every_bit_of_an_extension():
    fixed = random_points(10, 4, 0)
    first, second, other = (extend_code(fixed, 2, effort="fast", seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_very_many_old_points_are_extended_too(monkeypatch):
    fixed = random_points(30, 3, 0)
    monkeypatch.setattr("hyperproto.codes.extend.MANY", 20)
    added = extend_code(fixed, 2, effort="fast")
    chance = max((random_points(1, 3, seed) @ fixed.T).max() for seed in range(1, 10))
    assert (added @ fixed.T).max() < chance


def test_a_prior_draws_a_new_point_to_what_it_resembles():
    fixed = np.eye(4)
    similarity = np.full((5, 5), 0.1)
    similarity[4, :2] = similarity[:2, 4] = 0.9
    new = extend_ranked(fixed, similarity, np.arange(5), weight=5.0)
    assert new.shape == (1, 4)
    assert min(new[0, :2]) > max(new[0, 2:]) + 0.3
    assert np.linalg.norm(new) == pytest.approx(1)
