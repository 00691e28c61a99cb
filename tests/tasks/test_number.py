"""A number without bounds: a latitude on a hemisphere, in robust units."""

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.baselines import ConventionalSpace
from hyperproto.spaces.space import assign_axes
from hyperproto.sphere import normalize
from hyperproto.tasks import Number, task_from_dict


def outputs(n: int, dim: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, dim, generator=generator, dtype=torch.float64)


def test_a_number_is_the_tangent_of_a_latitude():
    z, space = outputs(50, 5), hp.Space(5, Number(center=3, scale=2))
    point = normalize(torch.cat([z, torch.ones(50, 1, dtype=z.dtype)], dim=1))
    latitude = point[:, 0].asin()  # of a point on a sphere in six dimensions, from the equator
    torch.testing.assert_close(space.predict(z), 3 + 2 * latitude.tan())
    torch.testing.assert_close(space.scores(z), point[:, 0])
    torch.testing.assert_close(space.project(z), point)


@pytest.mark.parametrize(("loss", "power"), [("absolute", 1), ("squared", 2)])
def test_the_loss_is_the_error_in_units_of_the_scale(loss, power):
    z, space = outputs(50, 4), hp.Space(4, Number(center=-1, scale=0.5, loss=loss))
    y = torch.linspace(-3, 3, 50, dtype=torch.float64)
    wanted = ((space.predict(z) - y).abs() / 0.5) ** power
    torch.testing.assert_close(space.loss(z, y, reduction="none"), wanted)
    assert torch.autograd.gradcheck(lambda z: space.loss(z, y), z.requires_grad_())


def test_a_linear_output_on_the_first_axis_alone_is_the_number_itself():
    z = torch.zeros(3, 8, dtype=torch.float64)
    z[:, 0] = torch.tensor([-1e6, 0.0, 1e6])
    space = hp.Space(8, Number(center=5, scale=2))
    torch.testing.assert_close(space.predict(z), 5 + 2 * z[:, 0])  # no bounds


def test_other_axes_shrink_a_number_toward_its_center():
    z = torch.zeros(4, 3)
    z[:, 0], z[:, 2] = 10.0, torch.tensor([0.0, 1.0, 10.0, 1000.0])
    away = hp.Space(3, Number(center=5, scale=1)).predict(z) - 5
    assert (away.diff() < 0).all()
    assert 0 < away[-1] < 0.011


def test_an_output_of_zeros_says_the_center():
    assert hp.Space(4, Number(center=7, scale=2)).predict(torch.zeros(1, 4)).item() == 7


def test_units_are_the_median_and_the_interquartile_range():
    task = Number.fit([1.0, 2.0, 3.0, 4.0, 1000.0, np.nan])
    assert (task.center, task.scale) == (3, 2)
    mostly_equal = Number.fit([0.0] * 9 + [1.0])
    assert mostly_equal.center == 0
    assert mostly_equal.scale == pytest.approx(0.2)
    with pytest.raises(InputError) as refused:
        Number.fit([2.0, 2.0])
    assert refused.value.got == "2 in all of 2 rows"
    assert Number.fit([2.0, 2.0], constant="widen").scale == 1
    with pytest.raises(InputError):
        Number.fit([np.nan])


def test_open_units_are_found_in_the_targets():
    space = hp.Space(8, hp.Number())
    z, y = outputs(4, 8), torch.tensor([1.0, 2.0, 3.0, torch.nan])
    with pytest.raises(InputError) as refused:
        space.loss(z, y)
    assert "space.balance" in refused.value.advice
    space.balance(y)
    assert (space.tasks["target"].center, space.tasks["target"].scale) == (2, 2)
    assert space.loss(z, y).isfinite()
    fitted, network = hp.Space(4, hp.Number()), torch.nn.Linear(2, 4)
    hp.fit(network, fitted, (outputs(60, 2).float(), torch.arange(60.0)), epochs=1, progress=False)
    assert fitted.tasks["target"].known_values == [29, 30]


def test_missing_numbers_give_no_loss_and_infinite_ones_are_refused():
    z, space = outputs(3, 4), hp.Space(4, Number(center=0, scale=1))
    rows = space.loss(z, torch.tensor([1.0, torch.nan, 2.0]), reduction="none")
    assert rows[1] == 0
    for call in (space.check, lambda y: space.loss(z, y)):
        with pytest.raises(InputError) as refused:
            call(torch.tensor([1.0, torch.inf, 2.0]))
        assert refused.value.got == "inf in row 1 (1 of 3 rows)"


def test_a_number_shares_a_sphere_like_a_range():
    tasks = {"style": hp.Classes(5), "year": Number(center=0, scale=1)}
    assert assign_axes(4, tasks) == assign_axes(4, {**tasks, "year": hp.Range(0, 1)})
    z, space = outputs(20, 4), hp.Space(4, tasks, separate=False)
    shorter = z.clone()
    shorter[:, 1:] *= 0.01  # what the class says stays, and the number grows
    assert torch.equal(space.predict(z)["style"], space.predict(shorter)["style"])
    assert (space.predict(z)["year"].abs() < space.predict(shorter)["year"].abs()).all()
    assert (space.point_dim, space.project(z).shape) == (5, (20, 5))


def test_each_separate_sphere_of_a_number_has_a_constant_axis():
    space = hp.Space(20, style=hp.Classes(5), age=Number(0, 1), year=Number(0, 1))
    z = outputs(6, 20)
    points = space.project(z)
    assert space.separate
    assert points.shape == (6, space.point_dim) == (6, 22)
    torch.testing.assert_close(points.norm(dim=1), torch.ones(6, dtype=z.dtype))
    wide = space.named_heads()["age"].axes
    age = normalize(torch.nn.functional.pad(z[:, wide], (0, 1), value=1.0))
    torch.testing.assert_close(points[:, wide.start : wide.stop + 1] * 3**0.5, age)


def test_a_number_survives_a_run_and_a_mapping(tmp_path):
    task = Number(center=2, scale=3, loss="squared", weight=0.5)
    assert task_from_dict(task.to_dict()) == task
    with pytest.raises(InputError):
        Number(center=2)
    with pytest.raises(InputError):
        Number(center=2, scale=0)


def test_without_a_sphere_a_number_is_the_output_in_the_same_units():
    z, y = outputs(10, 1), torch.linspace(-4, 4, 10, dtype=torch.float64)
    space = ConventionalSpace(Number(center=3, scale=2, loss="absolute"), clamp="train")
    torch.testing.assert_close(space.predict(z), 3 + 2 * z[:, 0])
    wanted = (y - space.predict(z)).abs() / 2
    torch.testing.assert_close(space.loss(z, y, reduction="none"), wanted)
