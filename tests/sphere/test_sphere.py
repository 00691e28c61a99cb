import math

import pytest
import torch

from hyperproto._core.errors import InputTypeError
from hyperproto.sphere import cosine, normalize, sample_uniform, working_dtype
from tests.refusals import refuses


def rows(n, dim, generator, dtype=torch.float64):
    return torch.randn(n, dim, generator=generator, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_normalize_keeps_dtype_and_gives_unit_rows(dtype, generator):
    unit = normalize(rows(20, 7, generator).to(dtype))
    assert unit.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(
        unit.double().norm(dim=1), torch.ones(20, dtype=torch.float64), atol=tolerance, rtol=0
    )


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e-18, 1.0, 1e18, 1e30, 1e37])
def test_normalize_ignores_length_over_the_whole_of_float32(scale, generator):
    x = rows(20, 7, generator, torch.float32).sign() + 0.5
    torch.testing.assert_close(normalize(x * scale), normalize(x), atol=3e-7, rtol=0)


def test_scale_invariance_ends_below_the_smallest_normal_number():
    tiny = torch.finfo(torch.float32).tiny
    assert normalize(torch.tensor([[tiny, 0.0]])).tolist() == [[1.0, 0.0]]
    assert normalize(torch.tensor([[tiny / 2, 0.0]])).tolist() == [[0.0, 0.0]]


def test_a_zero_row_stays_zero_and_has_no_gradient():
    x = torch.zeros(2, 3, requires_grad=True)
    normalize(x).sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


def test_a_non_finite_row_becomes_nan_and_leaves_the_others_alone():
    x = torch.tensor([[math.inf, 1.0], [math.nan, 1.0], [3.0, 4.0]])
    unit = normalize(x)
    assert unit[:2].isnan().all()
    torch.testing.assert_close(unit[2], torch.tensor([0.6, 0.8]))


def test_cosine_is_that_of_torch(generator):
    x, y = rows(6, 5, generator), rows(6, 5, generator)
    torch.testing.assert_close(cosine(x, y), torch.nn.functional.cosine_similarity(x, y))


def test_cosine_broadcasts_and_stays_within_one(generator):
    x = rows(50, 3, generator, torch.float32)
    assert cosine(x, x[0]).shape == (50,)
    assert cosine(x, x).max() <= 1


def test_whole_numbers_have_no_direction_here():
    with refuses("x", "torch.int64", InputTypeError):
        normalize(torch.tensor([[3, 4]]))


def test_half_precision_is_summed_in_float32():
    assert working_dtype(torch.float16) is torch.float32
    assert working_dtype(torch.float64) is torch.float64


def test_uniform_points_are_unit_and_centered(generator):
    points = sample_uniform(40_000, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(points.norm(dim=1), torch.ones(40_000, dtype=torch.float64))
    assert points.mean(dim=0).norm() < 4 * math.sqrt(1 / 40_000)
    second_moment = points.T @ points / 40_000
    torch.testing.assert_close(
        second_moment, torch.eye(5, dtype=torch.float64) / 5, atol=0.01, rtol=0
    )
