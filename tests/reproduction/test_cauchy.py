"""Cauchy softmax against its formula, and what is stored with it."""

import math
import subprocess
import sys

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.baselines import space_from_dict
from reproduction.cauchy import CauchySoftmax
from tests.losses.test_heavy_tails import batch
from tests.training.conftest import make_blobs, make_network


def slow_cauchy(z, prototypes, label, power, width):
    """The formula for one output, class by class."""
    u = z / z.norm()
    kernels = [(1 + width - float(u @ p)) ** -power for p in prototypes]
    return -math.log(kernels[label] / sum(kernels))


def test_cauchy_softmax_is_its_formula(generator):
    z, prototypes, labels = batch(9, 5, 4, generator)
    rows = CauchySoftmax(power=3.0, width=0.1)(z, prototypes, labels)
    slow = [
        slow_cauchy(row, prototypes, int(k), 3.0, 0.1)
        for row, k in zip(z.detach(), labels, strict=True)
    ]
    torch.testing.assert_close(
        rows.detach(), torch.tensor(slow, dtype=torch.float64), rtol=1e-12, atol=1e-12
    )


def test_gradients_agree_with_differences_and_nothing_is_infinite(generator):
    z, prototypes, labels = batch(5, 3, 4, generator)
    assert torch.autograd.gradcheck(lambda z: CauchySoftmax()(z, prototypes, labels), (z,))
    z = torch.tensor([[3.0, 0.0], [-2.0, 0.0], [0.0, 0.0]], requires_grad=True)
    ends = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    rows = CauchySoftmax()(z, ends, torch.tensor([0, 0, 1]))
    rows.sum().backward()
    assert rows.isfinite().all()
    assert z.grad.isfinite().all()
    assert rows[0] < rows[1]
    with pytest.raises(InputError, match="`width`"):
        CauchySoftmax(width=0)


def test_a_space_with_it_is_described_and_rebuilt():
    space = hp.Space(3, hp.Classes(6, loss=CauchySoftmax(power=5.0)))
    again = space_from_dict(space.to_dict(), {"target": space.prototypes})
    assert again.tasks["target"].loss == CauchySoftmax(power=5.0)


def test_without_the_reproduction_a_run_asks_for_its_space(tmp_path):
    space = hp.Space(3, kind=hp.Classes(3, loss=CauchySoftmax(width=0.3)))
    data, folder = make_blobs(), tmp_path / "run"
    examples = data.inputs, {"kind": data.targets["kind"]}
    hp.fit(make_network(), space, examples, epochs=1, folder=folder)
    _, loaded = hp.load(folder, network=make_network())
    assert loaded.to_dict() == space.to_dict()
    load = f"""
import hyperproto as hp, torch
from hyperproto._core.errors import InputError
try:
    hp.load({str(folder)!r}, network=torch.nn.Linear(2, 3))
except InputError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=True)
    assert told.stdout == (
        f'`space` must be given for "{folder}", whose loss "cauchy_softmax" is not one of hyperproto.\n'
    )
