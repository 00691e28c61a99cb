"""Classes at the ends of a tree: levels never contradict each other, and mistakes are cheap."""

import json

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.cli.main import main
from hyperproto.priors import from_data
from hyperproto.priors.taxonomy import from_taxonomy
from hyperproto.tasks import task_from_dict
from tests.data.layouts import write_csv

PETS = {"pet": ["cat", "dog"], "wild": {"canine": ["wolf", "fox"], "bear": []}}
COST = [[0, 1, 3, 3, 3], [1, 0, 3, 3, 3], [3, 3, 0, 1, 2], [3, 3, 1, 0, 2], [3, 3, 2, 2, 0]]


@pytest.fixture(scope="module")
def head():
    return hp.Space(4, hp.Tree(PETS, decision="cost")).named_heads()["target"]


@pytest.fixture
def z():
    return 3 * torch.randn(200, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "given",
    [
        PETS,
        {"cat": "pet", "dog": "pet", "wolf": "canine", "fox": "canine", "canine": "wild"}
        | {"bear": "wild", "pet": "animal", "wild": "animal"},
    ],
)
def test_a_mistake_costs_as_much_as_the_tree_has_to_be_gone_up(given):
    tree = hp.Tree(given)
    order = [tree.names.index(name) for name in ("cat", "dog", "wolf", "fox", "bear")]
    assert tree.cost[np.ix_(order, order)].tolist() == COST


def test_the_probability_of_a_node_is_the_sum_of_those_of_its_children(head, z):
    shares, tree = head.node_probabilities(z), head.task
    torch.testing.assert_close(shares[:, 0], torch.ones(200))
    for node in range(len(tree.nodes)):
        children = tree.parent_ids == node
        if children.any():
            torch.testing.assert_close(shares[:, children].sum(dim=1), shares[:, node])
    classes = [tree.nodes.index(name) for name in tree.names]
    torch.testing.assert_close(shares[:, classes], head.probabilities(z))


def test_no_other_class_has_a_smaller_expected_cost(head, z):
    costs = head.probabilities(z).double() @ torch.tensor(COST, dtype=torch.float64)
    assert torch.equal(head.predict(z), costs.argmin(dim=1))
    nearest = hp.Space(4, hp.Tree(head.placed, parents=PETS, decision="nearest"))
    assert torch.equal(nearest.predict(z), head.scores(z).argmax(dim=1))


def test_it_stops_where_it_is_sure(head, z):
    shares, tree = head.node_probabilities(z), head.task
    nodes = head.sure(z, 0.6)
    assert (shares.gather(1, nodes[:, None]) > 0.6).all()
    for row, node in enumerate(nodes.tolist()):  # no node below is sure
        below = (tree.below[node] >= tree.below).all(axis=1)
        below[node] = False
        assert (shares[row, below] <= 0.6).all()


def test_subtrees_hold_the_true_class_as_often_as_stated(head):
    generator = torch.Generator().manual_seed(1)
    z = 2 * torch.randn(4000, 4, generator=generator)
    labels = torch.multinomial(head.probabilities(z), 1, generator=generator)[:, 0]
    level = head.fit_level(z[:2000], labels[:2000], 0.9)
    nodes = head.sure(z[2000:], level)
    inside = torch.from_numpy(head.task.below)[nodes, labels[2000:]]
    assert 0.88 < inside.double().mean() < 0.95
    assert nodes.unique().numel() > 3
    assert head.fit_level(z[:5], labels[:5], 0.9) == 1
    assert (head.sure(z, 1.0) == 0).all()


def test_measures_are_those_of_the_tree():
    tree, told, true = hp.Tree(PETS), torch.tensor([0, 1, 2, 4, 0]), torch.tensor([0, 0, 4, 0, -1])
    assert tree.terms(told, true) == {
        "accuracy": (1, 4),
        "level_1_accuracy": (3, 4),
        "level_2_accuracy": (1, 4),
        "distance": (6.0, 4),
        "severity": (6.0, 3),
    }
    top = torch.tensor([[0, 1], [2, 3]])
    assert tree.distance_at(top, torch.tensor([0, 4])) == pytest.approx((0 + 1 + 2 + 2) / 4)


def test_prototypes_are_nearer_the_nearer_classes_are():
    vectors = hp.Space(4, hp.Tree(PETS)).prototypes.vectors
    cosines = vectors @ vectors.mT
    assert min(cosines[0, 1], cosines[2, 3]) > cosines[:2, 2:].max()


def test_what_data_say_is_joined_with_the_tree():
    tree = hp.Tree(PETS)
    inputs = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    data = from_data(inputs, torch.arange(50) % 5, tree.names, num_classes=5, missing="free")
    joined, alone = tree.joined(data), from_taxonomy(tree.parents, tree.names)
    others = ~np.eye(5, dtype=bool)
    standard = [
        (p.similarity - p.similarity[others].mean()) / p.similarity[others].std()
        for p in (data, alone)
    ]
    assert np.corrcoef(sum(standard)[others], joined.similarity[others])[0, 1] > 1 - 1e-9
    assert hp.place(tree.names, 3, prior=joined).certificate.prior_agreement is not None


@pytest.mark.parametrize(
    ("taxonomy", "names", "got"),
    [
        (PETS, ("cat", "lion"), '"lion"'),
        (PETS, ("cat", "canine"), '"canine"'),
        ([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], None, 'two of "a"'),
    ],
)
def test_what_is_no_end_of_a_tree_is_refused(taxonomy, names, got):
    with pytest.raises(InputError) as err:
        hp.Tree(names or taxonomy, parents=names and taxonomy)
    assert err.value.got == got


def test_a_tree_is_rebuilt_from_plain_values_and_its_prototypes(head):
    again = task_from_dict(json.loads(json.dumps(head.task.to_dict())), head.placed)
    assert (again.cost == head.task.cost).all()
    assert again.nodes == head.task.nodes
    assert torch.equal(again.head(slice(0, 4), 4).prototypes, head.prototypes)


def test_a_column_of_a_table_is_a_class_of_a_tree(tmp_path, capsys):
    draws = np.random.default_rng(0).normal(size=(300, 3))
    names = np.array(["cat", "dog", "wolf", "fox"])[(draws[:, :2] > 0) @ [2, 1]]
    rows = [[*map(str, row), name] for row, name in zip(draws, names, strict=True)]
    table = write_csv(tmp_path / "animals.csv", ["size", "tail", "age", "animal"], rows)
    tree = write_csv(
        tmp_path / "tree.csv",
        ["child", "parent"],
        [pair.split() for pair in ("cat pet", "dog pet", "wolf wild", "fox wild")]
        + [["pet", "all"], ["wild", "all"]],
    )
    run = str(tmp_path / "run")
    options = ["--tree", f"animal={tree}", "--dim", "2", "--epochs", "10", "--folder", run]
    main(["train", "--table", str(table), *options])
    capsys.readouterr()
    main(["evaluate", run, "--json"])
    found = json.loads(capsys.readouterr().out)["measures"]
    assert found["animal/level_1_accuracy"] >= found["animal/accuracy"] > 0.5
