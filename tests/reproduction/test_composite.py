"""A class and a number as one point: its formula, its decisions, missing labels, and what it
refuses.
"""

import math

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError
from reproduction.composite import CompositeSpace

NAN = float("nan")


@pytest.fixture
def space():
    tasks = {"digit": hp.Classes(5), "angle": hp.Range(0, 180, margin=0.1)}
    return CompositeSpace(4, tasks)


def targets(labels, values):
    return {"digit": torch.tensor(labels), "angle": torch.tensor(values, dtype=torch.float64)}


def slow_row(z, prototype, r):
    u = z / z.norm()
    t = torch.cat([torch.tensor([r], dtype=z.dtype), math.sqrt(1 - r * r) * prototype])
    return math.sqrt(1 + 1e-4 - float(u @ t))


def test_the_loss_is_the_root_of_the_distance_to_one_point(space, generator):
    z = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    wanted = targets([0, 3, 4], [0.0, 45.0, 180.0])
    rows = space.losses(z, wanted, reduction="none")
    r = [0.9 * (2 * value / 180 - 1) for value in (0.0, 45.0, 180.0)]
    prototypes = space.prototypes["digit"].vectors
    slow = [slow_row(z[i], prototypes[k], r[i]) for i, k in enumerate((0, 3, 4))]
    torch.testing.assert_close(
        rows["digit"] + rows["angle"], torch.tensor(slow, dtype=torch.float64)
    )
    assert space.loss(z, wanted).item() == pytest.approx(sum(slow) / 3)


def test_points_are_what_is_predicted_at_them(space):
    wanted = targets([0, 1, 2, 3, 4], [0.0, 30.0, 90.0, 120.0, 180.0])
    points = space.points(wanted)
    torch.testing.assert_close(points.norm(dim=1), torch.ones(5, dtype=torch.float64))
    found = space.predict(7 * points)
    assert torch.equal(found["digit"], wanted["digit"])
    torch.testing.assert_close(found["angle"], wanted["angle"])
    assert space.loss(points, wanted).item() == pytest.approx(0.01)


def test_a_missing_label_is_the_one_that_fits_best(space, generator):
    z = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    labels = [0, 1, 2, 3, 4, 0]
    without = space.losses(z, targets(labels, [NAN] * 6), reduction="none")["digit"]
    grid = [
        space.losses(z, targets(labels, [v] * 6), reduction="none")["digit"]
        for v in torch.linspace(0, 180, 721)
    ]
    torch.testing.assert_close(without, torch.stack(grid).amin(dim=0), atol=1e-5, rtol=0)
    unlabeled = space.losses(z, targets([-1] * 6, [60.0] * 6), reduction="none")["digit"]
    every = [
        space.losses(z, targets([k] * 6, [60.0] * 6), reduction="none")["digit"] for k in range(5)
    ]
    assert (unlabeled <= torch.stack(every).amin(dim=0) + 1e-12).all()


def test_rows_without_any_label_give_no_loss_and_no_gradient(space, generator):
    z = torch.randn(2, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    space.loss(z, targets([-1, 2], [NAN, 20.0])).backward()
    assert not z.grad[0].any()
    assert z.grad[1].any()
    assert space.label_counts(targets([-1, 2], [NAN, 20.0])) == {"digit": 1, "angle": 1}


def test_gradients_agree_with_differences(space, generator):
    z = torch.randn(4, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    wanted = targets([0, 1, 2, 3], [10.0, 50.0, 100.0, 170.0])
    assert torch.autograd.gradcheck(lambda z: space.loss(z, wanted), (z,))


def test_what_has_no_point_is_refused(space):
    classes, numbers = hp.Classes(3), hp.Range(0, 1, margin=0.1)
    smoothed, weighted = hp.Classes(3, label_smoothing=0.1), hp.Range(0, 1, weight=2.0)
    for tasks, got in (
        ({"digit": classes}, "Classes"),
        ({"digit": classes, "angle": weighted}, 'one for "angle"'),
        ({"digit": smoothed, "angle": numbers}, None),
    ):
        with pytest.raises(InputError) as raised:
            CompositeSpace(4, tasks)
        assert raised.value.got == got
    with pytest.raises(InputError) as raised:
        space.loss(torch.ones(1, 4), {"digit": torch.full((1, 5), 0.2), "angle": torch.zeros(1)})
    assert raised.value.got == "probabilities"
