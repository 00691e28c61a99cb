"""The page on files has every file that is written, and every key in it."""

import csv
import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

import hyperproto as hp
from hyperproto import spec
from hyperproto.cli.main import main
from hyperproto.codes import Certificate, PriorAgreement
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.estimators.store import Description, Features
from hyperproto.evaluation import ClassChange, add_classes, confidence
from hyperproto.hub import HubModel
from hyperproto.runtime import model, tables
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.training import run
from reproduction.records import Record
from tests.evaluation.conftest import write_numbers

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
TOLD = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))
STORED = {
    "Prototypes": (Certificate, PriorAgreement),
    "A run": (
        *(
            spec.DataSpec,
            spec.NetworkSpec,
            spec.SpaceSpec,
            spec.TrainSettings,
            spec.RunSpec,
            run.RunConfig,
        ),
        *(run.EpochRecord, run.EpochTime, ClassChange, ImagePreprocessing, confidence.Calibration),
        *(confidence.TaskCalibration, confidence.Temperature, confidence.Rejection),
        *(confidence.ConformalSets, confidence.ConformalInterval),
    ),
    "An estimator": (Description, Features, hp.data.Standardizer),
    "An exported model": (
        model.Model,
        model.InputForm,
        model.TaskForm,
        model.FileForm,
        tables.ColumnCode,
    ),
    "Records and reports": (Record,),
}
NAMED = {"params", "versions", "measures", "valid", "options", "backbone_options", "files", "loss"}


@pytest.mark.parametrize("title", STORED)
def test_a_section_has_every_field_that_is_stored(title):
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1]
    told = set(re.findall(r"[`\"](\w+)[`\"]", section))
    stored = {field.name for kind in STORED[title] for field in fields(kind)}
    assert stored - told == set()


def keys(value, inside=""):
    """Return the keys of what a JSON file holds, but for those that are names of tasks, measures
    and so on.
    """
    if isinstance(value, list):
        return {key for one in value for key in keys(one, inside)}
    if not isinstance(value, dict):
        return set()
    below = {key for name, one in value.items() for key in keys(one, name)}
    by_name = inside in NAMED or (inside in ("tasks", "predictions") and "name" not in value)
    return below if by_name else below | {key for key in value if "/" not in key}


def test_every_file_and_key_that_is_written_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers(tmp_path / "numbers.csv", n=60)
    write_numbers(tmp_path / "more.csv", n=60, seed=1)
    options = ["--classes", "side", "--range", "height", "--epochs", "2"]
    main(["train", "--data", "numbers.csv", *options, "--folder", "run"])
    main(["calibrate", "run", "--data", "more.csv", "--reject", "0.1"])
    main(["export", "run", "-o", "model"])
    for name in ("answers.csv", "answers.json"):
        main(["predict", "run", "more.csv", "-o", name])
    HubModel("run").save_pretrained("published")
    add_classes("run", torch.randn(3, 2), ["up"] * 3, how="mean", folder="changed")
    rows, labels = np.random.default_rng(0).normal(size=(60, 4)), np.resize(["cat", "dog"], 60)
    fitted = HypersphericalClassifier(epochs=1, calibrate=True, replay=2, random_state=0)
    fitted.fit(rows, labels).save("estimator")
    hp.place(3, 2).save("placed.safetensors")

    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path]
    assert len(written) > 20
    for path in written:
        assert re.sub(r"\.\d+\.", ".N.", path.name) in TOLD, path
        if path.suffix == ".json":
            found = json.loads(path.read_text(encoding="utf-8"))
            assert keys(found) - set(found.get("network") or {}) <= TOLD, path
    told = {column.replace("TASK", task) for column in TOLD for task in ("side", "height")}
    with (tmp_path / "answers.csv").open() as file:
        assert set(next(csv.reader(file))) - {"side/2/probability"} <= told
    assert keys(json.loads((tmp_path / "answers.json").read_text())) <= TOLD
    with safe_open("placed.safetensors", "pt") as file:
        assert {
            *file.keys(),
            *file.metadata(),
            *keys(json.loads(file.metadata()["prototypes"])),
        } <= TOLD
