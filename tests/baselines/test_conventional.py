"""Each of the paper's other baselines against plain Python, one example at a time."""

import pytest
import torch

from hyperproto import Classes, Prototypes, Range, Space, place
from hyperproto.baselines import ConventionalSpace, space_from_dict, weigh_tasks
from hyperproto.losses import CosineSoftmax
from tests.reference import baselines as slow


def outputs(n, dim, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, dim, generator=generator, dtype=torch.float64).requires_grad_()


def mean(terms):
    terms = list(terms)
    return sum(terms) / len(terms)


def test_one_hot_prototypes_are_axes():
    assert Prototypes.one_hot(3, 4).vectors.tolist() == slow.one_hot(3, 4)


def test_softmax_is_the_slow_cross_entropy():
    z, labels = outputs(6, 4), torch.tensor([0, 1, 2, 3, 3, 0])
    expected = mean(map(slow.cross_entropy, z.tolist(), labels.tolist()))
    assert ConventionalSpace(Classes(4)).loss(z, labels).item() == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("scale", [1.0, 16.0])
def test_softmax_over_cosines_is_the_slow_one_with_and_without_a_scale(scale):
    placed = place(5, 3)
    z, labels = outputs(6, 3), torch.tensor([0, 1, 2, 3, 4, 0])
    pairs = zip(z.tolist(), labels.tolist(), strict=True)
    expected = mean(
        slow.cosine_cross_entropy(row, placed.vectors.tolist(), label, scale)
        for row, label in pairs
    )
    space = Space(3, Classes(placed, loss=CosineSoftmax(scale)))
    assert space.loss(z, labels).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("clamp", ["test", "train"])
def test_squared_error_is_the_slow_one_clamped_in_training_or_not(clamp):
    space = ConventionalSpace(Range(1000, 1932), clamp=clamp)
    z = torch.tensor([[-0.5], [0.0], [0.3], [0.9], [2.0]], dtype=torch.float64, requires_grad=True)
    years = [1500.0, 1100.0, 1932.0, 1800.0, 1000.0]
    found = [
        slow.squared_error(row.item(), year, 1000, 1932, clamp=clamp == "train")
        for row, year in zip(z, years, strict=True)
    ]
    space.loss(z, torch.tensor(years, dtype=torch.float64), reduction="sum").backward()
    losses = space.losses(z, torch.tensor(years, dtype=torch.float64), reduction="none")
    assert losses.tolist() == pytest.approx([loss for loss, _ in found], rel=1e-12)
    assert z.grad.flatten().tolist() == pytest.approx([slope for _, slope in found], rel=1e-12)
    assert space.predict(z).tolist() == pytest.approx([1000, 1000, 1279.6, 1838.8, 1932])


def test_the_absolute_error_of_a_number_is_that_of_its_task():
    space = ConventionalSpace(Range(0, 10, loss="absolute"))
    z = torch.tensor([[0.3], [-2.0]], dtype=torch.float64, requires_grad=True)
    losses = space.losses(z, torch.tensor([5.0, 10.0]), reduction="none")
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([0.2, 3.0])
    assert z.grad.tolist() == [[-1.0], [-1.0]]  # bounded, so that no output runs away


def test_clamping_in_training_leaves_outputs_beyond_the_bounds_where_they_are():
    for clamp, moves in (("train", False), ("test", True)):
        z = torch.tensor([[-1.0], [3.0]], requires_grad=True)
        ConventionalSpace(Range(0, 1), clamp=clamp).loss(z, torch.tensor([0.5, 0.5])).backward()
        assert bool(z.grad.any()) is moves


def test_a_wider_number_is_a_linear_layer_on_its_axes():
    torch.manual_seed(0)
    space = ConventionalSpace({"style": Classes(2), "year": Range(0, 10)}, width=3)
    assert space.dim == 5
    weight, bias = space.heads[1].layer.weight[0].tolist(), space.heads[1].layer.bias.item()
    z, years = outputs(4, 5), [0.0, 2.5, 5.0, 10.0]
    numbers = [
        sum(w * x for w, x in zip(weight, row[2:], strict=True)) + bias for row in z.tolist()
    ]
    expected = mean(
        slow.squared_error(n, y, 0, 10, clamp=False)[0] for n, y in zip(numbers, years, strict=True)
    )
    targets = {"style": torch.zeros(4, dtype=torch.int64), "year": torch.tensor(years)}
    losses = space.losses(z, targets)
    assert losses["year"].item() == pytest.approx(expected, rel=1e-10)
    losses["year"].backward()
    assert space.heads[1].layer.weight.grad.any()
    assert z.grad[:, 2:].any()


@pytest.mark.parametrize("dim", [2, 3])
def test_the_wider_variant_has_at_least_as_many_parameters_as_the_sphere(dim):
    def count(space):
        modules = torch.nn.Linear(8, space.dim), space
        return sum(p.numel() for module in modules for p in module.parameters())

    assert count(ConventionalSpace(Range(0, 1), width=dim)) >= count(Space(dim, Range(0, 1)))
    assert count(ConventionalSpace(Range(0, 1))) < count(Space(dim, Range(0, 1)))


@pytest.mark.parametrize("weight", [0.01, 0.1, 0.25, 0.5, 0.9])
def test_the_multi_task_baseline_is_the_slow_one_at_the_weights_of_table_6(weight):
    tasks = weigh_tasks({"style": Classes(3), "year": Range(1000, 1932)}, weight)
    z, labels, years = outputs(4, 4), [0, 1, 2, 1], [1000.0, 1400.0, 1932.0, 1700.0]
    expected = mean(
        slow.multi_task(row[:3], label, row[3], year, 1000, 1932, weight)
        for row, label, year in zip(z.tolist(), labels, years, strict=True)
    )
    targets = {"style": torch.tensor(labels), "year": torch.tensor(years, dtype=torch.float64)}
    assert ConventionalSpace(tasks).loss(z, targets).item() == pytest.approx(expected, rel=1e-10)


def test_the_weight_goes_to_the_sphere_as_well():
    tasks = {"style": Classes(["a", "b", "c"], weight=7.0), "year": Range(0, 1, margin=0.1)}
    z = outputs(3, 4)
    targets = {"style": torch.tensor([0, 1, 2]), "year": torch.tensor([0.0, 0.5, 1.0])}
    plain = Space(4, {"style": Classes(["a", "b", "c"]), "year": Range(0, 1, margin=0.1)}).losses(
        z, targets
    )
    found = Space(4, weigh_tasks(tasks, 0.2)).losses(z, targets)
    torch.testing.assert_close(found["style"], 0.8 * plain["style"])
    torch.testing.assert_close(found["year"], 0.2 * plain["year"])


def test_options_survive_being_written_down():
    space = ConventionalSpace(Range(0, 1), clamp="train", width=3)
    again = space_from_dict(space.to_dict(), {})
    again.load_state_dict(space.state_dict())
    z = outputs(5, 3)
    assert again.options["clamp"] == "train"
    assert torch.equal(again.losses(z, torch.zeros(5)), space.losses(z, torch.zeros(5)))


def test_bad_arguments_get_a_sentence():
    with pytest.raises(
        ValueError,
        match='Unknown clamp "trian". Choose from: "test", "train". Did you mean "train"',
    ):
        ConventionalSpace(Range(0, 1), clamp="trian")
    with pytest.raises(ValueError, match="`width` must be at least 1; got 0"):
        ConventionalSpace(Range(0, 1), width=0)
    with pytest.raises(ValueError, match="`weight` must be less than 1; got 1. Leave a task out"):
        weigh_tasks({"a": Range(0, 1)}, 1)
    with pytest.raises(ValueError, match="`weight` must be finite and greater than 0; got 0"):
        weigh_tasks({"a": Range(0, 1)}, 0)
