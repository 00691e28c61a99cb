import errno
import json
import pickle

import joblib
import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import hyperproto as hp
from hyperproto.estimators import (
    HypersphericalClassifier,
    HypersphericalMultiTask,
    HypersphericalRegressor,
)


@pytest.fixture
def classifier(three_kinds):
    X, y = three_kinds
    return HypersphericalClassifier(epochs=5, calibrate=True, reject=0.1, random_state=0).fit(X, y)


def test_a_saved_classifier_comes_back_to_the_same_bits(classifier, three_kinds, tmp_path):
    X, y = three_kinds
    classifier.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    back = hp.load(tmp_path / "model")
    assert type(back) is HypersphericalClassifier
    assert back.get_params() == classifier.get_params()
    for method in (
        "predict_proba",
        "decision_function",
        "transform",
        "outlier_score",
        "conformal_sets",
    ):
        np.testing.assert_array_equal(getattr(back, method)(X), getattr(classifier, method)(X))
    assert back.predict(X).tolist() == classifier.predict(X).tolist()
    assert back.partial_fit(X, y).n_iter_ == classifier.n_iter_ + 1


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [-1.0, 1.0, 2.0], [False, True, True], ["é", "", "a b"]]
)
@pytest.mark.parametrize("as_object", [False, True])
def test_class_names_of_any_dtype_come_back(three_kinds, tmp_path, labels, as_object):
    X, names = three_kinds
    y = np.array(labels, dtype=object if as_object else None)[
        np.unique(names, return_inverse=True)[1]
    ]
    if as_object and not isinstance(labels[0], str):
        y = y.astype(str).astype(object)
    model = HypersphericalClassifier(epochs=1, class_weight={y[0]: 2.0}, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    back = hp.load(tmp_path / "model")
    assert back.classes_.dtype == model.classes_.dtype
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.class_weight == model.class_weight


def test_regressors_and_several_tasks_come_back(a_slope, tmp_path):
    X, y = a_slope
    regressor = HypersphericalRegressor(epochs=3, calibrate=True, random_state=0).fit(
        X.astype("float32"), y
    )
    regressor.save(tmp_path / "number")
    back = hp.load(tmp_path / "number")
    assert back.bounds_ == regressor.bounds_
    np.testing.assert_array_equal(back.predict_interval(X), regressor.predict_interval(X))
    table = np.stack([(X[:, 0] > 0).astype(object), y.astype(object)], axis=1)
    several = HypersphericalMultiTask(
        epochs=3, calibrate=True, loss=hp.losses.CosineSoftmax(scale=8), random_state=0
    ).fit(X, table)
    several.save(tmp_path / "several")
    back = hp.load(tmp_path / "several")
    assert back.predict(X).tolist() == several.predict(X).tolist()
    assert back.loss == several.loss
    assert back.score(X, table) == several.score(X, table)


@pytest.mark.parametrize(
    "loss",
    [
        hp.losses.FreeNormSoftmax(gain=2.0),
        hp.losses.SampledCosineSoftmax(scale=8.0),
        hp.losses.PowerCosine(),
    ],
)
def test_every_loss_comes_back(three_kinds, tmp_path, loss):
    X, y = three_kinds
    model = HypersphericalClassifier(epochs=1, loss=loss, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    assert hp.load(tmp_path / "model").loss == loss
    again = hp.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_pickle_and_joblib_work_too(classifier, three_kinds, tmp_path):
    X, _ = three_kinds
    expected = classifier.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(X), expected)
    joblib.dump(classifier, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(X), expected)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "hyperproto.estimator/1",
            r"format hyperproto.estimator/3; got hyperproto.estimator/1",
        ),
        (
            "something else",
            "must be an estimator of format hyperproto.estimator/3; got something else",
        ),
    ],
)
def test_a_file_of_another_version_says_so(classifier, tmp_path, said, sentence):
    classifier.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    path.write_text(
        json.dumps(
            json.loads(path.read_text()) | {"format": said, "versions": {"hyperproto": "9.9"}}
        )
    )
    with pytest.raises(ValueError, match=sentence):
        hp.load(tmp_path / "model")


def test_a_damaged_file_gets_a_sentence(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    whole = json.loads(path.read_text())
    for missing in ("network", "space", "inputs", "calibrations"):
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != missing}))
        with pytest.raises(
            ValueError, match=f"must be complete and unchanged .`{missing}` must be given"
        ):
            hp.load(tmp_path / "model")
    path.write_text(json.dumps(whole | {"class": "Popen"}))
    with pytest.raises(ValueError, match='Unknown estimator "Popen"'):
        hp.load(tmp_path / "model")


def test_what_cannot_be_saved_is_said_before_anything_is_written(three_kinds, tmp_path):
    import torch

    X, y = three_kinds
    own = HypersphericalClassifier(
        backbone=lambda dim, shape: torch.nn.Linear(shape[0], dim), epochs=1
    ).fit(X, y)
    with pytest.raises(
        ValueError, match="must be one of hyperproto.models to be saved; got Linear"
    ):
        own.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_run_is_loaded_as_before_and_an_estimator_takes_no_options(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    with pytest.raises(ValueError, match="which is loaded whole; got which"):
        hp.load(tmp_path / "model", which="best")
    with pytest.raises(FileNotFoundError, match="must hold a run; got no"):
        hp.load(tmp_path)
    assert "network.layers.0.weight" in load_file(tmp_path / "model" / "last.safetensors")


def test_an_estimator_that_was_saved_may_be_overwritten_and_nothing_else(three_kinds, tmp_path):
    X, y = three_kinds
    first = HypersphericalClassifier(epochs=1, replay=2, calibrate=True, random_state=0).fit(X, y)
    second = HypersphericalClassifier(epochs=2, hidden=5, random_state=1).fit(X, y)
    first.save(tmp_path / "model")
    with pytest.raises(ValueError, match="must be new or empty"):
        second.save(tmp_path / "model")
    second.save(tmp_path / "model", overwrite=True)
    back = hp.load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(X), second.predict_proba(X))
    assert back.replay_ is None
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="must be new or empty"):
        first.save(tmp_path / "model", overwrite=True)
    np.testing.assert_array_equal(
        hp.load(tmp_path / "model").predict_proba(X), second.predict_proba(X)
    )


def test_training_tells_how_it_goes_where_asked(three_kinds, capfd):
    X, y = three_kinds
    model = HypersphericalClassifier(epochs=2, hidden=5).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert tuple(model.network_.config["hidden"]) == (5,)
    model.set_params(verbose=True).fit(X, y)
    told = capfd.readouterr().out.splitlines()
    assert told[0] == "epoch 1/2 begins"
    assert [line.split("  ")[0] for line in told[1:]] == ["epoch 1/2", "epoch 2/2"]


def test_overwriting_removes_only_files_of_an_estimator(classifier, tmp_path):
    for model, files in {
        "a description of another kind": {
            "estimator.json": '{"mine": 1}',
            "last.safetensors": "mine",
        },
        "prototypes of the user": {"prototypes.mine.safetensors": "mine"},
        "more prototypes than it has": {"prototypes.7.safetensors": "mine"},
    }.items():
        folder = tmp_path / model
        if "estimator.json" not in files:
            classifier.save(folder)
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(ValueError, match="must be new or empty"):
            classifier.save(folder, overwrite=True)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_estimator_is_there_until_the_new_one_is(classifier, three_kinds, tmp_path, monkeypatch):
    X, y = three_kinds
    second = HypersphericalClassifier(epochs=2, hidden=5, random_state=1).fit(X, y)
    classifier.save(tmp_path / "model")
    monkeypatch.setattr("hyperproto.training.checkpoint.save_file", raise_full_disk)
    with pytest.raises(OSError, match="No space left on device"):
        second.save(tmp_path / "model", overwrite=True)
    np.testing.assert_array_equal(
        hp.load(tmp_path / "model").predict_proba(X), classifier.predict_proba(X)
    )
    monkeypatch.undo()
    monkeypatch.setattr("hyperproto._core.files.shutil.copyfile", raise_full_disk)
    with pytest.raises(OSError, match="No space left on device"):
        second.save(tmp_path / "model", overwrite=True)
    np.testing.assert_array_equal(
        hp.load(tmp_path / "model").predict_proba(X), second.predict_proba(X)
    )
    monkeypatch.undo()
    second.save(tmp_path / "model", overwrite=True)
    second.save(tmp_path / "fresh")
    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("model", "fresh")
    ]
    assert contents[0] == contents[1]


def raise_full_disk(*args, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def _drop_a_class(described):
    described["space"]["tasks"][0]["labels"]["values"].pop()


def _mix_kinds(described):
    described["space"]["tasks"][0]["labels"].update(values=["up", 3], dtype="|O")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: d["inputs"]["mean"].pop(), "one number, or 3, one per column; got 2"),
        (lambda d: d["inputs"].update(mean=[10**30, 0, "x"]), "`mean` must be a number"),
        (lambda d: d.update(flat=[]), "`flat` must be true or false"),
        (lambda d: d["features"].update(names="abc"), "`names` must be a list"),
        (lambda d: d["features"].update(names=["a"]), "`names` must be those of 3 columns; got 1"),
        (_drop_a_class, "2 values, one per class"),
        (_mix_kinds, "Stored classes must be strings, or none of them one"),
        (
            lambda d: d["calibrations"][0].update(model=None),
            "A Temperature must be described by its fields; got NoneType",
        ),
    ],
)
def test_parts_of_a_file_that_do_not_fit_each_other_are_named(tmp_path, damage, sentence):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.stack([(X[:, 0] > 0).astype(object), X[:, 1].astype(object)], axis=1)
    HypersphericalMultiTask(epochs=1, calibrate=True, random_state=0).fit(X, y).save(
        tmp_path / "model"
    )
    path = tmp_path / "model" / "estimator.json"
    described = json.loads(path.read_text())
    damage(described)
    path.write_text(json.dumps(described))
    with pytest.raises((ValueError, TypeError), match=sentence):
        hp.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["held_out.safetensors", "replay.safetensors"])
def test_stored_labels_of_classes_that_are_not_there_are_refused(three_kinds, tmp_path, name):
    X, y = three_kinds
    HypersphericalClassifier(epochs=1, replay=2, calibrate=True, random_state=0).fit(X, y).save(
        tmp_path / "model"
    )
    tensors = load_file(tmp_path / "model" / name)
    tensors["targets.0"][0] = 2**40
    save_file(tensors, tmp_path / "model" / name)
    with pytest.raises(ValueError, match=r"Stored targets must be class ids in \[0, 3\)"):
        hp.load(tmp_path / "model")
