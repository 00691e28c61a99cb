import numpy as np
import pytest

from hyperproto._core.errors import InputError
from hyperproto.estimators import HypersphericalRegressor


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_numbers_are_read_off_as_latitudes(a_slope, loss):
    X, y = a_slope
    model = HypersphericalRegressor(loss=loss, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.bounds_ == (-np.inf, np.inf)
    task = model.targets_["target"]
    assert task.loss == loss
    tangents = np.tan(np.arcsin(model.cosines(X)))
    np.testing.assert_allclose(model.predict(X), task.center + task.scale * tangents)


def test_units_of_a_number_are_those_of_weighted_training_rows(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(epochs=1, random_state=0)
    weight = np.where(y > np.median(y), 1.0, 0.0)
    assert model.fit(X, y, weight).targets_["target"].center > np.median(y)


def test_a_loss_of_numbers_is_one_of_two(a_slope):
    with pytest.raises(InputError, match="loss"):
        HypersphericalRegressor(loss="huber").fit(*a_slope)


def test_bounds_can_be_given_and_no_prediction_lies_beyond(a_slope):
    X, y = a_slope
    model = HypersphericalRegressor(bounds=(0, 50), epochs=3, random_state=0).fit(X, y)
    assert model.bounds_ == (0, 50)
    middle, half = 25, 25
    np.testing.assert_allclose(model.predict(X), middle + model.cosines(X) * half)
    np.testing.assert_allclose(model.transform(X)[:, 0], model.cosines(X), atol=1e-9)
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
    first = float(y[:50].min()), float(y[:50].max())
    model = HypersphericalRegressor(bounds=first, random_state=0).partial_fit(X[:50], y[:50])
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
