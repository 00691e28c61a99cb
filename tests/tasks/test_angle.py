import math

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.tasks import task_from_dict


def on_circle(values, period, dim=2):
    angles = 2 * math.pi * torch.as_tensor(values, dtype=torch.float64) / period
    return torch.nn.functional.pad(torch.stack([angles.cos(), angles.sin()], 1), (0, dim - 2))


@pytest.mark.parametrize("dim", [2, 5])
def test_an_angle_is_read_off_its_prototype_at_any_length(dim):
    space = hp.Space(dim, hp.Angle(24))
    hours = torch.linspace(0, 23.9, 50, dtype=torch.float64)
    z = on_circle(hours, 24, dim) * torch.rand(50, 1) * 9
    torch.testing.assert_close(space.predict(z), hours, atol=1e-6, rtol=0)


def test_there_is_no_seam():
    space = hp.Space(2, hp.Angle(360, loss="paper"))
    z = on_circle([359.0], 360)
    apart = math.radians(2)
    for target in (1.0, 357.0, 361.0, -3.0):
        expected = torch.tensor((1 - math.cos(apart)) ** 2, dtype=torch.float64)
        torch.testing.assert_close(space.loss(z, torch.tensor([target]).double()), expected)
    found = space.tasks["target"].terms(torch.tensor([359.0]), torch.tensor([1.0]))
    assert found == {"mae": (pytest.approx(2), 1)}


def test_the_paper_s_loss_is_that_of_a_class_whose_prototype_is_there():
    z = torch.randn(6, 2, dtype=torch.float64)
    hours = torch.tensor([0.0, 6.0, 12.0, 18.0, 3.0, 21.0], dtype=torch.float64)
    placed = hp.Prototypes.from_tensor(on_circle(hours, 24), method="clock")
    classes = hp.Space(2, hp.Classes(placed, loss="paper"))
    angle = hp.Space(2, hp.Angle(24, loss="paper"))
    expected = classes.loss(z, torch.arange(6), reduction="none")
    torch.testing.assert_close(angle.loss(z, hours, reduction="none"), expected)


def test_the_default_is_the_softmax_of_free_length_over_ever_more_points():
    z = torch.tensor([[0.3, -0.2], [2.0, 1.0], [-9.0, 4.0]], dtype=torch.float64)
    many = 720
    places = torch.arange(many, dtype=torch.float64) / many
    points = on_circle(places, 1)
    softmax = hp.losses.FreeNormSoftmax(gain=3.0)
    over_points = softmax(z, points, torch.tensor([7, 100, 650])) - math.log(many)
    found = hp.Space(2, hp.Angle(1)).loss(z, places[[7, 100, 650]], reduction="none")
    torch.testing.assert_close(found, over_points, atol=1e-9, rtol=1e-9)


def test_a_long_output_overflows_nothing():
    z = torch.tensor([[1e15, 1e15]], requires_grad=True)
    loss = hp.Space(2, hp.Angle()).loss(z, torch.tensor([45.0]))
    loss.backward()
    assert loss.isfinite()
    assert z.grad.isfinite().all()


def test_the_baseline_is_no_worse_than_any_other_constant():
    values = torch.tensor([350.0, 355, 2, 10, 20, 180, math.nan])
    task = hp.Angle()

    def error(constant):
        total, count = task.terms(torch.full_like(values, constant), values)["mae"]
        return total / count

    best = error(float(task.baseline(values)[0]))
    assert all(best <= error(constant) + 0.5 for constant in range(360))
    assert error(float(values.nanmedian())) > best


def test_predictions_are_below_the_period_even_where_they_round_to_it():
    space = hp.Space(2, hp.Angle(360))
    assert space.predict(torch.tensor([[1.0, -1e-9]])).item() == 0


def test_an_angle_comes_back_from_plain_values():
    task = hp.Angle(24, weight=2.0, loss="paper")
    assert task_from_dict(task.to_dict()) == task


@pytest.mark.parametrize("arguments", [{"period": 0}, {"weight": -1}])
def test_what_an_angle_cannot_be_is_named(arguments):
    with pytest.raises(InputError) as caught:
        hp.Angle(**arguments)
    assert caught.value.argument in arguments


def test_numbers_without_end_are_no_angles():
    with pytest.raises(InputError) as caught:
        hp.Space(2, hp.Angle()).check(torch.tensor([1.0, math.inf]))
    assert caught.value.argument == "target"


def test_intervals_hold_what_they_promise_across_the_seam():
    rng = np.random.default_rng(0)
    truth = rng.uniform(-20, 20, 400) % 360
    told = (truth + rng.normal(0, 5, 400)) % 360
    task = hp.Angle()
    aligned = task.aligned(torch.tensor(truth), torch.tensor(told)).numpy()
    assert np.abs(aligned - told).max() < 30
    np.testing.assert_allclose(aligned % 360, truth % 360, atol=1e-9)
