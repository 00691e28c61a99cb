"""What version 0.1 wrote is refused with the command that converts it, and good as new afterwards."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tools.convert_runs import convert_prototypes, convert_run, nested_spec

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.codes.measure import max_cosine
from hyperproto.spec import SpaceSpec
from hyperproto.training import read_run, resume_run

FILES = Path(__file__).parent / "format_1"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A run that ``hyperproto train`` wrote before descriptions of runs were nested, next to its table."""
    shutil.copytree(FILES, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    return Path("run")


def test_a_run_of_the_first_format_is_refused_and_loaded_after_it_is_converted(old, capsys):
    with pytest.raises(ValueError, match=r"format hyperproto.run/2; got hyperproto.run/1. .*convert_runs.py run"):
        hp.load(old)
    convert_run(old)
    network, space = hp.load(old)
    assert (network.name, space.names) == ("mlp", ("way", "amount"))
    record = read_run(old)
    assert (record.spec.data.reader, record.spec.network.backbone) == ("table", "mlp")
    assert hp.evaluation.evaluate_run(old).measures == pytest.approx(record.metrics)
    main(["evaluate", "run"])
    assert "way/accuracy" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="is of format hyperproto.run/2; expected hyperproto.run/1"):
        convert_run(old)


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
    assert record.preprocessing["std"] == config["preprocessing"]["std"]
    before = json.loads((FILES / "run" / "epochs.jsonl").read_text().splitlines()[0])
    assert run.history[0] == before


def test_a_flat_recipe_becomes_a_description():
    recipe = {
        "data": {"reader": "table", "path": "/t.csv", "options": {"classes": ["way"]}},
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
    assert (spec.data.reader, spec.data.valid_share, spec.data.skip_corrupt) == ("table", 0.25, True)
    assert spec.space == SpaceSpec(kind="composite", dim=5, loss="free_norm_softmax", prior="data", missing="free")


def test_prototypes_of_the_first_format_are_converted(tmp_path):
    """Written by version 0.1 with a prior, a reserved point and the names its certificate had then."""
    path = shutil.copy(Path(__file__).parents[1] / "prototypes" / "files" / "format_1.safetensors", tmp_path / "p")
    with pytest.raises(ValueError, match="must be a prototype file of format hyperproto.prototypes/2.*convert_runs"):
        hp.Prototypes.load(path)
    convert_prototypes(path)
    read = hp.Prototypes.load(path)
    assert torch.equal(read.vectors, load_file(path)["vectors"])
    assert read.certificate.max_cosine == pytest.approx(max_cosine(read.vectors.numpy()))
    assert read.names == ("cat", "dog", "car", "bus")
    assert read.certificate.prior_agreement.prior == "vectors (4 of 4 classes)"
