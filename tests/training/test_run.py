import copy
import json

import pytest
import torch
from safetensors.torch import load_file

import hyperproto as hp
from hyperproto.data import load_digits
from hyperproto.models import DigitNet
from tests.training.conftest import make_blobs, make_network


@pytest.fixture
def digits():
    train, held = load_digits(seed=0)
    return (train.inputs[:64], train.targets[:64]), (held.inputs[:32], held.targets[:32])


def test_a_run_is_a_folder_and_comes_back_in_one_line(tmp_path, digits):
    torch.manual_seed(0)
    train, valid = digits
    space = hp.Space(4, hp.Classes([str(i) for i in range(10)]))
    run = hp.fit(DigitNet(4, width=4), space, train, valid=valid, epochs=2, folder=tmp_path / "run")
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {
        "config.json",
        "prototypes.0.safetensors",
        "epochs.jsonl",
        "times.jsonl",
        "last.safetensors",
        "best.safetensors",
        "checkpoint.safetensors",
        "metrics.json",
    }
    lines = [
        json.loads(line) for line in (tmp_path / "run" / "epochs.jsonl").read_text().splitlines()
    ]
    assert lines == run.history
    assert json.loads((tmp_path / "run" / "metrics.json").read_text()) == run.metrics
    network, loaded = hp.load(tmp_path / "run")
    assert not network.training
    assert loaded.decode(torch.tensor([3])) == ["3"]
    assert torch.equal(loaded.prototypes.vectors, space.prototypes.vectors)
    with torch.no_grad():
        assert torch.equal(network(valid[0]), run.network.eval()(valid[0]))
    assert hp.evaluate(network, loaded, valid) == run.metrics


def test_convolutions_of_ours_lie_channels_last_and_are_stored_as_ever(tmp_path, digits):
    torch.manual_seed(0)
    train, _ = digits
    plain = DigitNet(4, width=4)
    twin = copy.deepcopy(plain)
    space = hp.Space(4, hp.Classes(10))
    settings = {"epochs": 2, "batch_size": 16, "lr": 0.001}
    hp.fit(plain, space, train, folder=tmp_path / "run", **settings)
    weight = plain.layers[3].weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(
        load_file(tmp_path / "run" / "last.safetensors")["network.layers.3.weight"], weight
    )
    assert hp.load(tmp_path / "run").network.layers[3].weight.stride() == weight.stride()
    owned = torch.nn.Sequential(
        twin.layers
    )  # a user's own: left alone, and the same training to rounding
    hp.fit(owned, space, train, **settings)
    assert owned[0][3].weight.is_contiguous()
    torch.testing.assert_close(owned[0][3].weight, weight.contiguous(), atol=1e-5, rtol=1e-4)


def test_loading_never_places_again(tmp_path, blobs, monkeypatch):
    space = hp.Space(4, kind=hp.Classes(3), size=hp.Range(-1, 1, margin=0.25))
    hp.fit(make_network(4), space, blobs, epochs=1, folder=tmp_path / "run")

    def placed(*args, **kwargs):
        raise AssertionError("placed again")

    monkeypatch.setattr("hyperproto.prototypes.place", placed)
    _, loaded = hp.load(tmp_path / "run", network=make_network(4, seed=9))
    assert torch.equal(loaded.prototypes["kind"].vectors, space.prototypes["kind"].vectors)
    assert loaded.tasks["size"] == space.tasks["size"]
    assert loaded.tasks["size"].margin == 0.25


def test_a_network_of_ones_own_is_passed_in(tmp_path, blobs, blob_space):
    run = hp.fit(make_network(), blob_space, blobs, epochs=1, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="`network` must be given for"):
        hp.load(tmp_path / "run")
    network, _ = hp.load(tmp_path / "run", network=make_network(seed=3))
    for loaded, trained in zip(network.parameters(), run.network.parameters(), strict=True):
        assert torch.equal(loaded, trained)
    with pytest.raises(ValueError, match="The weights must fit the network given"):
        hp.load(tmp_path / "run", network=make_network(7))


def test_a_baseline_comes_back_too(tmp_path, digits):
    train, _ = digits
    space = hp.baselines.ConventionalSpace(hp.Classes(10))
    hp.fit(DigitNet(10, width=4), space, train, epochs=1, folder=tmp_path / "run", lr=1e-4)
    _, loaded = hp.load(tmp_path / "run")
    assert isinstance(loaded, hp.baselines.ConventionalSpace)
    assert loaded.dim == 10


def test_a_folder_that_is_taken_or_cannot_be_written_gets_a_sentence(tmp_path, blobs, blob_space):
    def attempt(folder):
        hp.fit(make_network(), blob_space, blobs, epochs=1, folder=folder)

    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("")
    with pytest.raises(
        ValueError, match="must be new or empty; got one with files. Choose another"
    ):
        attempt(tmp_path / "taken")
    attempt(tmp_path / "run")
    with pytest.raises(ValueError, match="Continue the run in it with resume=True"):
        attempt(tmp_path / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="must be a folder; got a file"):
        attempt(tmp_path / "file")
    with pytest.raises(ValueError, match="cannot be written"):
        attempt("/proc/no-such-place")
    (tmp_path / "empty").mkdir()
    attempt(tmp_path / "empty")


def test_folders_that_hold_no_run_get_a_sentence(tmp_path, blobs, blob_space):
    with pytest.raises(FileNotFoundError, match='must hold a run; got no "config.json"'):
        hp.load(tmp_path)
    hp.fit(make_network(), blob_space, blobs, epochs=1, folder=tmp_path / "run")
    weights = tmp_path / "run" / "last.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(ValueError, match="must be a readable safetensors file"):
        hp.load(tmp_path / "run", network=make_network())
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text()[:40])
    with pytest.raises(ValueError, match="is not readable as JSON"):
        hp.load(tmp_path / "run", network=make_network())
    config.write_text("[1, 2]")
    with pytest.raises(ValueError, match="got a file without a format"):
        hp.load(tmp_path / "run", network=make_network())
    config.write_text('{"format": "hyperproto.run/3"}')
    with pytest.raises(
        ValueError, match="must be complete and unchanged .`network` must be given for a RunConfig"
    ):
        hp.load(tmp_path / "run", network=make_network())
    config.write_text('{"format": "other/7"}')
    with pytest.raises(ValueError, match="must be a run of format hyperproto.run/3; got other/7"):
        hp.load(tmp_path / "run", network=make_network())


def test_the_wider_regression_is_trained_with_the_network_and_comes_back(tmp_path):
    torch.manual_seed(0)
    space = hp.baselines.ConventionalSpace(hp.Range(-1, 1), width=3, clamp="train")
    before = space.heads[0].layer.weight.clone()
    blobs = make_blobs()
    data = blobs.inputs, blobs.targets["size"]
    run = hp.fit(
        make_network(3), space, data, valid=data, epochs=2, lr=0.003, folder=tmp_path / "run"
    )
    assert not torch.equal(before, space.heads[0].layer.weight)
    network, loaded = hp.load(tmp_path / "run", network=make_network(3, seed=4))
    assert hp.evaluate(network, loaded, data) == run.metrics
