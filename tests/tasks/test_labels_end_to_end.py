"""Several labels at once, from a table on the command line to predictions without torch."""

import csv
import json
import math

import numpy as np
import pandas
import pytest

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.estimators import HypersphericalMultiTask
from hyperproto.runtime import Predictor
from hyperproto.runtime.conformal import ConformalSets
from tests.data.layouts import write_csv

NAMES = ("hot", "humid", "windy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weather")
    draws = np.random.default_rng(0).normal(size=(400, 3))
    sets = ["; ".join(np.array(NAMES)[row > 0.3].tolist()) for row in draws]
    rows = [
        [*(f"{value:.3f}" for value in row), cell] for row, cell in zip(draws, sets, strict=True)
    ]
    write_csv(folder / "days.csv", ["heat", "wet", "wind", "weather"], rows)
    options = ["--table", str(folder / "days.csv"), "--labels", "weather", "--epochs", "30"]
    main(["train", *options, "--folder", str(folder / "run")])
    main(["export", str(folder / "run"), "-o", str(folder / "model")])
    return folder


def test_labels_of_a_table_are_learned_and_measured(folder, capsys):
    main(["evaluate", str(folder / "run"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["weather/micro_f1"] > 0.8 > found["baseline"]["weather/micro_f1"]
    assert found["tasks"]["weather"]["labels"] == 80
    main(["doctor", str(folder / "run")])
    assert "weather/micro_f1" in capsys.readouterr().out


def test_sets_are_predicted_without_torch_as_by_the_run(folder, capsys):
    main(["predict", str(folder / "run"), str(folder / "days.csv"), "--format", "csv"])
    table = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {label for row in table for label in row["weather"].split("; ") if label} == set(NAMES)
    predictor = Predictor(folder / "model")
    inputs = [{"heat": 2.0, "wet": -2.0, "wind": 2.0}, {"heat": -2.0, "wet": -2.0, "wind": -2.0}]
    assert predictor.predict(inputs)["weather"].tolist() == [("hot", "windy"), ()]
    answers = predictor.answer(inputs)
    assert answers[0]["predictions"]["weather"]["labels"] == ["hot", "windy"]
    assert answers[1]["predictions"]["weather"]["name"] == ""
    shares = predictor.predict_proba(inputs)["weather"]
    assert shares.shape == (2, 3)
    assert (shares[0] > 0.5).tolist() == [True, False, True]


def test_one_estimator_learns_labels_a_class_and_a_number(tmp_path):
    draws = np.random.default_rng(0).normal(size=(300, 3))
    sets = np.empty(300, dtype=object)
    sets[:] = [tuple(np.array(NAMES)[row > 0.3].tolist()) for row in draws]
    y = pandas.DataFrame({"sets": sets, "side": draws[:, 0] > 0, "wind": draws[:, 2]})
    model = HypersphericalMultiTask(
        tasks=["labels", hp.Classes.fit(np.array([False, True])), "number"],
        calibrate=True,
        random_state=0,
    ).fit(draws, y)
    assert model.tasks_ == ["labels", "classes", "number"]
    assert model.score(draws, y) > 0.9
    assert set(model.predict(draws)[0, 0]) <= set(NAMES)
    assert model.predict_proba(draws)[0].shape == (300, 3)
    model.save(tmp_path / "model")
    again = hp.load(tmp_path / "model", HypersphericalMultiTask)
    assert (again.predict(draws) == model.predict(draws)).all()
    model.export(tmp_path / "exported", draws)
    inside = Predictor(tmp_path / "exported").conformal_sets(draws)["sets"]
    assert (inside == model.conformal_sets(draws)["sets"]).mean() > 0.999
    assert inside[model.targets_["sets"].encode(sets) > 0].mean() > 0.9


def test_sets_hold_the_stated_share_of_the_labels_of_an_example():
    generator = np.random.default_rng(0)
    shares = generator.uniform(size=(4000, 5)) ** 2
    masks = (generator.uniform(size=shares.shape) < shares).astype(float)
    masks[0] = np.nan
    sets = ConformalSets.fit(shares[:2000], masks[:2000], 0.8)
    inside, true = sets.sets(shares[2000:]), masks[2000:] > 0
    recall = (inside & true).sum(axis=1) / np.maximum(true.sum(axis=1), 1)
    assert 0.8 < np.where(true.any(axis=1), recall, 1).mean() < 0.85
    assert ConformalSets.fit(shares[1:4], masks[1:4], 0.9).threshold == math.inf
