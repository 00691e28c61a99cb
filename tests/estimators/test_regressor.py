import numpy as np
import pytest

from hyperproto.estimators import HypersphericalRegressor


def test_numbers_are_read_off_as_cosines_to_the_pole(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.bounds_ == (y.min(), y.max())
    low, high = model.bounds_
    np.testing.assert_allclose(
        model.predict(X), (low + high) / 2 + model.cosines(X) * (high - low) / 2
    )
    np.testing.assert_allclose(model.transform(X)[:, 0], model.cosines(X), atol=1e-9)


def test_bounds_can_be_given_and_no_prediction_lies_beyond(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(bounds=(0, 50), epochs=3, random_state=0).fit(X, y)
    assert model.bounds_ == (0, 50)
    assert 0 <= model.predict(1e3 * X).min() <= model.predict(1e3 * X).max() <= 50


def test_a_constant_is_learned():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = HypersphericalRegressor(epochs=40, random_state=0).fit(X, np.full(50, 7.0))
    np.testing.assert_allclose(model.predict(X), 7, atol=0.5)


def test_intervals_hold_the_truth_about_as_often_as_stated(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(calibrate=True, validation_fraction=0.4, random_state=0).fit(
        X, y
    )
    ends = model.predict_interval(X, coverage=0.8)
    assert ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean() > 0.6
    assert (ends[:, 1] - ends[:, 0]).max() < np.ptp(y)
    with pytest.raises(ValueError, match="must be fitted to held-out data"):
        HypersphericalRegressor(epochs=1).fit(X, y).predict_interval(X)


def test_partial_fit_goes_on_and_takes_numbers_beyond_the_first_bounds(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(random_state=0).partial_fit(X[:50], y[:50])
    bounds = model.bounds_
    for _ in range(20):
        model.partial_fit(X, y + 1)
    assert model.bounds_ == bounds
    assert model.score(X, np.clip(y + 1, *bounds)) > 0.6


def test_early_stopping_goes_by_the_error(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(
        early_stopping=True, patience=3, epochs=200, random_state=0
    ).fit(X, y)
    assert model.n_iter_ < 200
    assert "target/mae" in model.history_[0]["valid"]
