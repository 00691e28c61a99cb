"""Each kind of target goes from a table to predictions without torch, by the command line."""

import json

import numpy as np

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.estimators import HypersphericalMultiTask
from hyperproto.runtime import Predictor
from tests.data.layouts import write_csv

NAMES = np.array(["poor", "fair", "good", "great", "superb"])


def test_an_angle_and_grades_go_from_a_table_to_predictions_without_torch(tmp_path, capsys):
    inputs = np.random.default_rng(0).normal(size=(400, 3))
    wind = np.degrees(np.arctan2(inputs[:, 0], inputs[:, 1])) % 360
    ranks = np.digitize(inputs[:, 2] + 0.3 * inputs[:, 0], [-1, -0.3, 0.3, 1])
    rows = zip(*inputs.T, wind, NAMES[ranks], strict=True)
    table = write_csv(
        tmp_path / "days.csv", ["a", "b", "c", "wind", "air"], [[*map(str, row)] for row in rows]
    )
    run, model = str(tmp_path / "run"), str(tmp_path / "model")
    asked = ["--angle", "wind=360", "--grades", f"air={','.join(NAMES)}"]
    main(["train", "--table", str(table), *asked, "--epochs", "15", "--folder", run])
    main(["calibrate", run])
    main(["export", run, "-o", model])
    capsys.readouterr()
    main(["evaluate", run, "--json"])
    found = json.loads(capsys.readouterr().out)
    for metric in ("wind/mae", "air/rank_error"):
        assert found["measures"][metric] < found["baseline"][metric] / 3
    assert found["measures"]["air/kappa"] > 0.9
    assert found["tasks"]["wind"]["confidence"]["coverage"] > 0.8

    predictor = Predictor(model)
    asked_for = [dict(zip("abc", row, strict=True)) for row in inputs.tolist()]
    predicted = predictor.predict(asked_for)
    apart = np.abs((predicted["wind"] - wind + 180) % 360 - 180)
    assert np.median(apart) < 5
    assert (predicted["wind"] < 360).all()
    assert (predicted["air"] == NAMES[ranks]).mean() > 0.8


def test_an_angle_learned_on_doubles_is_exported(tmp_path):
    inputs = np.random.default_rng(0).normal(size=(200, 2))
    wind = np.degrees(np.arctan2(inputs[:, 0], inputs[:, 1])) % 360
    model = HypersphericalMultiTask(tasks=[hp.Angle()], epochs=2, random_state=0)
    model.fit(inputs, wind[:, None]).export(tmp_path / "model", inputs)
    found = Predictor(tmp_path / "model").predict(inputs)["0"]
    np.testing.assert_allclose(found, model.predict(inputs)[:, 0], rtol=1e-4)
