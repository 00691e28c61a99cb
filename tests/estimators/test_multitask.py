import numpy as np
import pytest

from hyperproto.estimators import HypersphericalMultiTask


@pytest.fixture
def mixed():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 4))
    y = np.empty((150, 3), dtype=object)
    y[:, 0], y[:, 1], y[:, 2] = (
        np.where(X[:, 0] > 0, "up", "down"),
        X[:, 1] + X[:, 2],
        np.digitize(X[:, 3], [-0.5, 0.5]),
    )
    return X, y


def test_classes_and_numbers_are_learned_together(mixed):
    X, y = mixed
    model = HypersphericalMultiTask(random_state=0).fit(X, y)
    assert model.tasks_ == ["classes", "number", "classes"]
    assert [None if c is None else c.tolist() for c in model.classes_] == [
        ["down", "up"],
        None,
        [0, 1, 2],
    ]
    assert model.space_.separate
    assert model.space_.dim == 2 + 8 + 2
    answers = model.predict(X)
    assert answers.shape == y.shape
    assert (answers[:, 0] == y[:, 0]).mean() > 0.9
    assert np.corrcoef(answers[:, 1].astype(float), y[:, 1].astype(float))[0, 1] > 0.8
    assert 0.7 < model.score(X, y) <= 1
    first, second, third = model.predict_proba(X)
    assert (first.shape, third.shape) == ((150, 2), (150, 3))
    assert second is None


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_a_column_of_objects_is_one_of_numbers_whatever_their_type(mixed, kind):
    X, y = mixed
    y[:, 1] = [kind(value) for value in y[:, 1]]
    y[3, 1] = 2  # as JSON and spreadsheets write it
    model = HypersphericalMultiTask(epochs=1, random_state=0).fit(X, y)
    assert model.tasks_ == ["classes", "number", "classes"]


def test_numbers_alone_come_back_as_floats(mixed):
    X, _ = mixed
    model = HypersphericalMultiTask(random_state=0).fit(X, X[:, :2])
    assert model.predict(X).dtype == np.float64
    assert model.space_.dim == 9
    assert model.score(X, X[:, :2]) > 0.8


def test_what_a_column_is_can_be_said(mixed):
    X, _ = mixed
    ages = np.stack([np.arange(150) % 2, np.round(20 + 5 * X[:, 0])], axis=1).astype(int)
    model = HypersphericalMultiTask(tasks=["classes", "number"], epochs=3, random_state=0).fit(
        X, ages
    )
    assert model.tasks_ == ["classes", "number"]
    with pytest.raises(ValueError, match="each of the 2 columns is; got 1"):
        HypersphericalMultiTask(tasks=["classes"]).fit(X, ages)
    with pytest.raises(
        ValueError, match='Unknown task "clases". Choose from: .*"classes", .*"number"'
    ):
        HypersphericalMultiTask(tasks=["clases", "number"]).fit(X, ages)


def test_sets_and_intervals_by_column(mixed):
    X, y = mixed
    model = HypersphericalMultiTask(calibrate=True, validation_fraction=0.3, random_state=0).fit(
        X, y
    )
    assert {name: sets.shape for name, sets in model.conformal_sets(X).items()} == {
        "0": (150, 2),
        "2": (150, 3),
    }
    assert {name: ends.shape for name, ends in model.predict_interval(X).items()} == {"1": (150, 2)}


def test_a_dimension_that_is_too_small_is_answered_by_the_least(mixed):
    X, y = mixed
    assert HypersphericalMultiTask(dim=6, epochs=1).fit(X, y).space_.dim == 6
    with pytest.raises(ValueError, match="Raise `?dim`? by at least 1"):
        HypersphericalMultiTask(dim=4).fit(X, y)


def test_balanced_classes_of_every_column(mixed):
    X, y = mixed
    rare = y[:, 0].copy()
    rare[np.flatnonzero(rare == "up")[10:]] = "down"
    y[:, 0] = rare
    model = HypersphericalMultiTask(class_weight="balanced", epochs=1, random_state=0).fit(X, y)
    count = np.array([(rare == "down").sum(), 10])
    np.testing.assert_allclose(model.space_.tasks["0"].class_weight, 150 / (2 * count))
