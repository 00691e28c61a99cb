"""Mistakes that once passed without a word, or with a misleading one."""

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputTypeError


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
