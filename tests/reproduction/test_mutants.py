"""Mistakes that once went unnoticed: each would change what the records are of."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import reproduction.run_cell as running
from hyperproto import Range
from hyperproto.baselines import ConventionalSpace
from reproduction.cell import at_scale, paper_cell
from reproduction.placements import cell_prototypes
from reproduction.records import pack, unpack
from reproduction.run_cell import run_cell
from tests.reproduction.helpers import NAMES, find

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=3, prototypes="one-hot")
SMALL = at_scale(CIFAR, "smoke")


def test_no_cell_of_the_paper_normalizes_features():
    for name in NAMES:
        if name.startswith("beyond-"):
            continue
        for entry in find(name).entries("full"):
            options = entry.cell.run.network.backbone_options
            assert not options.get("feature_norm"), (name, entry.row)


def test_a_seed_fixes_the_weights_and_another_one_others(small_places, monkeypatch):
    built = []
    fit = running.fit

    def note(network, *arguments, **options):
        built.append(torch.cat([p.detach().flatten() for p in network.parameters()]).clone())
        return fit(network, *arguments, **options)

    monkeypatch.setattr(running, "fit", note)
    for number, seed in enumerate((0, 0, 1)):
        places = replace(small_places, runs=small_places.runs / f"weights-{number}")
        run_cell(SMALL.but(epochs=1).with_seed(seed), places)
    assert torch.equal(built[0], built[1])
    assert not torch.equal(built[0], built[2])


def test_a_record_is_of_the_last_epoch_and_of_every_test_image(small_places):
    cell = SMALL.but(epochs=4, lr=0.01, schedule="constant")
    record = run_cell(cell, replace(small_places, runs=small_places.runs / "last"))
    accuracies = [epoch["valid"]["class/accuracy"] for epoch in record["epochs"]]
    assert max(accuracies) > accuracies[-1], "the test needs a run that gets worse"
    assert record["measures"]["class/accuracy"] == accuracies[-1]
    last = record["epochs"][-1]["valid"]
    outcomes = {name: unpack(text) for name, text in record["outcomes"].items()}
    assert len(outcomes["class/accuracy"]) == record["protocol"]["test"]
    assert outcomes["class/accuracy"].mean() == pytest.approx(last["class/accuracy"])


def test_a_prior_has_all_components_of_the_word_vectors(small_places, monkeypatch):
    """Their first D alone are the word2vec baseline, not the prior."""
    seen = []
    from reproduction import placements

    def note(path):
        seen.append(path.name)
        return np.eye(5, 5)

    monkeypatch.setattr(placements, "read_npy", note)
    authors = small_places.authors
    np.save(authors / "sem" / "cifar100-5d-5c.npy", np.eye(5))
    np.save(authors / "sem" / "cifar100-3d-5c.npy", np.eye(5, 3))
    for kind in ("paper-prior", "paper-prior-5", "ours-prior"):
        cell = paper_cell(reader="cifar-100", dim=3, prototypes=kind, placement_steps=2)
        cell_prototypes(cell, 5, 3, ["a", "b", "c", "d", "e"], small_places)
    assert set(seen) == {"cifar100-5d-5c.npy"}


def test_outcomes_come_back():
    generator = np.random.default_rng(0)
    bits = generator.random(1_001) < 0.3
    assert np.array_equal(unpack(pack(bits)), bits)
    errors = generator.random(77) * 900
    np.testing.assert_allclose(unpack(pack(errors)), errors, rtol=1e-3)


def test_the_spread_of_errors_is_that_of_all_test_images():
    """More than are measured at once."""
    numbers = torch.linspace(0, 9, 1_300)
    space = ConventionalSpace(number=Range(0, 9))
    run = SimpleNamespace(network=torch.nn.Linear(1, 1), space=space)
    with torch.no_grad():
        run.network.weight.fill_(0.5)
        run.network.bias.fill_(0.1)
    data = numbers[:, None] / 9, {"number": numbers}
    (errors,) = running._test_outcomes(run, data).values()
    np.testing.assert_allclose(errors, abs(4.5 * numbers / 9 + 0.9 - numbers), atol=1e-5)
