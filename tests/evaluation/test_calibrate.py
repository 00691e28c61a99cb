import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.evaluation import Calibration, calibrate_run, evaluate_run, open_run, predict_files
from hyperproto.evaluation.calibrate import fit_calibration
from hyperproto.evaluation.confidence import (
    ConformalInterval,
    TaskCalibration,
    Temperature,
    uncalibrated,
)
from hyperproto.metrics import calibration_error
from tests.evaluation.conftest import write_images, write_numbers
from tests.training.conftest import make_blobs, make_network


@pytest.fixture
def images(image_run, tmp_path):
    """A copy of a run that may be written to, and held-out images."""
    folder = shutil.copytree(image_run.folder, tmp_path / "run")
    return folder, write_images(tmp_path / "held", n=10, seed=7)


@pytest.fixture
def table(table_run, tmp_path):
    return shutil.copytree(table_run.folder, tmp_path / "run"), write_numbers(
        tmp_path / "held.csv", n=60, seed=7
    )


def test_a_calibration_is_written_and_read_back(table):
    folder, data = table
    found = calibrate_run(folder, data, coverage=0.8, reject=0.1)
    assert found.examples == 60
    assert set(found.tasks) == {"side", "height"}
    assert Calibration.from_dict(json.loads((folder / "calibration.json").read_text())) == found
    assert open_run(folder).calibration == found
    assert open_run(folder, which="best").calibration is None  # those are other weights
    assert set(found.measures) == {
        *(f"side/{key}" for key in ("ece_before", "ece", "coverage", "set_size", "rejection")),
        *(f"height/{key}" for key in ("coverage", "width")),
    }
    assert not list(folder.glob(".*.part"))


def test_a_run_that_is_not_calibrated_answers_as_before(table):
    folder, data = table
    assert open_run(folder).calibration is None
    answer = predict_files(folder, [data]).rows[0]["predictions"]
    assert set(answer["side"]) == {"name", "cosine", "top"}
    assert isinstance(answer["height"], float)
    found = evaluate_run(folder, data)
    assert not found.calibrated
    assert found.tasks["height"].confidence is None
    assert np.isnan(found.tasks["side"].confidence.coverage)


def test_the_calibration_error_without_a_calibration_is_that_of_the_loss(table):
    folder, data = table
    network, space = hp.load(folder)
    inputs, targets = _inputs(data, network, space, folder)
    sure, predicted = space.probabilities(network(inputs))["side"].max(dim=1)
    expected = calibration_error(sure, predicted == targets)
    assert evaluate_run(folder, data).tasks["side"].confidence.calibration_error == pytest.approx(
        expected, abs=1e-6
    )


def test_predictions_of_a_calibrated_run_have_confidence(table):
    folder, data = table
    found = calibrate_run(folder, data, coverage=0.8, reject=0.2)
    network, space = hp.load(folder)
    inputs, _ = _inputs(data, network, space, folder)
    z = network(inputs).detach()
    logits = space.probabilities(z)["side"].log()  # but for what no softmax sees
    probabilities = found.tasks["side"].probabilities(logits)
    interval, unknown = found.tasks["height"].interval, 0
    names = space.tasks["side"].names
    for place, row in enumerate(predict_files(folder, [data]).rows):
        side, height = row["predictions"]["side"], row["predictions"]["height"]
        guesses = {guess["name"]: guess["probability"] for guess in side["top"]}
        assert [guesses[name] for name in names] == pytest.approx(probabilities[place], abs=1e-5)
        assert side["probability"] == side["top"][0]["probability"]
        assert side["set"][0] == names[probabilities[place].argmax()]
        assert side["name"] == ("unknown" if side["unknown"] else side["top"][0]["name"])
        unknown += side["unknown"]
        assert height["low"] <= height["value"] <= height["high"] + 1e-5  # in single precision
        assert height["low"] == pytest.approx(
            max(height["value"] - interval.radius, interval.low), abs=1e-4
        )
    assert 0 < unknown <= 0.2 * 60


def test_evaluation_measures_the_promises(table, tmp_path):
    folder, data = table
    calibrate_run(folder, data, coverage=0.8, reject=0.2)
    found = evaluate_run(folder, data)
    assert (found.calibrated, found.fitted_here) == (True, True)
    sets, intervals = (found.tasks[name].confidence for name in ("side", "height"))
    assert (sets.stated_coverage, sets.stated_rejection, intervals.stated_coverage) == (
        0.8,
        0.2,
        0.8,
    )
    assert sets.coverage >= 0.8  # on what it was fitted on
    assert 1 <= sets.set_size <= 2
    assert sets.rejection == pytest.approx(
        11 / 60
    )  # 61 * 0.8 = 48.8: the 49th of 60 scores is let in still
    assert 48 / 60 <= intervals.coverage <= 49 / 60 + 1e-9  # the 49th may be lost to rounding
    other = evaluate_run(folder, write_numbers(tmp_path / "other.csv", n=30, seed=9))
    assert (other.calibrated, other.fitted_here) == (True, False)
    assert (
        json.loads(json.dumps(other.to_dict(), allow_nan=False))["tasks"]["side"]["confidence"][
            "stated_coverage"
        ]
        == 0.8
    )


def test_unknown_images_are_measured_against_known_ones(images, tmp_path):
    folder, data = images
    rng = np.random.default_rng(0)
    strange = tmp_path / "strange"
    write_images(strange, ("dark",), n=3)
    for path in strange.rglob("*.png"):
        from PIL import Image

        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    found = evaluate_run(folder, data, unknown=strange).unknown["class"]
    assert (found["known"], found["unknown"]) == (30, 3)
    assert all(0 <= found[name] <= 1 for name in ("auroc", "fpr_at_95", "aupr", "oscr"))
    assert np.isnan(found["rejection"])
    calibrate_run(folder, data, reject=0.1)
    again = evaluate_run(folder, data, unknown=strange).unknown["class"]
    assert 0 <= again["rejection"] <= 1
    same = evaluate_run(folder, data, unknown=data).unknown["class"]
    assert same["auroc"] == pytest.approx(0.5)


def test_rows_of_a_table_can_be_unknown(table, tmp_path):
    folder, data = table
    path = tmp_path / "strange.csv"
    path.write_text("a,b\n0,0\n0.01,0\n")  # between left and right
    found = evaluate_run(folder, data, unknown=path).unknown["side"]
    assert (found["known"], found["unknown"]) == (60, 2)
    assert found["auroc"] > 0.6


def test_a_calibration_for_other_weights_or_of_another_form_is_refused(table):
    folder, data = table
    calibrate_run(folder, data)
    held = json.loads((folder / "calibration.json").read_text())
    for change, sentence in {
        "weights": "must be fitted for the weights of its run; got others. Calibrate the run again",
        "format": "must have the format hyperproto.calibration/2; got 2",
        "tasks": "must be complete and unchanged .`tasks` must be a mapping",
        "sets": "must be complete and unchanged .A ConformalSets must be described by its fields",
        "task": 'must be about the tasks of its run; got "sides". Calibrate the run again',
    }.items():
        edited = json.loads(json.dumps(held))
        if change == "weights":
            edited["origin"]["weights"] = "0"
        elif change == "sets":
            edited["tasks"]["side"]["sets"] = "oracle"
        elif change == "task":
            edited["tasks"]["sides"] = edited["tasks"].pop("side")
        else:
            edited[change] = {"format": 2, "tasks": []}[change]
        (folder / "calibration.json").write_text(json.dumps(edited))
        with pytest.raises((ValueError, TypeError), match=sentence):
            _ = open_run(folder).calibration
    (folder / "calibration.json").write_text('"sides"')
    with pytest.raises(InputError) as caught:
        _ = open_run(folder).calibration
    assert caught.value.got == "a str"
    (folder / "calibration.json").write_text("{")
    with pytest.raises(ValueError, match="not readable as JSON"):
        _ = open_run(folder).calibration


def test_a_calibration_is_read_with_infinity_as_null():
    sets = {"threshold": None, "coverage": 0.8}
    side = {"model": {"scale": 3.5}, "sets": sets, "outlier": "strength", "longest": None}
    stored = {
        "format": "hyperproto.calibration/2",
        "origin": {"data": "held", "split": "all", "which": "last", "weights": "0"},
        "examples": 60,
        "measures": {"side/ece": 0.1},
        "tasks": {
            "side": {**side, "rejection": {"threshold": -0.5, "rate": 0.1}},
            "height": {
                "interval": {"radius": 3.2, "coverage": 0.8, "low": -10.0, "high": 10.0},
            },
        },
    }
    found = Calibration.from_dict(stored)
    assert found.tasks["side"].model == Temperature(3.5)
    assert found.tasks["side"].sets.threshold == np.inf
    assert found.tasks["height"].interval == ConformalInterval(3.2, 0.8, -10, 10)
    assert found.to_dict()["tasks"]["side"] == stored["tasks"]["side"] | {"interval": None}
    assert found.measures == {"side/ece": 0.1}


def test_mistakes_get_a_sentence(table, image_run, tmp_path):
    folder, data = table
    blobs, space = make_blobs(20), hp.Space(3, hp.Range(-5, 5))
    fit = partial(fit_calibration, make_network(), space)
    missing = torch.full((20,), torch.nan)
    for refused, argument, got in (
        (lambda: calibrate_run(folder, data, coverage=90), "coverage", "90"),
        (
            lambda: calibrate_run(folder, (torch.zeros(3, 2), {})),
            "Data to calibrate on",
            "none",
        ),
        (
            lambda: evaluate_run(folder, data, unknown=tmp_path / "none"),
            f'"{tmp_path / "none"}"',
            "nothing",
        ),
        (lambda: fit((blobs.inputs, blobs.targets["size"]), reject=0.1), "reject", 0.1),
        (lambda: fit((blobs.inputs, missing)), "Data to calibrate on", "none"),
    ):
        with pytest.raises((ValueError, FileNotFoundError)) as info:
            refused()
        assert (info.value.argument, info.value.got) == (argument, got)
    assert not (folder / "calibration.json").exists()


def test_missing_labels_do_not_count_and_one_unnamed_task_is_called_target():
    blobs = make_blobs(40)
    labels = blobs.targets["kind"].clone()
    labels[25:] = -1
    space = hp.Space(3, hp.Classes(3))
    whole = fit_calibration(make_network(), space, (blobs.inputs, labels), reject=0.2)
    part = fit_calibration(make_network(), space, (blobs.inputs[:25], labels[:25]), reject=0.2)
    assert whole == part
    assert (list(whole.tasks), whole.examples) == (["target"], 25)
    assert set(whole.measures) == {"ece_before", "ece", "coverage", "set_size", "rejection"}
    few = fit_calibration(make_network(), space, (blobs.inputs[:10], labels[:10]))
    assert few.measures == {}


def test_bare_probabilities_are_those_of_the_loss():
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    for loss, scale in ((hp.losses.CosineSoftmax(scale=7), 7), ("paper", 10)):
        space = hp.Space(3, hp.Classes(3, loss=loss))
        expected = (scale * space.scores(z)).softmax(dim=1)
        torch.testing.assert_close(space.probabilities(z), expected)
        assert uncalibrated(space)["target"].model == Temperature(1.0)
    assert uncalibrated(space)["target"].outlier == "strength"
    free = hp.Space(3, hp.Classes(3))
    torch.testing.assert_close(
        free.probabilities(z), (z @ free.prototypes.vectors.float().T).softmax(dim=1)
    )
    conventional = uncalibrated(hp.baselines.ConventionalSpace(hp.Classes(3)))["target"]
    assert conventional == TaskCalibration(Temperature(1.0), outlier="entropy")
    assert uncalibrated(hp.Space(3, hp.Range(0, 1))) == {}


def test_numbers_get_intervals_within_their_bounds():
    blobs = make_blobs(40)
    space = hp.Space(3, hp.Range(-5, 5))
    fitted = fit_calibration(make_network(), space, (blobs.inputs, blobs.targets["size"]))
    found = fitted.tasks["target"].interval
    assert (found.low, found.high) == (-5, 5)


def _inputs(path, network, space, folder):
    """Inputs of a table as the network takes them, and the classes, worked out by hand."""
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    preprocessing = json.loads((folder / "config.json").read_text())["preprocessing"]
    rows = torch.tensor([[float(cell) for cell in line[:2]] for line in lines])
    scaling = {name: torch.tensor(values) for name, values in preprocessing["scaling"].items()}
    inputs = (rows - scaling["mean"]) / scaling["scale"]
    return inputs, space.encode(
        {"side": [line[2] for line in lines], "height": [0.0] * len(lines)}
    )["side"]


def test_no_class_of_a_run_is_called_what_rejected_inputs_are_called():
    space, network = hp.Space(3, hp.Classes(["known", "unknown", "other"])), make_network()
    with pytest.raises(ValueError, match='no class called "unknown"') as info:
        fit_calibration(network, space, make_blobs(), reject=0.1)
    assert info.value.argument == 'Task "target"'
