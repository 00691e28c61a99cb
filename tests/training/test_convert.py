"""What version 0.1 wrote is refused with the command that converts it, and good
as new afterwards.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tools.convert_runs import convert_estimator, convert_prototypes, convert_run, nested_spec

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.codes.measure import max_cosine
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.evaluation import open_run
from hyperproto.spec import SpaceSpec
from hyperproto.training import read_run, resume_run

FILES = Path(__file__).parent / "format_1"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A run that ``hyperproto train`` wrote before descriptions of runs were nested, next to its
    table.
    """
    shutil.copytree(FILES, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    return Path("run")


def test_a_run_of_the_first_format_is_refused_and_loaded_after_it_is_converted(old, capsys):
    with pytest.raises(
        ValueError, match=r"format hyperproto.run/3; got hyperproto.run/1. .*convert_runs.py run"
    ):
        hp.load(old)
    convert_run(old)
    network, space = hp.load(old)
    assert (network.name, space.names) == ("mlp", ("way", "amount"))
    record = read_run(old)
    assert (record.spec.data.reader, record.spec.network.backbone) == ("table", "mlp")
    assert hp.evaluation.evaluate_run(old).measures == pytest.approx(record.metrics)
    main(["evaluate", "run"])
    assert "way/accuracy" in capsys.readouterr().out
    with pytest.raises(
        SystemExit, match="is of format hyperproto.run/3; expected hyperproto.run/1 or"
    ):
        convert_run(old)


def test_a_loss_loses_the_option_that_it_no_longer_has(old):
    config = json.loads((old / "config.json").read_text())
    (task,) = [task for task in config["space"]["tasks"] if task["task"] == "classes"]
    task["loss"] = {
        "name": "sampled_cosine_softmax",
        "scale": 8.0,
        "negatives": 3,
        "kind": "hardest",
    }
    (old / "config.json").write_text(json.dumps(config))
    convert_run(old)
    assert hp.load(old).space.tasks["way"].loss == hp.losses.SampledCosineSoftmax(8.0, 3)


def test_an_unfinished_run_is_resumed_to_its_end_with_its_own_preprocessing(old):
    config = json.loads((old / "config.json").read_text())
    config["settings"]["epochs"] = config["recipe"]["epochs"] = 4
    (old / "config.json").write_text(json.dumps(config))
    (old / "metrics.json").unlink()
    convert_run(old)
    run = resume_run(old)
    assert [record["epoch"] for record in run.history] == [0, 1, 2, 3]
    record = read_run(old)
    assert record.finished
    assert record.preprocessing["scaling"]["scale"] == config["preprocessing"]["std"]
    before = json.loads((FILES / "run" / "epochs.jsonl").read_text().splitlines()[0])
    assert run.history[0] == before


def test_a_run_of_the_second_format_is_resumed_with_the_mean_in_its_gaps(old, tmp_path):
    """Written as hyperproto.run/2 is: nested, with the mean and the deviation of columns of
    numbers.
    """
    before = json.loads((old / "config.json").read_text())["preprocessing"]
    rows = (tmp_path / "old" / "numbers.csv").read_text().splitlines()
    rows[1] = f",{rows[1].partition(',')[2]}"  # a gap in the first column
    (tmp_path / "old" / "numbers.csv").write_text("\n".join(rows) + "\n")
    convert_run(old)
    config = json.loads((old / "config.json").read_text())
    config |= {"format": "hyperproto.run/2", "preprocessing": before}
    (old / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ValueError, match=r"got hyperproto.run/2. Convert it: python tools/convert_runs.py run"
    ):
        hp.load(old)
    convert_run(old)
    source = open_run(old).read_source()
    column = before["columns"].index(rows[0].split(",")[0])
    inputs = torch.cat([source.train.inputs, source.test.inputs])
    assert inputs.shape == (
        len(rows) - 1,
        len(before["columns"]),
    )  # and none that says what was empty
    assert float((inputs[:, column] - before["mean"][column]).abs().min()) < 1e-6


def test_an_estimator_of_the_second_format_is_converted(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 1, 4, 4))
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(X, X[:, 0, 0, 0] > 0)
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    described = json.loads(path.read_text())
    inputs = {name: [[values]] for name, values in described["inputs"].items()}
    described |= {"format": "hyperproto.estimator/2", "inputs": inputs, "multitask": {}}
    path.write_text(json.dumps(described))
    with pytest.raises(
        ValueError, match=r"got hyperproto.estimator/2. Convert it: python tools/convert_runs.py"
    ):
        hp.load(tmp_path / "model")
    convert_estimator(tmp_path / "model")
    np.testing.assert_array_equal(hp.load(tmp_path / "model").predict(X), model.predict(X))


def test_a_flat_recipe_becomes_a_description():
    recipe = {
        "data": {"reader": "table", "path": "/t.csv", "options": {"classes": ["way"], "size": 16}},
        "protocol": "short",
        "backbone": "mlp",
        "backbone_options": {"hidden": [8]},
        "space": "composite",
        "dim": 5,
        "loss": "free",
        "margin": None,
        "prototypes": None,
        "prior": "examples",
        "prior_missing": "free",
        "epochs": 3,
        "seed": 4,
        "valid_share": 0.25,
        "skip_corrupt": True,
    }
    spec = nested_spec(recipe)
    assert (spec.network.backbone, spec.train.epochs, spec.train.seed) == ("mlp", 3, 4)
    assert (spec.data.reader, spec.data.valid_share, spec.data.skip_corrupt) == (
        "table",
        0.25,
        True,
    )
    assert (spec.data.image_size, spec.data.options) == (16, {"classes": ["way"]})
    assert spec.space == SpaceSpec(
        kind="composite", dim=5, loss="free_norm_softmax", prior="data", missing="free"
    )


def test_prototypes_of_the_first_format_are_converted(tmp_path):
    """Written by version 0.1 with a prior, a reserved point and the names its
    certificate had then.
    """
    path = shutil.copy(
        Path(__file__).parents[1] / "prototypes" / "files" / "format_1.safetensors", tmp_path / "p"
    )
    with pytest.raises(
        ValueError, match="must be a prototype file of format hyperproto.prototypes/2.*convert_runs"
    ):
        hp.Prototypes.load(path)
    convert_prototypes(path)
    read = hp.Prototypes.load(path)
    assert torch.equal(read.vectors, load_file(path)["vectors"])
    assert read.certificate.max_cosine == pytest.approx(max_cosine(read.vectors.numpy()))
    assert read.names == ("cat", "dog", "car", "bus")
    assert read.certificate.prior_agreement.prior == "vectors (4 of 4 classes)"
