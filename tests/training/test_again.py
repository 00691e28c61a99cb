"""A training that learned nothing is done once more, from other weights; noise is not."""

import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import nn

import hyperproto as hp
from hyperproto.data import describe_data
from hyperproto.estimators import HypersphericalClassifier, HypersphericalRegressor
from hyperproto.spec import NetworkSpec, RunSpec, TrainSettings
from hyperproto.training import read_run, resume_run, train
from hyperproto.training.again import least_constant
from hyperproto.training.build import build_network
from tests.data.layouts import write_csv

HIDDEN = {"hidden": [8], "norm": "none", "skip": False}
NOTHING = "Nothing was learned, from two seeds"


class Builder:
    """Builds a network with a hidden layer, whose first ``dead`` ones answer all inputs alike."""

    def __init__(self, dead):
        self.dead, self.seeds = dead, []

    def __call__(self, out_dim, shape):
        self.seeds.append(torch.initial_seed())
        hidden = nn.Linear(shape[0], 8)
        if len(self.seeds) <= self.dead:
            nn.init.constant_(hidden.bias, -1e6)
        return nn.Sequential(hidden, nn.ReLU(), nn.Linear(8, out_dim))


def two_blobs(n=200):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize("kind", [HypersphericalClassifier, HypersphericalRegressor])
@pytest.mark.parametrize("dead", [0, 1, 2])
def test_an_estimator_tries_another_seed_once_and_says_where_that_fails(kind, dead):
    build, (X, y) = Builder(dead), two_blobs()
    model = kind(backbone=build, epochs=40, random_state=0)
    y = y if kind is HypersphericalClassifier else X[:, 0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    caught = [each for each in caught if NOTHING in str(each.message)]
    assert [each.category for each in caught] == [ConvergenceWarning] * (dead == 2)
    assert len(set(build.seeds)) == len(build.seeds) == min(2, dead + 1)
    assert (model.score(X, y) > 0.75) == (dead < 2)
    assert len(model.history_) == model.settings_.epochs


@pytest.mark.parametrize("n", [40, 1000])
def test_pure_noise_and_rare_classes_are_trained_once(n):
    rng, build = np.random.default_rng(0), Builder(0)
    X, y = rng.normal(size=(n, 4)), rng.random(n)
    for kind, target in (
        (HypersphericalClassifier, y > 0.9),
        (HypersphericalClassifier, y > 0.5),
        (HypersphericalRegressor, y),
    ):
        kind(backbone=build, random_state=0).fit(X, target)
    assert len(build.seeds) == 3


def test_the_least_loss_of_a_constant_is_the_entropy_of_the_classes():
    space = hp.Space(3, hp.Classes(3))
    ids = torch.tensor([0] * 5 + [1] * 3 + [2] * 2)
    found = least_constant(lambda z: space.loss(z, ids), torch.randn(10, 3))
    share = torch.tensor([0.5, 0.3, 0.2])
    assert found == pytest.approx(float(-(share * share.log()).sum()), abs=1e-5)


@pytest.fixture
def kill(monkeypatch):
    """Kill the first networks that are built for a run."""
    built = []

    def build(*arguments, **options):
        network = build_network(*arguments, **options)
        if len(built) < build.dead:
            network.layers[0].bias.data -= 1e6
        built.append(options["seed"])
        return network

    def set_number(dead):
        build.dead = dead
        built.clear()
        return built

    monkeypatch.setattr(sys.modules["hyperproto.training.train"], "build_network", build)
    return set_number


@pytest.fixture
def spec(tmp_path):
    X, y = two_blobs()
    rows = [[*map(str, row), "ab"[kind]] for row, kind in zip(X, y, strict=True)]
    write_csv(tmp_path / "blobs.csv", ["x", "y", "z", "kind"], rows)
    network = NetworkSpec(backbone="mlp", backbone_options=HIDDEN)
    data = describe_data(tmp_path / "blobs.csv", classes=["kind"])
    return RunSpec(data=data, network=network, train=TrainSettings(seed=5, epochs=40))


def test_a_run_is_trained_again_in_its_folder_and_resumed_from_anywhere(spec, kill, tmp_path):
    built, said = kill(1), []
    run = train(spec, tmp_path / "a", say=said.append, progress=False)
    assert len(set(built)) == 2
    assert run.metrics["kind/accuracy"] > run.baseline["kind/accuracy"] + 0.1
    stored = read_run(tmp_path / "a")
    assert stored.history == run.history
    assert stored.spec.train.seed == 5 != stored.settings["seed"]

    def stop(record):
        if len(built) == 2 and record["epoch"] == 3:
            raise KeyboardInterrupt

    kill(1)
    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "b", progress=False, callbacks=[stop])
    assert resume_run(tmp_path / "b", progress=False).history == run.history
    unlink = Path.unlink
    for last in ("metrics.json", "checkpoint.safetensors", "prototypes.0.safetensors"):

        def cut_off(path, last=last, **options):
            unlink(path, **options)
            if path.name == last:
                raise KeyboardInterrupt

        kill(1)
        with patch.object(Path, "unlink", cut_off), pytest.raises(KeyboardInterrupt):
            train(spec, tmp_path / last, progress=False)
        kill(int(last != "metrics.json"))  # the first network is built again, or in its checkpoint
        assert resume_run(tmp_path / last, progress=False).history == run.history, last
    for name in ("config.json", "last.safetensors", "epochs.jsonl", "metrics.json"):
        content = [(tmp_path / each / name).read_bytes() for each in ("a", "b", last)]
        assert content[0] == content[1] == content[2], name
    assert not any(NOTHING in sentence for sentence in said)


def test_a_run_that_fails_twice_says_so(spec, kill, tmp_path):
    built, said = kill(2), []
    train(spec, tmp_path / "run", say=said.append, progress=False)
    assert len(built) == 2
    assert sum(NOTHING in sentence for sentence in said) == 1
    resume_run(tmp_path / "run", say=said.append, progress=False)
    assert len(built) == 2
    assert sum(NOTHING in sentence for sentence in said) == 2
