import math

import pytest
import torch
from scipy.special import ive

from hyperproto.sphere import normalize, sample_uniform, sample_von_mises_fisher


def test_uniform_points_are_unit_and_centred(generator):
    points = sample_uniform(40_000, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(points.norm(dim=1), torch.ones(40_000, dtype=torch.float64))
    assert points.mean(dim=0).norm() < 4 * math.sqrt(1 / 40_000)
    second_moment = points.T @ points / 40_000
    torch.testing.assert_close(second_moment, torch.eye(5, dtype=torch.float64) / 5, atol=0.01, rtol=0)


@pytest.mark.parametrize(("dim", "kappa"), [(2, 1.0), (3, 5.0), (10, 50.0), (128, 1000.0), (3, 0.0)])
def test_von_mises_fisher_has_the_right_mean_cosine(dim, kappa, generator):
    mean = torch.randn(dim, generator=generator, dtype=torch.float64)
    points = sample_von_mises_fisher(mean, kappa, 40_000, generator=generator)
    cosines = points @ normalize(mean)
    expected = ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa) if kappa else 0.0  # ratio of Bessel functions
    assert cosines.mean().item() == pytest.approx(expected, abs=4 * cosines.std().item() / 200)
    torch.testing.assert_close(points.norm(dim=1), torch.ones(40_000, dtype=torch.float64))


def test_von_mises_fisher_is_symmetric_around_its_mean(generator):
    points = sample_von_mises_fisher(torch.tensor([0.0, 0.0, 1.0]), 3.0, 40_000, generator=generator)
    assert points[:, :2].mean(dim=0).norm() < 0.02


def test_a_seed_fixes_the_draw():
    draws = [
        sample_von_mises_fisher(torch.ones(4), 2.0, 10, generator=torch.Generator().manual_seed(3)) for _ in range(2)
    ]
    assert torch.equal(*draws)


def test_samples_have_the_dtype_of_the_mean():
    assert sample_von_mises_fisher(torch.ones(3, dtype=torch.float32), 2.0, 5).dtype == torch.float32
    assert sample_von_mises_fisher(torch.ones(3), 2.0, 0).shape == (0, 3)


def test_bad_parameters_get_a_sentence():
    with pytest.raises(
        ValueError, match=r"`concentration` must be finite and at least 0 and at most 1e\+12; got -1.0"
    ):
        sample_von_mises_fisher(torch.ones(3), -1.0, 5)
    with pytest.raises(ValueError, match="`concentration` must be finite"):
        sample_von_mises_fisher(torch.ones(3), 1e17, 5)
    with pytest.raises(ValueError, match="`mean` must be finite and not zero"):
        sample_von_mises_fisher(torch.zeros(3), 1.0, 5)
