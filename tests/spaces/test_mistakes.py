"""Mistakes that once passed without a word, or with a misleading one."""

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.checks import MOST
from hyperproto._core.errors import InputError, InputTypeError


@pytest.mark.parametrize("loss", ["squared_cosine", "free_norm_softmax"])
@pytest.mark.parametrize("label", [4, -2])
def test_a_label_out_of_range_is_named(loss, label):
    space = hp.Space(3, hp.Classes(4, loss=loss))
    with pytest.raises(
        ValueError, match=rf"must be class ids in \[0, 4\), .* got {label} in row 1 \(1 of 2 rows\)"
    ):
        space.loss(torch.ones(2, 3), torch.tensor([0, label]))


@pytest.mark.parametrize("classes", [torch.eye(4), {"book": "travel", "pay": "bank"}, {}])
def test_what_is_neither_a_number_nor_names_is_told_apart(classes):
    with pytest.raises(
        TypeError, match="`classes` must be a number or a list of names; got .*from_tensor"
    ):
        hp.Classes(classes)


@pytest.mark.parametrize(
    ("build", "wrong", "right"),
    [
        (lambda **options: hp.Space(5, hp.Classes(10), **options), "seperate", "separate"),
        (lambda **options: hp.Space(5, kind=hp.Classes(10), **options), "separat", "separate"),
        (
            lambda **options: hp.baselines.ConventionalSpace(hp.Classes(10), **options),
            "with",
            "width",
        ),
        (
            lambda **options: hp.baselines.ConventionalSpace(hp.Classes(10), **options),
            "clmap",
            "clamp",
        ),
    ],
)
def test_a_misspelled_option_is_no_task(build, wrong, right):
    with pytest.raises(InputTypeError) as found:
        build(**{wrong: True})
    assert wrong in found.value.argument
    assert right in found.value.advice


def test_a_nested_dict_is_a_taxonomy():
    domains = {
        "travel": ["book", "cancel", "delay"],
        "bank": {"cards": ["pay", "block"], "loan": {}},
    }
    names = ("book", "cancel", "delay", "pay", "block", "loan")
    task = hp.Classes(domains, class_weight="balanced")
    assert (task.num_classes, task.names) == (6, names)
    space = hp.Space(3, task)
    space.balance(space.encode(names))
    placed = space.prototypes
    assert placed.names == names
    assert placed.certificate.prior_agreement.prior == "taxonomy (6 of 6 classes)"
    cosines = placed.vectors @ placed.vectors.mT
    assert cosines[0, 1:3].min() > cosines[0, 3:].max(), (
        "classes of one domain are nearer than those of others"
    )
    assert torch.equal(hp.place(domains, 3).vectors, hp.place(names, 3, prior=domains).vectors)
    assert hp.baselines.ConventionalSpace(task).tasks["target"].names == names
    with pytest.raises(ValueError, match="pay"):
        hp.Classes({"bank": ["pay"], "shop": ["pay"]})


@pytest.mark.parametrize(("low", "high"), [(-1e308, 1e308), (0.0, 1e-310)])
def test_a_range_that_cannot_be_divided_by_is_refused(low, high):
    with pytest.raises(
        ValueError, match="`high` must be at a distance from `low` that floats hold"
    ):
        hp.Range(low, high)


def test_targets_that_require_a_gradient_are_refused():
    space = hp.Space(3, hp.Range(0, 1))
    with pytest.raises(ValueError, match="must be fixed; got a tensor that requires a gradient"):
        space.loss(torch.ones(2, 3), torch.tensor([0.5, 1.0], requires_grad=True))


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_weights_below_zero_are_refused(weight):
    space = hp.Space(3, hp.Classes(4))
    with pytest.raises(
        ValueError, match=f"`sample_weight` must be at least 0; got {weight:g} in row 1"
    ):
        space.loss(
            torch.ones(2, 3), torch.tensor([0, 1]), sample_weight=torch.tensor([1.0, weight])
        )


def test_a_space_without_dimensions_says_what_is_missing():
    with pytest.raises(TypeError, match="`dim` must be a number of dimensions, before the tasks"):
        hp.Space(hp.Classes(10))


POINTS = torch.ones(2, 3)
NO_TENSORS = {
    "nothing": None,
    "lists": [[1.0, 2.0, 3.0]] * 2,
    "arrays": np.ones((2, 3)),
    "sparse": torch.eye(2, 3).to_sparse(),
    "nested": torch.nested.as_nested_tensor([torch.ones(3)] * 2, layout=torch.jagged),
    "small floats": POINTS.to(torch.float8_e4m3fn),
    "no values": POINTS.to("meta"),
}


@pytest.mark.parametrize("given", NO_TENSORS.values(), ids=NO_TENSORS)
def test_what_is_no_plain_tensor_is_refused_where_it_enters(given):
    space = hp.Space(3, kind=hp.Classes(3), size=hp.Range(0, 1))
    targets = {"kind": torch.tensor([0, 2]), "size": torch.tensor([0.5, 1.0])}
    for ask in (
        lambda z: space.loss(z, targets),
        space.predict,
        space.probabilities,
        space.scores,
        space.project,
        lambda z: space.top_k(z, 2),
    ):
        with pytest.raises(InputTypeError) as found:
            ask(given)
        assert found.value.argument == "z"
    for name in targets:
        with pytest.raises(InputTypeError) as found:
            space.loss(POINTS, targets | {name: given})
        assert found.value.argument == name


@pytest.mark.parametrize("task", [hp.Range(0, 1), hp.Range(0, 1, outside="clip"), hp.Number(0, 1)])
@pytest.mark.parametrize("other", [0.5, torch.nan])
def test_an_infinite_target_is_refused(task, other):
    with pytest.raises(InputError) as found:
        hp.Space(3, task).loss(POINTS, torch.tensor([other, torch.inf]))
    assert found.value.argument == "target"


def test_dimensions_are_bounded():
    space = hp.Space(MOST, hp.Range(0, 1), separate=False)
    assert space.dim == MOST
    for dim in (MOST + 1, 10**9, 10**19):
        with pytest.raises(InputError) as found:
            hp.Space(dim, hp.Classes(3))
        assert found.value.argument == "dim"
