import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from hyperproto.codes.descent import random_points, unit_rows
from hyperproto.codes.ranked import Ranking, agreement
from hyperproto.codes.ranked.agreement import count_ordered
from tests.codes.ranked.test_ranking import similarity


def counted(points, asked, margin):
    """Every triplet, one at a time."""
    cosines, right, clear, total = points @ points.T, 0, 0, 0
    for i in range(len(points)):
        for j in range(len(points)):
            for k in range(len(points)):
                if len({i, j, k}) == 3 and asked[i, j] > asked[i, k]:
                    total += 1
                    right += cosines[i, j] - cosines[i, k] > margin
                    clear += abs(cosines[i, j] - cosines[i, k]) > margin
    return right / total, clear / total


def test_shares_are_those_of_counting_every_triplet():
    points, asked = random_points(13, 3, 0), similarity(13, 1)
    meaning = agreement(points, asked, weight=2.0, prior="made up")
    assert meaning.ranked == pytest.approx(counted(points, asked, 0)[0])
    assert (meaning.ranked_by_margin, meaning.clear) == pytest.approx(counted(points, asked, 0.01))
    pairs = np.triu_indices(13, 1)
    cosines = (points @ points.T)[pairs]
    assert meaning.spearman == pytest.approx(spearmanr(asked[pairs], cosines).statistic)
    assert meaning.kendall == pytest.approx(kendalltau(asked[pairs], cosines).statistic)
    assert meaning.loss == pytest.approx(Ranking(asked)(points)[0])


def test_the_prior_itself_is_ranked_right_everywhere():
    vectors = random_points(12, 6, 2)
    meaning = agreement(vectors, vectors @ vectors.T, weight=0.0, prior="itself")
    assert (meaning.ranked, meaning.ranked_of_clear, meaning.spearman) == pytest.approx((1, 1, 1))


def test_differences_below_the_margin_are_no_meaning():
    vectors = random_points(12, 6, 3)
    common = np.zeros((12, 7))
    common[:, 0], common[:, 1:] = 1.0, 0.01 * vectors  # right order, by differences of 1e-4
    meaning = agreement(unit_rows(common), vectors @ vectors.T, weight=0.0, prior="squeezed")
    assert meaning.ranked == pytest.approx(1, abs=0.02)
    assert meaning.ranked_by_margin == meaning.clear == 0
    assert meaning.ranked_of_clear == 0


def test_a_simplex_means_nothing():
    meaning = agreement(np.eye(8), similarity(8, 4), weight=0.0, prior="any")
    assert (meaning.ranked, meaning.spearman, meaning.kendall) == (0, 0, 0)


@pytest.mark.parametrize(("columns", "margin"), [(1, 0.0), (2, 0.0), (7, 0.5), (8, 1.0), (33, 0.0)])
def test_ordered_pairs_are_counted_as_by_comparing_all_of_them_with_ties(columns, margin):
    asked, placed = np.random.default_rng(columns).integers(0, 5, (2, 6, columns)).astype(float)
    nearer = asked[:, :, None] > asked[:, None]
    expected = (nearer & (placed[:, :, None] > placed[:, None] + margin)).sum()
    assert count_ordered(asked, placed, margin) == expected
