"""An optimizer, callbacks and a DataLoader of the user's own, and what resuming
promises with them.
"""

import signal

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import hyperproto as hp
from hyperproto.training.checkpoint import read_checkpoint
from tests.training.conftest import make_blobs, make_network
from tests.training.test_fit import weights

MAKERS = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, amsgrad=True),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01, momentum=0.5),
    "Adafactor": lambda parameters: torch.optim.Adafactor(parameters, lr=0.05),
}


def space_that_stops(after=None):
    """Return a space that asks to stop after so many steps."""
    space, seen = hp.Space(2, hp.Classes(3)), []

    def observe(z, targets):
        seen.append(len(z))
        if len(seen) == after:
            signal.raise_signal(signal.SIGINT)

    space.observe = observe
    return space


def rows():
    blobs = make_blobs()
    return blobs.inputs, blobs.targets["kind"]


def test_an_optimizer_takes_the_steps_that_it_would_take_by_hand():
    x, y = rows()
    network, twin, space = make_network(2), make_network(2), hp.Space(2, hp.Classes(3))
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        space.loss(twin(x), y, reduction="mean").backward()
        optimizer.step()
    settings = {"epochs": 3, "batch_size": len(x), "schedule": "constant", "reduction": "mean"}
    run = hp.fit(
        network, space, (x, y), optimizer=lambda p: torch.optim.AdamW(p, lr=0.01), **settings
    )
    torch.testing.assert_close(weights(network), weights(twin))
    assert [record["lr"] for record in run.history] == [0.01] * 3


def test_the_schedule_multiplies_the_rate_of_each_group():
    network, made = make_network(2), []

    def make(parameters):
        groups = [{"params": [p], "lr": 0.1 * (1 + i)} for i, p in enumerate(parameters)]
        made.append(torch.optim.SGD(groups))
        return made[0]

    run = hp.fit(
        network, hp.Space(2, hp.Classes(3)), rows(), epochs=10, optimizer=make, schedule="paper"
    )
    assert [group["lr"] for group in made[0].param_groups] == pytest.approx(
        [0.001, 0.002, 0.003, 0.004]
    )
    assert run.history[0]["lr"] == pytest.approx(0.1)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "stop_after", [4, 6]
)  # at the end of the first epoch, and within the second
def test_a_run_of_any_optimizer_goes_on_to_the_same_bits(name, stop_after, tmp_path):
    def fit(folder, network, **more):
        after = more.pop("after", None)
        settings = {
            "epochs": 3,
            "batch_size": 30,
            "valid": rows(),
            "optimizer": MAKERS[name],
            **more,
        }
        return hp.fit(network, space_that_stops(after), rows(), folder=folder, **settings)

    whole, again = make_network(2), make_network(2, seed=5)
    expected = fit(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", make_network(2), after=stop_after)
    run = fit(tmp_path / "run", again, resume=True)
    assert torch.equal(weights(again), weights(whole))
    assert run.history == expected.history
    with pytest.raises(
        ValueError, match=r"be resumed as it was started, with optimizer.name='torch.optim"
    ):
        fit(tmp_path / "run", again, resume=True, optimizer=torch.optim.SGD)


def test_optimizers_that_cannot_work_get_a_sentence(tmp_path):
    def fit(optimizer, **settings):
        hp.fit(
            make_network(2),
            hp.Space(2, hp.Classes(3)),
            rows(),
            epochs=1,
            optimizer=optimizer,
            **settings,
        )

    class Counting(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for parameter in self.param_groups[0]["params"]:
                self.state[parameter]["steps"] = [1]

    with pytest.raises(TypeError, match="be a function that makes one; got SGD. Pass a function"):
        fit(torch.optim.SGD(make_network().parameters(), lr=0.1))
    with pytest.raises(TypeError, match=r"return a torch.optim.Optimizer; got list"):
        fit(list)
    with pytest.raises(ValueError, match="parameters of this network and space alone; got others"):
        fit(lambda _: torch.optim.SGD(make_network().parameters(), lr=0.1))
    with pytest.raises(ValueError, match="steps without computing the loss again; got LBFGS"):
        fit(torch.optim.LBFGS)
    with pytest.raises(
        ValueError, match="`lr` must be left out with `optimizer`, which has its own; got 0.5"
    ):
        fit(torch.optim.AdamW, lr=0.5)
    fit(Counting)
    with pytest.raises(
        ValueError, match=r"keep its state in tensors, for a run to be resumed; got steps=\[1\]"
    ):
        fit(Counting, folder=tmp_path / "run")


def test_callbacks_get_every_record_once_however_often_a_run_is_resumed(tmp_path):
    seen, stored = [], []

    def fit(after=None, **more):
        def look(record):
            stored.append(read_checkpoint(tmp_path / "run" / "checkpoint.safetensors").position)
            seen.append(record["epoch"])
            record.clear()

        settings = {"epochs": 3, "batch_size": 30, "folder": tmp_path / "run", "callbacks": [look]}
        return hp.fit(make_network(2), space_that_stops(after), rows(), **settings, **more)

    with pytest.raises(KeyboardInterrupt):
        fit(after=6)
    run = fit(resume=True)
    assert seen == [0, 1, 2]
    assert stored == [(1, 0), (2, 0), (3, 0)]
    assert [record["epoch"] for record in run.history] == [0, 1, 2]
    with pytest.raises(TypeError, match="`callbacks` must be a list of functions"):
        hp.fit(make_network(2), hp.Space(2, hp.Classes(3)), rows(), callbacks=print)


def test_a_loader_brings_its_batches_and_order():
    x, y = rows()
    loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
    settings = {"epochs": 2, "valid": loader, "schedule": "constant"}
    networks = [make_network(2) for _ in range(2)]
    hp.fit(networks[0], hp.Space(2, hp.Classes(3)), loader, **settings)
    run = hp.fit(networks[1], hp.Space(2, hp.Classes(3)), (x, y), batch_size=len(x), **settings)
    torch.testing.assert_close(weights(networks[0]), weights(networks[1]))
    assert run.metrics["accuracy"] > 0.3
    sizes = []
    space = hp.Space(2, hp.Classes(3))
    space.observe = lambda z, _: sizes.append(len(z))
    hp.fit(make_network(2), space, DataLoader(TensorDataset(x, y), batch_size=50), epochs=1)
    assert sizes == [50, 50, 20]


@pytest.mark.parametrize(("stop_after", "epoch"), [(3, 0), (6, 1)])
def test_a_run_with_a_loader_goes_on_from_the_start_of_an_epoch(stop_after, epoch, tmp_path):
    def fit(folder, network, after=None, **more):
        loader = DataLoader(TensorDataset(*rows()), batch_size=30, shuffle=True)
        return hp.fit(
            network,
            space_that_stops(after),
            loader,
            epochs=3,
            folder=folder,
            checkpoint_seconds=0,
            **more,
        )

    whole, again = make_network(2), make_network(2, seed=5)
    expected = fit(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", make_network(2), stop_after)
    assert read_checkpoint(tmp_path / "run" / "checkpoint.safetensors").position == (epoch, 0)
    run = fit(tmp_path / "run", again, resume=True)
    assert torch.equal(weights(again), weights(whole))
    assert run.history == expected.history


def test_loaders_that_cannot_work_get_a_sentence(tmp_path):
    x, y = rows()
    data = TensorDataset(x, y)

    def fit(loader, network=None, **settings):
        hp.fit(network or make_network(2), hp.Space(2, hp.Classes(3)), loader, epochs=1, **settings)

    with pytest.raises(
        ValueError,
        match="`batch_size` must be left out with a DataLoader, which has its own; got 8",
    ):
        fit(DataLoader(data, batch_size=30), batch_size=8)
    own = DataLoader(data, batch_size=30, shuffle=True, generator=torch.Generator())
    fit(own)
    with pytest.raises(ValueError, match="or it could not be resumed; got a generator of its own"):
        fit(own, folder=tmp_path / "run")
    with pytest.raises(TypeError, match=r"be pairs \(inputs, targets\); got Tensor"):
        fit(DataLoader(x, batch_size=30))
    with pytest.raises(ValueError, match=r"must be class ids in \[0, 3\), .* got 7 in row 1"):
        fit(DataLoader(TensorDataset(x, y.index_fill(0, torch.tensor([1]), 7)), batch_size=30))
    normed = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2))
    with pytest.raises(ValueError, match="have no batch of one.*drop_last=True"):
        fit(DataLoader(data, batch_size=len(data) - 1), normed)
