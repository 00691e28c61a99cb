import pytest
import torch

import hyperproto as hp
from hyperproto.evaluation import predict_split
from tests.training.conftest import make_blobs, make_network


@pytest.mark.parametrize("batch_size", [1, 7, 20, 100])
def test_every_example_is_answered_once_in_order_whatever_the_batch(batch_size):
    space, network, blobs = hp.Space(3, kind=hp.Classes(3), size=hp.Range(-1, 1)), make_network(), make_blobs(20)
    found = predict_split(network, space, blobs, batch_size=batch_size)
    with torch.no_grad():
        whole = space.predict(network(blobs.inputs))
    assert found.examples == 20
    assert torch.equal(found.tasks["kind"].predicted, whole["kind"])
    torch.testing.assert_close(found.tasks["size"].predicted, whole["size"])
    assert torch.equal(found.tasks["kind"].targets, blobs.targets["kind"])
    assert found.measures == hp.evaluate(network, space, blobs, batch_size=batch_size)


def test_the_best_classes_are_those_of_a_full_sort_and_begin_with_the_prediction():
    prototypes = hp.Prototypes.random(40, 4)
    space, z = hp.Space(4, hp.Classes(prototypes)), torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    answers = predict_split(torch.nn.Identity(), space, (z, torch.zeros(9, dtype=torch.int64)), top=5).tasks["target"]
    scores = space.scores(z)
    assert answers.top.shape == (9, 5)
    assert torch.equal(answers.top_scores, scores.sort(dim=1, descending=True).values[:, :5])
    assert torch.equal(answers.top[:, 0], answers.predicted)


def test_of_very_many_classes_no_score_for_every_pair_is_made(monkeypatch):
    space = hp.Space(4, hp.Classes(hp.Prototypes.random(40, 4)))
    data = torch.randn(9, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(9, dtype=torch.int64)
    few = predict_split(torch.nn.Identity(), space, data, top=5).tasks["target"]
    monkeypatch.setattr("hyperproto.spaces.space.MANY_SCORES", 300)
    monkeypatch.setattr("hyperproto.spaces.space.PrototypeHead.scores", None)
    many = predict_split(torch.nn.Identity(), space, data, top=5).tasks["target"]
    assert torch.equal(few.top, many.top)
    assert torch.equal(few.predicted, many.predicted)
    torch.testing.assert_close(few.top_scores, many.top_scores)


def test_equal_scores_never_put_another_class_before_the_prediction():
    space = hp.baselines.ConventionalSpace(hp.Classes(50))
    answers = predict_split(
        torch.nn.Identity(), space, (torch.zeros(3, 50), torch.zeros(3, dtype=torch.int64)), top=2
    )
    held = answers.tasks["target"]
    assert torch.equal(held.top[:, 0], held.predicted)
    assert (held.top[:, 0] != held.top[:, 1]).all()


def test_the_mode_of_the_network_is_put_back_and_no_gradient_kept():
    network = make_network().train()
    found = predict_split(network, hp.Space(3, size=hp.Range(-1, 1)), (torch.randn(5, 4), {}))
    assert network.training
    assert not found.tasks["size"].predicted.requires_grad
    assert found.measures == {}
    assert found.tasks["size"].targets is None
