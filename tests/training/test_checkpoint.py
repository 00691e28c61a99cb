"""A moment of training as one file."""

import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.training.checkpoint import Checkpoint, TrainState, read_checkpoint
from hyperproto.training.steps import LossSum, Machine
from tests.training.conftest import make_network


def make_parts(space, *, scaler=None, rank=0, seed=0):
    network = make_network(seed=seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    machine = Machine(torch.device("cpu"), rank, scaler=scaler)
    return TrainState(network, space, optimizer, machine, 0)


def step(parts):
    parts.network(torch.rand(5, 4)).square().sum().backward()
    parts.optimizer.step()
    parts.optimizer.zero_grad()


def test_a_moment_comes_back_from_its_file(tmp_path, blob_space):
    with torch.random.fork_rng():
        parts, watch = make_parts(blob_space), LossSum(1, every=50)
        step(parts)
        watch.add(torch.tensor(0.1))  # pending losses belong to the moment too
        history = [{"epoch": 0, "loss": 1 / 3, "valid": {"mae": float("nan")}}]
        parts.take(watch, epoch=1, step=7, history=history).save(tmp_path / "moment")
        step(parts)
        wanted, drawn = parts.network[0].weight.clone(), torch.rand(3)
        moment = read_checkpoint(tmp_path / "moment")
        other, again = make_parts(blob_space, seed=5), LossSum(1, every=50)
        other.restore(moment, again)
        step(other)
        assert torch.equal(other.network[0].weight, wanted)
        assert torch.equal(torch.rand(3), drawn)
    assert moment.position == (1, 7)
    assert (again.total, again.steps) == (watch.total, 1)
    assert moment.state["history"][0]["loss"] == 1 / 3
    assert moment.state["history"][0]["valid"]["mae"] != moment.state["history"][0]["valid"]["mae"]


def test_a_checkpoint_with_one_other_byte_is_refused(tmp_path, blob_space):
    path = tmp_path / "moment"
    make_parts(blob_space).take(None, epoch=1, step=7, history=[]).save(path)
    whole = path.read_bytes()
    read_checkpoint(path)
    for place in (len(whole) - 1, len(whole) - 100, whole.index(b'\\"step\\": 7') + 10):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError) as caught:
            read_checkpoint(path)
        assert caught.value.rule == "have the bytes it was written with"


def test_momentum_lies_in_memory_as_its_parameter_does(blob_space):
    parts = make_parts(blob_space)
    parts.network[0] = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    parameter = parts.network[0].weight
    parts.optimizer.add_param_group({"params": [parameter]})
    parts.optimizer.state[parameter]["momentum_buffer"] = torch.randn(4, 3, 3, 3)
    moment = parts.take(None, epoch=0, step=0, history=[])
    parts.restore(moment)
    assert parts.optimizer.state[parameter]["momentum_buffer"].stride() == parameter.stride()


def test_the_scale_of_half_precision_comes_back(blob_space):
    with torch.random.fork_rng():
        parts = make_parts(blob_space, scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
        moment = parts.take(None, epoch=0, step=0, history=[])
        other = make_parts(blob_space, scaler=torch.amp.GradScaler("cpu", init_scale=2.0))
        other.restore(moment)
    assert other.machine.scaler.state_dict()["scale"] == 1024.0


def test_another_number_of_processes_shares_the_losses_and_gets_streams_of_its_own(blob_space):
    with torch.random.fork_rng():
        moment = make_parts(blob_space).take(None, epoch=0, step=4, history=[])
        both = Checkpoint(moment.tensors, {**moment.state, "watch": [[2.0, 4], [6.0, 4]]})
        watch = LossSum(0, every=1)
        make_parts(blob_space).restore(both, watch)
        assert (watch.total, watch.steps) == (4.0, 4)
        make_parts(blob_space, rank=1).restore(moment)
        drawn = torch.rand(3)
        make_parts(blob_space, rank=2).restore(moment)
        assert not torch.equal(torch.rand(3), drawn)
