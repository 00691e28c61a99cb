import numpy as np
import pytest

from hyperproto.data.augment import uniforms

N = 20_000


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


def test_draws_are_uniform():
    draws = uniforms(0, 0, np.arange(N), 4)
    assert draws.min() >= 0
    assert draws.max() < 1
    for column in draws.T:
        assert column.mean() == pytest.approx(1 / 2, abs=5 * np.sqrt(1 / 12 / N))  # five standard errors
        assert column.var() == pytest.approx(1 / 12, abs=5 * np.sqrt(1 / 180 / N))
        counts, _ = np.histogram(column, bins=100, range=(0, 1))
        assert ((counts - N / 100) ** 2 / (N / 100)).sum() < 99 + 5 * np.sqrt(2 * 99)  # chi-squared


def test_neighbouring_samples_epochs_seeds_and_columns_are_uncorrelated():
    draws = uniforms(0, 0, np.arange(N), 3)
    limit = 5 / np.sqrt(N)
    assert correlation(draws[1:, 0], draws[:-1, 0]) < limit
    assert correlation(draws[:, 0], draws[:, 1]) < limit
    assert correlation(draws[1:, 0], draws[:-1, 1]) < limit  # a sample's next number is not its neighbour's first
    assert correlation(draws[:, 0], uniforms(0, 1, np.arange(N), 3)[:, 0]) < limit
    assert correlation(draws[:, 0], uniforms(1, 0, np.arange(N), 3)[:, 0]) < limit
    assert len(np.unique(draws)) == draws.size


def test_the_check_of_correlation_can_fail():
    draws = uniforms(0, 0, np.arange(N), 1)[:, 0]
    assert correlation(draws, np.sort(draws)) < 5 / np.sqrt(N)
    assert correlation(draws, draws + 0.1 * np.arange(N) / N) > 5 / np.sqrt(N)


def test_a_draw_is_the_same_whatever_batch_it_is_in():
    whole = uniforms(3, 7, np.arange(100), 6)
    order = np.random.default_rng(0).permutation(100)
    for part in np.array_split(order, 7):
        assert np.array_equal(uniforms(3, 7, part, 6), whole[part])
    assert np.array_equal(uniforms(3, 7, order, [5, 2]), whole[order][:, [5, 2]])


def test_draws_stay_what_they_are_from_release_to_release():
    """Captured from this function; a run could not be continued, nor repeated, if these changed."""
    assert uniforms(0, 0, [0, 12_345_678], 2).tolist() == [
        [0.9277827342839875, 0.0009989124022463658],
        [0.7247603269018207, 0.7176678407547417],
    ]
