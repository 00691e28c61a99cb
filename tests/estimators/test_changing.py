"""Classes that come, go and are renamed after ``fit``."""

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.estimators import HypersphericalClassifier, HypersphericalMultiTask
from hyperproto.evaluation.new_classes import push_apart
from hyperproto.sphere import normalize

# on so few rows a mean may lie near an old class: what that costs is warned of, and here it is no
# news
pytestmark = pytest.mark.filterwarnings("ignore:The old classes lost")
SETTINGS = {"epochs": 12, "random_state": 0}


@pytest.fixture
def five_kinds():
    """Two hundred rows around five centres, and the names of the centres; "bee" and "fox" come
    later.
    """
    draw = np.random.default_rng(0)
    ids = np.arange(200) % 5
    X = 4 * draw.normal(size=(5, 6))[ids] + draw.normal(size=(200, 6))
    return X, np.array(["ant", "bee", "cat", "dog", "fox"])[ids]


@pytest.fixture
def three_first(five_kinds):
    X, y = five_kinds
    old = ~np.isin(y, ["bee", "fox"])
    model = HypersphericalClassifier(dim=6, loss="cosine_softmax", replay=5, **SETTINGS).fit(
        X[old], y[old]
    )
    return model, X, y, old


def marks(model):
    return dict(
        zip(model.classes_.tolist(), model.space_.prototypes["target"].vectors, strict=True)
    )


@pytest.mark.parametrize(("how", "at_least"), [("mean", 0.4), ("train", 0.9)])
def test_new_classes_come_among_the_old_whose_prototypes_keep_every_bit(three_first, how, at_least):
    model, X, y, old = three_first
    before, network = marks(model), model.network_
    report = model.add_classes(X[~old], y[~old], how=how, old_valid=(X[old], y[old]))
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "fox"]
    assert all((marks(model)[name] == point).all() for name, point in before.items())
    assert (model.network_ is network) == (how == "mean")
    assert report.classes == ("bee", "fox")
    assert report.old_examples == 120
    assert report.old_after == (model.predict(X[old]) == y[old]).mean()
    assert report.new_accuracy == (model.predict(X[~old]) == y[~old]).mean() > at_least
    assert model.predict_proba(X).shape == (200, 5)
    assert model.replay_.targets["target"].bincount().tolist() == [5] * 5
    assert report.lost is not None
    score = model.score(X, y)
    assert model.partial_fit(X, y).score(X, y) >= min(score, 0.9)


def test_by_default_new_classes_are_trained_where_old_examples_are_kept(five_kinds):
    X, y = five_kinds
    old = ~np.isin(y, ["bee", "fox"])
    right = {}
    for kept in (0, 5):
        model = HypersphericalClassifier(replay=kept, **SETTINGS).fit(X[old], y[old])
        report = model.add_classes(X[~old][:20], y[~old][:20], old_valid=(X[old], y[old]))
        assert report.how == ("train" if kept else "mean")
        right[report.how] = (model.predict(X) == y).mean()
    assert right["train"] > max(0.9, right["mean"] + 0.2)


def test_new_points_part_from_others_and_each_other():
    others, points = torch.eye(4)[:2], torch.tensor([[1.0, 0.1, 0.1, 0.0], [1.0, 0.1, 0.2, 0.1]])
    every = torch.cat([others, moved := push_apart(normalize(points), others)])
    assert (every @ every.mT - torch.eye(4)).max() < 0.01
    nearness = (
        moved @ normalize(points).mT
    )  # each is nearer to its own examples, though the two are nearly one class
    assert nearness[0, 0] > nearness[0, 1]
    assert nearness[1, 1] > nearness[1, 0]
    far = -others
    assert torch.equal(push_apart(far, others), far)


def test_a_class_without_examples_comes_by_a_prior(three_first):
    model, *_ = three_first
    vectors = {"ant": [1, 0, 0], "cat": [0, 1, 0], "dog": [0, 0, 1], "bee": [1, 0.2, 0]}
    report = model.add_classes(classes=["bee"], how="prior", prior=vectors)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    cosines = {name: float(marks(model)["bee"] @ point) for name, point in marks(model).items()}
    assert cosines["ant"] > cosines["cat"] > cosines["dog"]
    assert report.new_accuracy is None


def test_removing_and_renaming_keep_answers_confidence_and_the_order_of_classes(five_kinds):
    X, y = five_kinds
    model = HypersphericalClassifier(calibrate=True, reject=0.1, replay=3, **SETTINGS).fit(X, y)
    cosines, held = model.cosines(X), len(model.held_out_["target"].strengths)
    model.rename_classes({"ant": "zebra"})
    assert model.classes_.tolist() == ["bee", "cat", "dog", "fox", "zebra"]
    np.testing.assert_allclose(model.cosines(X), cosines[:, [1, 2, 3, 4, 0]], atol=1e-12)
    assert (model.classes_[model.held_out_["target"].scores.argmax(axis=1)] == "zebra").any()
    report = model.remove_classes(["cat"], old_valid=(X[y == "dog"], y[y == "dog"]))
    assert model.classes_.tolist() == ["bee", "dog", "fox", "zebra"]
    assert report.old_examples == 40
    np.testing.assert_allclose(model.cosines(X), cosines[:, [1, 3, 4, 0]], atol=1e-12)
    assert model.held_out_["target"].scores.shape == (len(model.held_out_["target"].strengths), 4)
    assert 0 < len(model.held_out_["target"].strengths) < held
    right = (
        model.classes_[model.held_out_["target"].scores.argmax(axis=1)]
        == model.classes_[model.held_out_["target"].targets]
    )
    assert right.mean() > 0.9
    assert model.conformal_sets(X).shape == (200, 4)
    assert model.replay_.targets["target"].bincount().tolist() == [3] * 4


def test_confidence_is_fitted_again_when_classes_came(five_kinds, tmp_path):
    X, y = five_kinds
    old = y != "bee"
    model = HypersphericalClassifier(calibrate=True, replay=4, **SETTINGS).fit(X[old], y[old])
    report = model.add_classes(X[~old], y[~old])
    assert "recalibrate" in report.notes[-1]
    with pytest.raises(InputError) as found:
        model.conformal_sets(X)
    assert "recalibrate(X, y)" in found.value.advice
    assert model.recalibrate(X, y).calibration_error_ < 0.2
    assert model.conformal_sets(X).shape == (200, 5)
    model.save(tmp_path / "five")
    back = hp.load(tmp_path / "five")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.calibration_error_ == model.calibration_error_
    np.testing.assert_array_equal(back.replay_.inputs, model.replay_.inputs)
    assert back.replay_.targets["target"].tolist() == model.replay_.targets["target"].tolist()


@pytest.mark.parametrize(
    ("dtype", "new"), [(np.int16, 300), (object, "bee"), (str, "bumblebee"), (float, 1.5)]
)
def test_classes_of_any_dtype_may_come(three_kinds, dtype, new):
    X, names = three_kinds
    y = (
        names.astype(dtype)
        if dtype in (str, object)
        else np.searchsorted(["ant", "bee", "cat"], names).astype(dtype)
    )
    model = HypersphericalClassifier(**SETTINGS).fit(X[names != "bee"], y[names != "bee"])
    model.add_classes(
        X[names == "bee"], np.array([new] * 30, dtype=object if dtype is object else None)
    )
    assert model.classes_.tolist() == sorted([*y[names != "bee"][:2].tolist(), new])
    assert (model.predict(X[names == "bee"]) == new).mean() > 0.5


def test_one_of_several_columns_takes_new_classes(five_kinds):
    X, names = five_kinds
    y = np.empty((200, 2), dtype=object)
    y[:, 0], y[:, 1] = names, X[:, 0]
    old = names != "bee"
    model = HypersphericalMultiTask(**SETTINGS).fit(X[old], y[old])
    numbers = model.predict(X)[:, 1]
    report = model.add_classes(X[~old], names[~old], old_valid=(X[old], y[old]))
    assert model.classes_[0].tolist() == ["ant", "bee", "cat", "dog", "fox"]
    assert report.new_accuracy == (model.predict(X[~old])[:, 0] == "bee").mean()
    assert (model.predict(X)[:, 1] == numbers).all()
    with pytest.raises(InputError) as found:
        model.remove_classes(["ant"], column="2")
    assert '"2"' in found.value.argument


def test_what_cannot_be_is_named(three_first):
    model, X, y, old = three_first
    without = HypersphericalClassifier(epochs=1).fit(X[old], y[old])
    for change, argument, got in (
        (lambda: model.add_classes(X, y), "New classes", "'ant'"),
        (lambda: model.add_classes(X[~old], np.arange(80)), "New classes", "int64 of shape (80,)"),
        (lambda: model.remove_classes(["cow"]), 'Unknown class "cow".', None),
        (lambda: model.rename_classes({"ant": "cat"}), "The classes", ["cat", "cat", "dog"]),
        (lambda: without.add_classes(X[~old], y[~old], how="train"), "replay", "none"),
    ):
        with pytest.raises(InputError) as found:
            change()
        assert (found.value.argument, found.value.got) == (argument, got)
    assert model.classes_.tolist() == ["ant", "cat", "dog"]
