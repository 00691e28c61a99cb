"""Several labels at once: sets are points, and the nearest of all sets is found."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score, f1_score

import hyperproto as hp
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.tasks import Labels, task_from_dict

ALL = torch.tensor(list(product([0.0, 1.0], repeat=5)))  # the sets of five labels
NAN = float("nan")


def head_of(labels, dim, **options):
    return hp.Space(dim, Labels(labels, **options)).named_heads()["target"]


@pytest.mark.parametrize("dim", [6, 9])
def test_every_set_has_a_point_of_its_own_and_is_read_off_it(dim):
    head = head_of(5, dim, loss="cosine")
    points = head.targets(ALL.double())
    assert (points @ points.mT - torch.eye(32)).triu(1).max() < 0.95
    assert torch.equal(head.predict(3 * points), ALL)


def test_the_nearest_of_all_sets_is_found_at_once():
    head = head_of(5, 6, loss="cosine")
    z = torch.randn(500, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    nearest = (z @ head.targets(ALL.double()).mT).argmax(dim=1)
    assert torch.equal(head.predict(z), ALL[nearest])


@pytest.mark.parametrize(("count", "dim", "most"), [(12, 6, 0.3), (62, 32, 0)])
def test_in_fewer_dimensions_nearly_all_small_sets_are_read_off_their_points(count, dim, most):
    head = head_of(count, dim, loss="paper")
    generator = np.random.default_rng(0)
    masks = np.zeros((300, count))
    for mask, size in zip(masks, generator.integers(1, 4, 300), strict=True):
        mask[generator.choice(count, size, replace=False)] = 1
    masks = torch.from_numpy(masks)
    wrong = (head.predict(head.targets(masks)) != masks).any(dim=1)
    assert float(wrong.double().mean()) <= most


def test_names_become_masks_and_masks_names():
    task = Labels.fit(["b;a", ["c", " a "], None, "", ("b",), NAN])
    assert task.names == ("a", "b", "c")
    masks = task.encode(["a|c", [], None, NAN])
    assert masks[:3].tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert np.isnan(masks[3]).all()
    assert task.decode(masks).tolist() == [("a", "c"), (), (), None]


def test_a_label_never_seen_is_an_error_or_its_set_is_missing():
    task = Labels(["war", "love"])
    with pytest.raises(InputError) as err:
        task.encode(["war; lave"], '"genres"')
    assert (err.value.argument, err.value.got) == ('"genres"', '"lave"')
    assert "love" in err.value.advice
    masks = task.encode(["war; lave", "war"], unseen="missing")
    assert np.isnan(masks).all(axis=1).tolist() == [True, False]


@pytest.mark.parametrize(
    ("given", "error"), [("one", InputTypeError), ([], InputError), (0, InputError)]
)
def test_labels_are_a_number_or_names(given, error):
    with pytest.raises(error) as err:
        Labels(given)
    assert err.value.argument == "labels"


def test_values_that_are_no_sets_are_refused():
    with pytest.raises(InputTypeError) as err:
        Labels.fit([3], '"age"')
    assert err.value.argument == '"age"'


def test_cosine_losses_are_zero_at_the_target_and_the_second_is_the_square_of_the_first():
    heads = {loss: head_of(5, 6, loss=loss) for loss in ("cosine", "paper")}
    points = heads["cosine"].targets(ALL.double())
    z = torch.randn(32, 6, dtype=torch.float64)
    near, far = (
        {loss: head.row_losses(rows, ALL) for loss, head in heads.items()}
        for rows in (2 * points, z)
    )
    torch.testing.assert_close(near["cosine"], torch.zeros(32, dtype=torch.float64))
    torch.testing.assert_close(far["paper"], far["cosine"] ** 2)


def test_products_rank_the_labels_of_a_set_above_no_label_and_all_others_below_it():
    head, z = head_of(5, 6, loss="products"), torch.randn(32, 6, dtype=torch.float64)
    logits = z[:, :5] - z[:, 5:]
    out, within = (logits.exp() * (1 - ALL)).sum(dim=1), ((-logits).exp() * ALL).sum(dim=1)
    torch.testing.assert_close(head.row_losses(z, ALL), (1 + out).log() + (1 + within).log())
    torch.testing.assert_close(head.probabilities(z), logits.sigmoid())
    both = head_of(5, 6).row_losses(z, ALL) - head_of(5, 6, loss="cosine").row_losses(z, ALL)
    torch.testing.assert_close(both, head.row_losses(z, ALL))


def test_a_missing_set_has_no_loss_and_no_gradient():
    space = hp.Space(6, Labels(5))
    z = torch.randn(2, 6, requires_grad=True)
    targets = torch.stack([ALL[3], torch.full((5,), NAN)])
    space.loss(z, targets).backward()
    assert z.grad[0].abs().sum() > 0
    assert z.grad[1].abs().sum() == 0


def test_a_threshold_decides_label_by_label():
    head, z = head_of(5, 6, threshold=0.5), torch.randn(9, 6)
    assert torch.equal(head.predict(z), (z[:, :5] > z[:, 5:]).float())


def test_measures_add_up_to_those_of_scikit_learn():
    task, generator = Labels(5), torch.Generator().manual_seed(0)
    true, told = (torch.randint(2, (40, 5), generator=generator).float() for _ in range(2))
    parts = [task.terms(told[rows], true[rows]) for rows in torch.arange(40).split(7)]
    found = {
        name: sum(part[name][0] for part in parts) / sum(part[name][1] for part in parts)
        for name in parts[0]
    }
    assert found["micro_f1"] == pytest.approx(f1_score(true, told, average="micro"))
    (macro,) = task.whole_metrics(told, true).values()
    assert macro == pytest.approx(f1_score(true, told, average="macro"), rel=1e-6)
    assert found["subset_accuracy"] == pytest.approx(accuracy_score(true, told))


def test_the_baseline_is_the_most_frequent_set():
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [NAN, NAN]])
    assert Labels(2).baseline(targets).tolist() == [[1, 0]] * 4


@pytest.mark.parametrize(
    ("masks", "rule"), [([[0.5, 0.0]], "0 and 1"), ([[1.0, NAN]], "0 and 1"), ([[1.0]], "shape")]
)
def test_masks_that_are_none_are_refused(masks, rule):
    with pytest.raises(InputError) as err:
        hp.Space(3, genres=Labels(2)).check({"genres": torch.tensor(masks)})
    assert err.value.argument == "genres"
    assert rule in err.value.rule


@pytest.mark.parametrize("dim", [6, 4])
def test_a_task_is_rebuilt_from_plain_values_and_its_prototypes(dim):
    space = hp.Space(dim, Labels(["a", "b", "c", "d", "e"], threshold=0.3))
    head = space.named_heads()["target"]
    again = task_from_dict(head.task.to_dict(), head.placed).head(slice(0, dim), dim)
    assert torch.equal(again.prototypes, head.prototypes)
    assert again.task.names == head.task.names
    assert again.task.threshold == 0.3


def test_sets_are_learned_beside_classes_and_numbers_and_a_run_remembers_them(tmp_path):
    X, sets = make_multilabel_classification(400, 20, n_classes=5, random_state=0)
    X = torch.from_numpy(X).float()
    X = (X - X.mean(0)) / X.std(0)
    targets = {
        "sets": torch.from_numpy(sets).float(),
        "first": torch.from_numpy(sets[:, 0]).long(),
        "sum": X.sum(dim=1),
    }
    space = hp.Space(16, sets=Labels(list("abcde")), first=hp.Classes(2), sum=hp.Number())
    network = torch.nn.Linear(20, space.dim)
    settings = hp.TrainSettings(epochs=20, lr=0.1)
    hp.fit(network, space, (X, targets), settings, folder=tmp_path / "run")
    found = hp.evaluate(network, space, (X, targets))
    trivial = Labels(5).terms(Labels(5).baseline(targets["sets"]), targets["sets"])["micro_f1"]
    assert found["sets/micro_f1"] > trivial[0] / trivial[1] + 0.2
    stored = hp.load(tmp_path / "run", network=network)
    assert hp.evaluate(*stored, (X, targets)) == found
