import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from hyperproto.codes.measure import random_points, unit_rows
from hyperproto.codes.ranking import Ranking, agreement, count_ordered, order_weights
from tests.reference.dense_ranking import dense_ranking


def similarity(count, seed, *, decimals=1):
    """Symmetric, with many ties where rounded to few decimals."""
    drawn = np.random.default_rng(seed).standard_normal((count, count))
    return np.round(drawn + drawn.T, decimals)


@pytest.mark.parametrize(("count", "dim"), [(60, 3), (60, 25), (3, 2), (7, 4)])
def test_loss_and_gradient_equal_the_dense_form_with_ties(count, dim):
    asked, points = similarity(count, 1), random_points(count, dim, 2)
    loss, gradient = Ranking(asked)(points)
    expected_loss, expected = dense_ranking(points, asked)
    assert loss == pytest.approx(expected_loss, rel=1e-7)
    assert np.abs(gradient - expected).max() < 1e-6 * np.abs(expected).max()


def test_gradient_equals_the_dense_form_where_points_gather_at_two_poles():
    poles = np.where(np.arange(60) % 2, 1.0, -1.0)[:, None] * [1.0, 0.0, 0.0]
    points = unit_rows(poles + 0.01 * random_points(60, 3, 1))
    gradient, expected = (
        Ranking(points @ points.T)(points)[1],
        dense_ranking(points, points @ points.T)[1],
    )
    assert np.linalg.norm(gradient - expected) < 1e-6 * np.linalg.norm(expected)


def test_the_dense_form_sees_a_wrong_order():
    points = unit_rows(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]))
    right = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    assert dense_ranking(points, right)[0] < np.log(2) < dense_ranking(points, -right)[0]


def test_points_that_coincide_or_oppose_stay_within_the_polynomials_range():
    points = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    asked = similarity(5, 3)
    assert Ranking(asked)(points)[0] == pytest.approx(dense_ranking(points, asked)[0], abs=1e-7)


def test_gradient_is_the_slope_of_the_loss():
    asked, points = similarity(20, 4), random_points(20, 5, 5)
    direction = np.random.default_rng(6).standard_normal(points.shape)
    ranking, step = Ranking(asked), 1e-5
    numeric = (ranking(points + step * direction)[0] - ranking(points - step * direction)[0]) / (
        2 * step
    )
    assert np.vdot(ranking(points)[1], direction) == pytest.approx(numeric, rel=1e-6)


def test_equal_cosines_cost_log_two():
    points = np.eye(6)
    assert Ranking(similarity(6, 7))(points)[0] == pytest.approx(np.log(2), abs=1e-9)


def test_weights_count_less_similar_minus_more_similar():
    asked = similarity(12, 8)
    weights = order_weights(asked, np.arange(12))
    for i in range(12):
        for j in range(12):
            others = [k for k in range(12) if k not in (i, j)]
            expected = sum(np.sign(asked[i, j] - asked[i, k]) for k in others) if i != j else 0
            assert weights[i, j] == expected


def test_rows_of_anchors_sum_to_the_loss_over_all():
    asked, points = similarity(11, 9), random_points(11, 3, 10)
    halves = [np.arange(5), np.arange(5, 11)]
    parts = [Ranking(asked[rows], rows) for rows in halves]
    losses = [part(points) for part in parts]
    share = [part.triplets for part in parts]
    whole, gradient = Ranking(asked)(points)
    assert whole == pytest.approx(
        sum(s * value for s, (value, _) in zip(share, losses, strict=True)) / sum(share)
    )
    combined = sum(s * g for s, (_, g) in zip(share, losses, strict=True)) / sum(share)
    np.testing.assert_allclose(gradient, combined, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(3, 12), dim=st.integers(2, 6), seed=st.integers(0, 1000))
def test_loss_depends_on_the_order_of_the_prior_alone(count, dim, seed):
    asked, points = similarity(count, seed), random_points(count, dim, seed + 1)
    bent = np.sign(asked) * np.abs(asked) ** 3 + 7  # keeps the order
    assert Ranking(asked)(points)[0] == pytest.approx(Ranking(bent)(points)[0], rel=1e-12)


def counted(points, asked, margin):
    """Every triplet, one at a time."""
    cosines, right, total = points @ points.T, 0, 0
    for i in range(len(points)):
        for j in range(len(points)):
            for k in range(len(points)):
                if len({i, j, k}) == 3 and asked[i, j] > asked[i, k]:
                    total += 1
                    right += cosines[i, j] - cosines[i, k] > margin
    return right / total


def test_the_share_is_that_of_counting_every_triplet():
    points, asked = random_points(13, 3, 0), similarity(13, 1)
    found = agreement(points, asked, weight=2.0, prior="made up")
    assert found.ranked_by_margin == pytest.approx(counted(points, asked, 0.01))
    pairs = np.triu_indices(13, 1)
    cosines = (points @ points.T)[pairs]
    assert found.spearman == pytest.approx(spearmanr(asked[pairs], cosines).statistic)
    assert found.loss == pytest.approx(Ranking(asked)(points)[0])


def test_the_prior_itself_is_ranked_right():
    vectors = random_points(12, 6, 2)
    similarity = vectors @ vectors.T
    found = agreement(vectors, similarity, weight=0.0, prior="itself")
    assert found.ranked_by_margin == pytest.approx(counted(vectors, similarity, 0.01))
    assert found.ranked_by_margin > 0.95  # the others differ by less than the margin
    assert found.spearman == pytest.approx(1)


def test_differences_below_the_margin_do_not_count():
    vectors = random_points(12, 6, 3)
    common = np.zeros((12, 7))
    common[:, 0], common[:, 1:] = 1.0, 0.01 * vectors  # right order, by differences of 1e-4
    found = agreement(unit_rows(common), vectors @ vectors.T, weight=0.0, prior="squeezed")
    assert found.spearman == pytest.approx(1, abs=0.02)
    assert found.ranked_by_margin == 0


def test_a_simplex_agrees_with_nothing():
    found = agreement(np.eye(8), similarity(8, 4), weight=0.0, prior="any")
    assert (found.ranked_by_margin, found.spearman) == (0, 0)


@pytest.mark.parametrize(("columns", "margin"), [(1, 0.0), (2, 0.0), (7, 0.5), (8, 1.0), (33, 0.0)])
def test_ordered_pairs_are_counted_as_by_comparing_all_of_them_with_ties(columns, margin):
    asked, placed = np.random.default_rng(columns).integers(0, 5, (2, 6, columns)).astype(float)
    nearer = asked[:, :, None] > asked[:, None]
    expected = (nearer & (placed[:, :, None] > placed[:, None] + margin)).sum()
    assert count_ordered(asked, placed, margin) == expected
