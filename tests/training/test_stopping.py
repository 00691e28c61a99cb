"""The best epoch, patience, and the logs."""

import math

import pytest
import torch
from safetensors.torch import load_file

import hyperproto as hp
from hyperproto.training import loop
from hyperproto.training.run import best_epoch, out_of_patience
from tests.training.conftest import make_blobs, make_network


def history(*values, name="accuracy"):
    return [{"valid": {name: value}} for value in values]


def test_the_first_of_the_best_epochs_is_the_best():
    assert best_epoch(history(0.1, 0.5, 0.5, 0.3)) == 1
    assert best_epoch(history(9.0, 2.0, 4.0, name="size/mae")) == 1
    assert best_epoch(history(math.nan, None, 0.0)) == 2
    assert best_epoch(history(math.nan, math.nan)) is None
    assert best_epoch([{"valid": {}}]) is None
    with pytest.raises(
        ValueError, match='Unknown measure to monitor "acuracy".*Did you mean "accuracy"'
    ):
        best_epoch(history(0.1), "acuracy")


def test_the_best_epoch_of_several_tasks_is_chosen_over_all_of_them():
    measured = [(0.80, 24.7), (0.79, 8.7), (0.60, 8.6)]
    several = [{"valid": {"sex/accuracy": a, "fare/mae": error}} for a, error in measured]
    assert best_epoch(several) == 1
    assert best_epoch(several, "sex/accuracy") == 0
    # the unit of a number does not count, nor a task without labels
    scaled = [
        {"valid": {"sex/accuracy": a, "fare/mae": e / 1e6, "x/mae": None}} for a, e in measured
    ]
    assert best_epoch(scaled) == 1


def test_patience_counts_epochs_since_the_best():
    assert not out_of_patience(history(0.5, 0.4), None, 2)
    assert out_of_patience(history(0.5, 0.4, 0.4), None, 2)
    assert not out_of_patience(history(0.5, 0.4, 0.6), None, 2)
    assert out_of_patience(history(math.nan, math.nan), None, 2)
    assert not out_of_patience(history(0.5, 0.4, 0.4), None, None)


@pytest.fixture
def scripted(monkeypatch):
    """Validation that returns what a list says."""

    def script(*values):
        left = list(values)

        def evaluate(*args, **kwargs):
            return {"kind/accuracy": left.pop(0), "size/mae": 1.0}

        monkeypatch.setattr("hyperproto.training.loop.evaluate", evaluate)

    return script


def test_a_run_ends_when_patience_does(blobs, blob_space, tmp_path, scripted):
    scripted(0.1, 0.6, 0.5, 0.6, 0.9)
    folder = tmp_path / "run"
    run = hp.fit(
        make_network(), blob_space, blobs, valid=blobs, epochs=9, patience=2, folder=folder
    )
    assert len(run.history) == 4
    assert run.best["epoch"] == 1


def test_the_best_weights_are_those_of_the_best_epoch(blobs, blob_space, tmp_path, monkeypatch):
    seen, measured = [], [0.2, 0.9, 0.3]

    def evaluate(network, *args, **kwargs):
        seen.append(network[0].weight.detach().clone())
        return {"accuracy": measured[len(seen) - 1]}

    monkeypatch.setattr(loop, "evaluate", evaluate)
    hp.fit(make_network(), blob_space, blobs, valid=blobs, epochs=3, folder=tmp_path / "run")
    network, _ = hp.load(tmp_path / "run", which="best", network=make_network())
    assert torch.equal(network[0].weight, seen[1])
    network, _ = hp.load(tmp_path / "run", network=make_network())
    assert torch.equal(network[0].weight, seen[2])


def test_a_measure_that_will_not_be_there_is_named_before_the_first_step(
    blobs, blob_space, tmp_path
):
    with pytest.raises(
        ValueError,
        match='Unknown measure to monitor "size/accuracy". Choose from: "kind/accuracy", "si',
    ):
        hp.fit(
            make_network(),
            blob_space,
            blobs,
            valid=blobs,
            epochs=1,
            monitor="size/accuracy",
            folder=tmp_path / "r",
        )
    assert not (tmp_path / "r").exists()


def test_which_weights_to_load_is_checked(blobs, blob_space, tmp_path):
    hp.fit(make_network(), blob_space, blobs, epochs=1, folder=tmp_path / "run")
    with pytest.raises(
        FileNotFoundError, match="must hold weights; .* may have had no validation data"
    ):
        hp.load(tmp_path / "run", which="best", network=make_network())
    with pytest.raises(ValueError, match='Unknown weights "beste"'):
        hp.load(tmp_path / "run", which="beste", network=make_network())


def test_a_run_can_end_with_the_weights_of_its_best_epoch(blobs, blob_space, tmp_path):
    settings = {"valid": make_blobs(seed=1), "epochs": 4, "lr": 1.0, "monitor": "size/mae"}
    stored, kept = make_network(), make_network()
    run = hp.fit(stored, blob_space, blobs, folder=tmp_path / "run", **settings)
    hp.fit(kept, blob_space, blobs, restore_best=True, **settings)
    again = make_network(seed=3)
    hp.fit(
        again,
        blob_space,
        blobs,
        restore_best=True,
        folder=tmp_path / "run",
        resume=True,
        **settings,
    )
    stored_best = load_file(tmp_path / "run" / "best.safetensors")
    assert best_epoch(run.history, "size/mae") is not None
    for name, weights in kept.state_dict().items():
        assert torch.equal(weights, stored_best[f"network.{name}"])
        assert torch.equal(weights, again.state_dict()[name])
    with pytest.raises(
        ValueError, match="`restore_best` must be left out where there is no validation data"
    ):
        hp.fit(kept, blob_space, blobs, epochs=1, restore_best=True)


def test_a_run_is_written_in_a_line(blobs, blob_space, tmp_path):
    run = hp.fit(make_network(), blob_space, blobs, valid=blobs, epochs=2, folder=tmp_path / "run")
    assert repr(run).startswith("<Run: 2 epochs, kind/accuracy ")
    assert repr(run).endswith(f'in "{tmp_path / "run"}">')
