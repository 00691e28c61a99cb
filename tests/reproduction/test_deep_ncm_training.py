"""Class means in training: the same over processes, and the same after a break."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from reproduction.deep_ncm import DeepNCM
from tests.reproduction import two_means
from tests.training.conftest import make_blobs, make_network

ROOT = Path(__file__).parents[2]


def test_two_processes_keep_the_means_that_one_keeps(tmp_path):
    two_means.main(str(tmp_path / "one"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "tests.reproduction.two_means",
        str(tmp_path / "two"),
        str(port),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    one, first, second = (
        torch.load(tmp_path / name, weights_only=True) for name in ("one.0", "two.0", "two.1")
    )
    for name, alone in one.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], alone, atol=1e-5, rtol=1e-5)
    assert one["online.heads.0.seen"].sum() == 2 * 38  # two epochs, 13 of 51 labels missing
    assert one["online.heads.0.means"].any()


def fit(folder, mean, *, stop_after=-1, **settings):
    """Train, and ask to stop after so many steps."""
    space = DeepNCM(3, {"kind": hp.Classes(["a", "b", "c"])}, mean=mean, condense_every=3)
    observe, seen = space.observe, []

    def counted(z, targets):
        observe(z, targets)
        seen.append(len(z))
        if len(seen) == stop_after:
            signal.raise_signal(signal.SIGINT)

    space.observe = counted
    blobs = make_blobs()
    data = blobs.inputs, {"kind": blobs.targets["kind"]}
    return hp.fit(
        make_network(),
        space,
        data,
        valid=data,
        epochs=3,
        batch_size=30,
        reduction="sum",
        lr=0.01,
        folder=folder,
        **settings,
    )


@pytest.mark.parametrize("mean", two_means.FORMS)
@pytest.mark.parametrize(
    "stop_after", [4, 6]
)  # at the end of the first epoch, and within the second
def test_a_run_that_was_stopped_ends_in_the_same_bits(tmp_path, mean, stop_after):
    whole = fit(tmp_path / "whole", mean)
    with pytest.raises(KeyboardInterrupt, match="Continue with resume=True"):
        fit(tmp_path / "run", mean, stop_after=stop_after)
    again = fit(tmp_path / "run", mean, resume=True)
    for part in ("network", "space"):
        expected, found = getattr(whole, part).state_dict(), getattr(again, part).state_dict()
        assert expected
        for name in expected:
            assert torch.equal(expected[name], found[name]), name
    for name in (
        "last.safetensors",
        "best.safetensors",
        "checkpoint.safetensors",
        "epochs.jsonl",
        "config.json",
    ):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_it_learns_and_comes_back(tmp_path):
    run = fit(tmp_path / "run", "decay")
    assert run.metrics["kind/accuracy"] > 0.9
    with pytest.raises(InputError) as caught:
        hp.load(tmp_path / "run", network=make_network(seed=3))
    assert caught.value.argument == "space"
    fresh = DeepNCM(3, {"kind": hp.Classes(["a", "b", "c"])}, mean="decay", condense_every=3)
    _, space = hp.load(tmp_path / "run", network=make_network(seed=3), space=fresh)
    assert torch.equal(space.means, run.space.means)
    assert space.options == run.space.options
