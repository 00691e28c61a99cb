"""A run's folder may come from anywhere: a damaged or hostile one gets a sentence, and nothing it
names is run.
"""

import json
import shutil
import sys

import pytest
import torch

import hyperproto as hp
from hyperproto.data import Arrays
from hyperproto.models import create_backbone

DROP = object()


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "run"
    torch.manual_seed(0)
    data = Arrays(torch.randn(8, 4), {"kind": torch.arange(8) % 3, "size": torch.rand(8)})
    space = hp.Space(3, kind=hp.Classes(["a", "b", "c"]), size=hp.Range(0, 1))
    network = create_backbone("mlp", out_dim=3, in_features=4, hidden=[8])
    hp.fit(network, space, data, valid=data, epochs=2, folder=folder)
    return folder


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "run")


def change(folder, part, **values):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    changed = {**(config[part] or {}), **values} if values else None
    config[part] = changed and {name: value for name, value in changed.items() if value is not DROP}
    path.write_text(json.dumps(config))


OWN = dict.fromkeys(
    ("in_features", "hidden", "dropout", "norm"), DROP
)  # what only a perceptron takes


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "os:system", **OWN}, 'Unknown library .* "os"'),
        ({"name": "evil:run", **OWN}, 'Unknown library .* "evil"'),
        ({"name": "evil.Network"}, 'Unknown backbone "evil.Network"'),
        ({"name": ["mlp"]}, "Unknown backbone"),
        ({"weights": "http://example.com/weights"}, 'Unknown setting of "mlp" "weights"'),
        ({"out_dim": 10**30}, "must be at most 16777216; got 1e[+]30"),
        ({"hidden": [2**20, 2**20]}, "must have fewer weights than the"),
        ({"hidden": "abc"}, "`hidden` must be a list of whole numbers, such as .4, 4.; got 'abc'"),
        ({"in_features": -1}, "`in_features` must be at least 1"),
        ({"in_features": 5}, "The weights must fit the network given"),
        ({"name": "resnet", "depth": 6_000_002}, "must have at most 2000 layers"),
        ({"name": "resnet", "depth": "deep"}, "be what its config.json can build; got TypeError"),
    ],
)
def test_a_network_of_a_hostile_config_is_refused(folder, tmp_path, monkeypatch, values, sentence):
    (tmp_path / "evil.py").write_text("raise SystemExit('this was run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    change(folder, "network", **values)
    with pytest.raises((ValueError, TypeError), match=sentence):
        hp.load(folder)
    assert "evil" not in sys.modules


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"kind": "evil.Space"}, 'Unknown space "evil.Space"'),
        ({"dim": 10**12}, "must be at most 16777216"),
        ({"dim": None}, "The space of .* cannot be built"),
        ({"tasks": 3}, "be what its config.json can build"),
        ({"tasks": [{"name": "kind"}]}, "be what its config.json can build; got KeyError: 'task'"),
        ({"tasks": [{"name": "kind", "task": "__import__('os')"}]}, "Unknown task"),
        (
            {"tasks": [{"name": "x", "task": "range", "low": 0, "high": float("inf")}]},
            "`high` must be finite",
        ),
        ({"tasks": [{"name": "x", "task": "range", "low": 0, "high": 1, "evil": 1}]}, "TypeError"),
    ],
)
def test_a_space_of_a_hostile_config_is_refused(folder, values, sentence):
    change(folder, "space", **values)
    with pytest.raises((ValueError, TypeError), match=sentence):
        hp.load(folder)


def test_missing_prototypes_are_named_and_never_placed_again(folder, monkeypatch):
    monkeypatch.setattr("hyperproto.prototypes.place", lambda *_, **__: pytest.fail("placed again"))
    (folder / "prototypes.0.safetensors").unlink()
    with pytest.raises(
        FileNotFoundError, match='prototypes.0.safetensors" must hold the prototypes of "kind"'
    ):
        hp.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", "\udcff", ""])
def test_a_config_that_is_no_json_gets_a_sentence(folder, text):
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="is not readable as JSON"):
        hp.load(folder)


def test_the_best_weights_are_those_of_the_best_epoch(folder):
    last, best = hp.load(folder), hp.load(folder, which="best")
    assert best.space.dim == last.space.dim == 3
    (folder / "best.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="may have had no validation data"):
        hp.load(folder, which="best")
    with pytest.raises(ValueError, match='Choose from: "last", "best"'):
        hp.load(folder, which="beste")


def test_a_network_of_ones_own_is_asked_for(folder):
    change(folder, "network")
    with pytest.raises(ValueError, match="`network` must be given for"):
        hp.load(folder)
    network, _ = hp.load(
        folder, network=create_backbone("mlp", out_dim=3, in_features=4, hidden=[8])
    )
    assert not network.training
