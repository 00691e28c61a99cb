"""Losses, spaces and placements of later papers and of trials, next to slow obvious versions of them."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional

import hyperproto as hp
from hyperproto import Classes, Prototypes
from hyperproto._core.errors import InputError
from hyperproto.baselines import space_from_dict
from reproduction.batch_negatives import NONL, NTCE
from reproduction.cauchy import CauchySoftmax
from reproduction.descents import equiangular_descent, gaussian_descent
from reproduction.learned import ArcFace, CosFace, LearnedClasses
from reproduction.reassignment import ReassignedSpace
from tests.losses.test_heavy_tails import batch
from tests.reproduction.helpers import find
from tests.training.conftest import make_blobs, make_network

OUTPUTS = torch.randn(12, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
CODE = functional.normalize(torch.randn(5, 4, generator=torch.Generator().manual_seed(1))).double()
LABELS = torch.arange(12) % 5


@pytest.mark.parametrize("loss", [NTCE(0.2), NONL(0.2)])
def test_the_prototype_of_a_row_is_compared_with_the_rows_of_the_batch(loss):
    u, expected = functional.normalize(OUTPUTS), []
    for row, label in enumerate(LABELS.tolist()):
        others = [
            math.exp(float(CODE[label] @ u[other]) / 0.2)
            for other in range(len(u))
            if loss.name == "ntce" or LABELS[other] != label
        ]
        expected.append(math.log(sum(others)) - float(CODE[label] @ u[row]) / 0.2)
    torch.testing.assert_close(
        loss(OUTPUTS, CODE, LABELS), torch.tensor(expected, dtype=torch.float64)
    )


def test_a_batch_of_one_class_has_a_finite_loss():
    z = OUTPUTS.clone().requires_grad_()
    NONL()(z, CODE, torch.zeros(len(z), dtype=torch.long)).sum().backward()
    assert z.grad.isfinite().all()


def test_a_loss_over_a_batch_takes_class_ids():
    with pytest.raises(InputError) as error:
        NTCE()(OUTPUTS, CODE, torch.full((12, 5), 0.2))
    assert error.value.argument == "Targets of a loss over a batch"


@pytest.mark.parametrize("loss", [ArcFace(scale=8.0), CosFace(scale=8.0)])
def test_a_margin_counts_against_the_own_class_alone(loss):
    """As in pytorch-metric-learning 2.9."""
    cosines = functional.normalize(OUTPUTS) @ CODE.mT
    expected = []
    for row, label in enumerate(LABELS.tolist()):
        logits = cosines[row].clone()
        if loss.name == "cosface":
            logits[label] -= 0.35
        else:
            angle, margin = float(logits[label].acos()), math.radians(28.6)
            behind = math.cos(angle) - margin * math.sin(margin)
            logits[label] = math.cos(angle + margin) if angle <= math.pi - margin else behind
        expected.append(functional.cross_entropy(8 * logits, LABELS[row]))
    torch.testing.assert_close(loss(OUTPUTS, CODE, LABELS), torch.stack(expected))


def test_an_angle_beyond_pi_less_the_margin_still_gives_a_gradient():
    z = torch.tensor([[-1.0, 0.05]], requires_grad=True)
    ArcFace()(z, torch.eye(2), torch.tensor([0])).sum().backward()
    assert z.grad[0, 1] > 0  # a step leads away from the wrong class


def test_learned_vectors_follow_their_classes():
    torch.manual_seed(0)
    space = LearnedClasses(4, Classes(5), CosFace(scale=8.0))
    z = OUTPUTS.float()
    descent = torch.optim.SGD(space.parameters(), lr=1.0)
    before = space.loss(z, LABELS).item()
    for _ in range(200):
        descent.zero_grad()
        space.loss(z, LABELS).backward()
        descent.step()
    assert space.loss(z, LABELS).item() < before
    (head,) = space.heads
    nearest = (functional.normalize(z) @ functional.normalize(head.vectors).mT).argmax(dim=1)
    assert torch.equal(space.predict(z), nearest)


def test_learned_classes_are_one_task():
    with pytest.raises(InputError) as error:
        LearnedClasses(4, {"a": Classes(2), "b": Classes(2)}, CosFace())
    assert error.value.argument == "Learned classes"


def reassigned():
    code = Prototypes.from_tensor(CODE, method="a test")
    return ReassignedSpace(4, Classes(code, loss="paper"))


def test_classes_go_where_their_outputs_are():
    space, goal = reassigned(), torch.tensor([3, 0, 4, 1, 2])
    for _ in range(3):
        space.observe(CODE[goal].float(), torch.arange(5))
    space.begin_epoch(0)
    torch.testing.assert_close(space.prototypes.vectors, CODE)
    space.begin_epoch(1)
    torch.testing.assert_close(space.prototypes.vectors, CODE[goal])
    assert torch.equal(space.predict(CODE[goal].float()), torch.arange(5))


def test_a_direction_turns_by_the_weights_of_the_authors_code():
    space = reassigned()
    first, second = torch.eye(4)[:1], torch.tensor([[0.0, 2.0, 0.0, 0.0]])
    space.observe(first, torch.tensor([2]))
    space.observe(second, torch.tensor([2]))
    expected = functional.normalize(torch.tensor([1.9, 0.1, 0.0, 0.0]), dim=0).double()
    torch.testing.assert_close(space.directions[2], expected)
    assert not space.directions[[0, 1, 3, 4]].any()


def test_a_stored_space_goes_on_with_its_match():
    space, again = reassigned(), reassigned()
    space.observe(CODE.flip(0).float(), torch.arange(5))
    space.begin_epoch(1)
    again.load_state_dict(space.state_dict())
    assert torch.equal(again.predict(OUTPUTS.float()), space.predict(OUTPUTS.float()))


def test_the_potential_of_pairs_falls():
    points = gaussian_descent(20, 3, seed=0)
    start = np.random.default_rng(0).standard_normal((20, 3))
    start /= np.linalg.norm(start, axis=1, keepdims=True)

    def potential(rows):
        return np.exp(4 * (rows @ rows.T - 1))[~np.eye(20, dtype=bool)].mean()

    assert potential(points) < 0.8 * potential(start)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)


def test_cosines_of_either_sign_are_bounded():
    points = equiangular_descent(12, 6, seed=0)
    largest = np.abs(points @ points.T - np.eye(12)).max()
    assert math.sqrt(6 / (6 * 11)) <= largest < 0.5


def test_every_row_is_there_in_every_number_of_dimensions():
    places = {(entry.row, entry.column) for entry in find("beyond-successors").entries("head")}
    rows = {row for row, _ in places}
    assert len(rows) == 17
    assert len(places) == 3 * 17 - 1  # softmax of rank 100 is softmax
    cells = [entry.cell for entry in find("beyond-successors").entries("head")]
    assert {cell.run.train.reduction for cell in cells} == {"mean"}


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
