import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.losses import ClassLoss, PowerCosine
from hyperproto.spaces import Space
from hyperproto.tasks import Classes


def refusal(call, *arguments, **options):
    with pytest.raises((InputError, InputTypeError)) as found:
        call(*arguments, **options)
    return found.value


def test_points_lie_on_the_sphere_and_cosines_are_to_the_prototypes(three_kinds):
    X, y = three_kinds
    model = HypersphericalClassifier(random_state=0).fit(X, y)
    points = model.transform(X)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    marks = model.space_.prototypes["target"].vectors.numpy()
    np.testing.assert_allclose(points @ marks.T, model.cosines(X), atol=1e-9)
    assert model.predict(X).tolist() == model.classes_[(points @ marks.T).argmax(axis=1)].tolist()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("dtype", [str, object, np.int16, bool, float])
def test_classes_come_back_in_the_dtype_they_came_in(three_kinds, dtype):
    X, names = three_kinds
    y = names.astype(dtype) if dtype in (str, object) else (names == "bee").astype(dtype)
    model = HypersphericalClassifier(epochs=3, random_state=0).fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.classes_.tolist() == sorted(set(y.tolist()))


def test_a_pipeline_a_grid_search_and_cross_validation_take_it(three_kinds):
    X, y = three_kinds
    pipeline = make_pipeline(MinMaxScaler(), HypersphericalClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"hypersphericalclassifier__hidden": [(), (20,)]}, cv=2).fit(
        X, y
    )
    assert search.best_score_ > 0.8
    assert cross_val_score(clone(pipeline), X, y, cv=3).min() > 0.8
    as_features = make_pipeline(
        HypersphericalClassifier(dim=2, random_state=0), HypersphericalClassifier(random_state=0)
    )
    assert as_features.fit(X, y).score(X, y) > 0.8


def test_the_same_seed_gives_the_same_bits_and_leaves_other_draws_alone(three_kinds):
    X, y = three_kinds
    state = torch.get_rng_state()
    first = HypersphericalClassifier(random_state=3).fit(X, y).transform(X)
    again = HypersphericalClassifier(random_state=3).fit(X, y).transform(X)
    other = HypersphericalClassifier(random_state=4).fit(X, y).transform(X)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(state, torch.get_rng_state())


def test_a_row_that_weighs_three_times_is_three_rows(three_kinds):
    X, y = three_kinds[0][:20], three_kinds[1][:20]
    weight = np.where(np.arange(20) < 10, 3, 1)
    settings = {"batch_size": 100, "epochs": 10, "random_state": 0}
    weighed = HypersphericalClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = HypersphericalClassifier(**settings).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighed.transform(X), repeated.transform(X), atol=1e-9)
    plain = HypersphericalClassifier(**settings).fit(X, y)
    assert np.abs(plain.transform(X) - weighed.transform(X)).max() > 1e-3


def test_balanced_weights_help_a_rare_class():
    draw = np.random.default_rng(0)
    X = np.concatenate([draw.normal(size=(190, 2)), draw.normal(size=(10, 2)) + 1.5])
    y = np.repeat(["common", "rare"], [190, 10])
    recall = {
        weight: (
            HypersphericalClassifier(class_weight=weight, random_state=0).fit(X, y).predict(X[190:])
            == "rare"
        ).mean()
        for weight in (None, "balanced")
    }
    assert recall["balanced"] > recall[None]
    listed = HypersphericalClassifier(
        class_weight={"common": 10 / 19, "rare": 10}, random_state=0
    ).fit(X, y)
    assert (listed.predict(X[190:]) == "rare").mean() == recall["balanced"]


def test_early_stopping_keeps_the_weights_of_the_best_epoch(three_kinds):
    X, y = three_kinds
    model = HypersphericalClassifier(
        early_stopping=True, patience=2, epochs=50, random_state=0
    ).fit(X, y)
    assert model.n_iter_ < 50
    scores = [record["valid"]["target/accuracy"] for record in model.history_]
    assert scores.index(max(scores)) == len(scores) - 3


def test_partial_fit_learns_in_passes_and_knows_classes_that_have_not_come_yet(three_kinds):
    X, y = three_kinds
    model = HypersphericalClassifier(random_state=0)
    model.partial_fit(X[y != "cat"], y[y != "cat"], classes=["ant", "bee", "cat"])
    first = model.score(X, y)
    for _ in range(15):
        model.partial_fit(X, y)
    assert model.score(X, y) > max(first, 0.9)
    refused = refusal(model.partial_fit, X[:2], ["dog", "ant"])
    assert (refused.argument, refused.got) == ("y", '"dog" (1 unseen in 1 of 2 rows)')
    refused = refusal(model.partial_fit, X, y, classes=["ant", "bee"])
    assert (refused.argument, refused.got) == ("classes", ["ant", "bee"])


def test_images_go_through_a_convolutional_network():
    digits = load_digits(n_class=3)
    images = digits.images[:120, None].astype("float32")
    model = HypersphericalClassifier(random_state=0).fit(images, digits.target[:120])
    assert type(model.network_).__name__ != "MLP"
    assert model.score(images, digits.target[:120]) > 0.8
    named = HypersphericalClassifier(backbone="resnet-8", epochs=1, random_state=0)
    assert named.fit(images[:20], digits.target[:20]).transform(images[:3]).shape == (3, 2)


def test_confidence_is_fitted_on_rows_that_were_held_out(three_kinds):
    X, y = three_kinds
    model = HypersphericalClassifier(
        calibrate=True, reject=0.2, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    assert len(model.held_out_["target"].strengths) == 27
    assert (
        model.calibrations_["target"].rejection.rate == 0.2
    )  # of so few rows no scale is better than the usual
    assert 0 < model.calibration_error_ < 0.3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    answers = model.predict(np.concatenate([X, 0 * X[:1]]))
    assert set(answers) <= {"ant", "bee", "cat", "unknown"}
    assert 0 < (answers[:-1] == "unknown").mean() < 0.4
    sets = model.conformal_sets(X, coverage=0.8)
    assert sets.shape == (90, 3)
    assert sets[np.arange(90), np.searchsorted(model.classes_, y)].mean() > 0.7
    assert model.outlier_score(X).shape == (90,)


def test_rows_far_outside_of_the_training_data_are_rejected():
    X, y = load_wine(return_X_y=True)
    model = HypersphericalClassifier(reject=0.05, validation_fraction=0.4, random_state=0).fit(
        X[::2], y[::2]
    )
    assert (model.predict(X[1::2]) == -1).mean() < 0.15
    for far in (10 * X, -10 * X, X * np.where(np.arange(13), 1, 100)):
        assert (model.predict(far) == -1).mean() > 0.98
        assert model.outlier_score(far).min() > np.median(model.outlier_score(X))


class Chord(ClassLoss):
    """The squared distance to the prototype."""

    def __call__(self, z, prototypes, labels):
        return (torch.nn.functional.normalize(z) - prototypes[labels].to(z.dtype)).square().sum(1)


def test_a_loss_of_ones_own_learns_and_is_saved_by_pickle_only(three_kinds, tmp_path):
    X, y = three_kinds
    model = HypersphericalClassifier(loss=Chord(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(InputError) as wrong:
        model.save(tmp_path / "model")
    assert wrong.value.argument == "loss"
    HypersphericalClassifier(loss=PowerCosine(q=1), epochs=1).fit(X, y).save(tmp_path / "model")
    with pytest.raises(InputTypeError) as wrong:
        HypersphericalClassifier(loss=3).fit(X, y)
    assert wrong.value.argument == "loss"


@pytest.mark.parametrize("loss", ["auto", "paper", "power_cosine"])
def test_a_space_built_by_hand_is_that_of_the_estimator(three_kinds, loss):
    X, y = three_kinds
    built = HypersphericalClassifier(loss=loss, epochs=1, random_state=0).fit(X, y).space_
    again = Space(built.dim, {"target": Classes(["ant", "bee", "cat"], loss=loss)})
    assert built.to_dict() == again.to_dict()
    assert torch.equal(built.prototypes["target"].vectors, again.prototypes["target"].vectors)


def test_wrong_settings_are_named_at_fit(three_kinds):
    X, y = three_kinds
    with pytest.raises(ValueError, match='Unknown loss "squared". Choose from'):
        HypersphericalClassifier(loss="squared").fit(X, y)
    with pytest.raises(ValueError, match="`dim` must be at least 2; got 1"):
        HypersphericalClassifier(dim=1).fit(X, y)
    for name, value in (
        ("dim", 10**9),
        ("hidden", (10**9,)),
        ("loss", None),
        ("calibrate", "x"),
        ("early_stopping", None),
    ):
        with pytest.raises((InputError, InputTypeError)) as found:
            HypersphericalClassifier(**{name: value}).fit(X, y)
        assert found.value.argument == name
    refused = refusal(HypersphericalClassifier(backbone="resnet-8").fit, X, y)
    assert (refused.argument, refused.got) == ("backbone", '"resnet-8", which takes images')
    refused = refusal(HypersphericalClassifier().fit, X, np.zeros(90))
    assert (refused.argument, refused.got) == ("y", "one class, 0.0")
    refused = refusal(HypersphericalClassifier().fit, X.reshape(90, 2, 2), y)
    assert (refused.argument, refused.got) == ("X", (90, 2, 2))
    model = HypersphericalClassifier(epochs=1).fit(X, y)
    assert "calibrate" in refusal(model.conformal_sets, X).advice
    refused = refusal(model.fit, X, y, sample_weight=-np.ones(90))
    assert (refused.argument, refused.got) == ("sample_weight", "-1 to -1")


def test_no_class_is_called_what_unknown_inputs_are_called(three_kinds):
    X, y = three_kinds
    named, numbered = np.where(y == "ant", "unknown", y), np.where(y == "ant", -1, 1)
    for labels, settings in ((named, {}), (numbered, {}), (y, {"unknown_label": "bee"})):
        model = HypersphericalClassifier(reject=0.1, **settings)
        assert refusal(model.fit, X, labels).argument == "unknown_label"
    HypersphericalClassifier(epochs=1).fit(
        X, named
    )  # where nothing is rejected it is a class like any other
    model = HypersphericalClassifier(reject=0.3, unknown_label=[[]], random_state=0)
    assert refusal(model.fit, X, numbered).got == "[[]]"
    other = HypersphericalClassifier(reject=0.3, unknown_label=0, random_state=0).fit(X, numbered)
    assert set(other.predict(100 * X)) <= {-1, 0, 1}
    model = HypersphericalClassifier(reject=0.1, epochs=1).fit(X, y)
    refused = refusal(model.rename_classes, {"ant": "unknown"})
    assert (refused.argument, refused.got) == ("unknown_label", "'unknown'")
    refused = refusal(model.add_classes, X[:3], ["unknown"] * 3)
    assert (refused.argument, refused.got) == ("unknown_label", "'unknown'")
    assert model.classes_.tolist() == ["ant", "bee", "cat"]


def test_two_negative_weights_do_not_make_a_positive_one(three_kinds):
    X, y = three_kinds
    model = HypersphericalClassifier(class_weight=dict.fromkeys(y, -1))
    assert refusal(model.fit, X, y, -np.ones(90)).argument == "sample_weight"
    assert refusal(model.fit, X, y).argument == "class_weight"


def test_one_hidden_layer_may_be_a_bare_number():
    X, y = load_wine(return_X_y=True)
    models = [
        HypersphericalClassifier(hidden=hidden, epochs=2, random_state=0).fit(X, y)
        for hidden in (50, (50,))
    ]
    assert list(models[0].network_.config["hidden"]) == [50]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    refused = refusal(HypersphericalClassifier(hidden=0).fit, X, y)
    assert (refused.argument, refused.got) == ("hidden", 0)


def test_too_few_held_out_rows_for_a_promise_are_said():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(
        UserWarning, match="19 held-out rows are needed, got 18: reject=0.05 rejects nothing"
    ):
        model = HypersphericalClassifier(calibrate=True, reject=0.05, epochs=1, random_state=0).fit(
            X, y
        )
    with pytest.warns(UserWarning, match="with coverage=0.95 every class is in every set"):
        assert model.conformal_sets(X[:5], coverage=0.95).all()
    assert model.conformal_sets(X[:5], coverage=0.9).shape == (5, 3)
