"""The example without the library says what the library says."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.codes.measure import random_points
from hyperproto.codes.paper import paper_descent

PATH = Path(__file__).parents[2] / "examples" / "minimal.py"
ONE, LOW, HIGH = runpy.run_path(str(PATH), run_name="minimal"), 2.0, 7.0


def test_it_is_short_and_knows_only_torch_and_scikit_learn():
    text = PATH.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    imported = [
        line.split()[1] for line in text.splitlines() if line.startswith(("from", "import"))
    ]
    assert {name.partition(".")[0] for name in imported} == {"torch", "sklearn"}


def test_prototypes_descend_equation_5_as_the_librarys_do(monkeypatch):
    start = torch.tensor(random_points(10, 4, 0))
    monkeypatch.setattr(torch, "randn", lambda *size, **options: start)
    for steps in (1, 100):
        theirs = paper_descent(10, 4, seed=0, steps=steps)
        np.testing.assert_allclose(ONE["place"](10, 4, steps), theirs, rtol=0, atol=1e-9)


@pytest.fixture
def outputs():
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(50, 4, generator=generator, dtype=torch.float64).requires_grad_()
    labels = torch.randint(10, (50,), generator=generator)
    numbers = LOW + (HIGH - LOW) * torch.rand(50, generator=generator, dtype=torch.float64)
    return z, labels, numbers


def agree(z, mine, theirs):
    torch.testing.assert_close(mine, theirs)
    (one,), (other,) = (torch.autograd.grad(rows.sum(), z) for rows in (mine, theirs))
    torch.testing.assert_close(one, other)


def test_classes_are_learned_and_predicted_alike(outputs):
    z, labels, _ = outputs
    prototypes = hp.place(10, 4, method="paper", steps=20, seed=0)
    space = hp.Space(4, hp.Classes(prototypes, loss="squared_cosine"))
    mine = ONE["class_loss"](z, prototypes.vectors, labels)
    agree(z, mine, space.loss(z, labels, reduction="none"))
    assert torch.equal(ONE["predict_class"](z, prototypes.vectors), space.predict(z))


def test_numbers_are_learned_and_predicted_alike(outputs):
    z, _, numbers = outputs
    space = hp.Space(4, hp.Range(LOW, HIGH, loss="squared", margin=0.0))
    pole = torch.eye(4, dtype=torch.float64)[space.predict(torch.eye(4)).argmax()]
    mine = ONE["number_loss"](z, pole, numbers, LOW, HIGH)
    agree(z, mine, space.loss(z, numbers, reduction="none"))
    torch.testing.assert_close(ONE["predict_number"](z, pole, LOW, HIGH), space.predict(z))


def test_a_summed_loss_needs_a_smaller_rate_and_equation_1_bears_a_larger_one_than_softmax(capsys):
    equation_1, averaged, summed = ONE["main"]().values()
    assert len(capsys.readouterr().out.splitlines()) == 5
    smallest, printed, larger, largest = range(4)  # 0.001, the paper's 0.01, 0.1 and 1
    assert equation_1[printed] > averaged[printed] + 5  # as printed
    assert abs(equation_1[printed] - averaged[larger]) < 5  # softmax at its own rate
    assert summed[smallest] > averaged[smallest] + 50  # a sum is a step as many times larger
    assert equation_1[larger] > summed[larger] + 50
    assert equation_1[largest] < 30 < averaged[largest]
