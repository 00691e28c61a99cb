"""Losses with heavy tails against slow versions, at their limits, and what they are for."""

import pytest
import torch
from torch.nn import functional

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.losses import PowerCosine, SquaredCosine
from hyperproto.sphere import normalize


def batch(n, num_classes, dim, generator):
    z = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    prototypes = normalize(torch.randn(num_classes, dim, generator=generator, dtype=torch.float64))
    return z.requires_grad_(), prototypes, torch.arange(n) % num_classes


def test_a_power_of_two_is_the_paper_up_to_the_floor(generator):
    z, prototypes, labels = batch(9, 5, 4, generator)
    rows = PowerCosine(q=2, floor=0)(z, prototypes, labels)
    torch.testing.assert_close(rows, SquaredCosine()(z, prototypes, labels))


@pytest.mark.parametrize("loss", [PowerCosine(), PowerCosine(q=1.0, floor=0.0)])
def test_gradients_agree_with_differences_and_are_orthogonal_to_the_output(loss, generator):
    z, prototypes, labels = batch(5, 3, 4, generator)
    assert torch.autograd.gradcheck(lambda z: loss(z, prototypes, labels), (z,))
    loss(z, prototypes, labels).sum().backward()
    torch.testing.assert_close(
        (z.grad * z.detach()).sum(dim=1), torch.zeros(5, dtype=torch.float64), atol=1e-10, rtol=0
    )


def test_nothing_is_infinite_at_the_prototype_or_opposite_it():
    prototypes = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    z = torch.tensor([[3.0, 0.0], [-2.0, 0.0], [0.0, 0.0]], requires_grad=True)
    rows = PowerCosine()(z, prototypes, torch.tensor([0, 0, 1]))
    rows.sum().backward()
    assert rows.isfinite().all()
    assert z.grad.isfinite().all()
    assert rows[0] < rows[1]


def expected_best(loss, posterior, prototypes):
    """Return the class nearest to where the expected loss of an uncertain output is least."""
    u = normalize(
        torch.randn(
            64, prototypes.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0)
        )
    )
    u.requires_grad_()
    optimizer = torch.optim.Adam([u], lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        every = torch.stack(
            [loss(u, prototypes, torch.full((len(u),), k)) for k in range(len(prototypes))], dim=1
        )
        expected = (every * posterior).sum(dim=1)
        expected.sum().backward()
        optimizer.step()
    best = u.detach()[expected.argmin()]
    return int((functional.normalize(best, dim=0) @ prototypes.T).argmax())


def test_an_uncertain_output_points_at_the_most_probable_class_where_the_square_does_not():
    prototypes = hp.place(12, 3, effort="fast", workers=1).vectors
    nearest = (
        prototypes @ prototypes[0]
    ).argsort()  # the least probable mass sits where it is farthest
    posterior = torch.zeros(12, dtype=torch.float64)
    posterior[0], posterior[nearest[:5]] = 0.45, 0.11
    assert expected_best(SquaredCosine(), posterior, prototypes) != 0
    assert expected_best(PowerCosine(), posterior, prototypes) == 0


def test_a_root_needs_a_floor():
    with pytest.raises(InputError, match="greater than 0 for q = 0.5"):
        PowerCosine(floor=0)
