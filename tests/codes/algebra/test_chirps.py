import math

import numpy as np
import pytest
from algebra_helpers import assert_is_code

from hyperproto.codes.algebra.chirps import ChirpCode, largest_character_sum


@pytest.mark.parametrize(
    ("order", "num_points"), [(5, 150), (9, 450), (11, 528), (13, 728), (25, 2600), (31, 3968)]
)
def test_quadratic_chirps_have_cosine_one_over_root_q(order, num_points):
    code = ChirpCode(order)
    assert_is_code(
        code.rows(np.arange(code.num_points)), num_points, 2 * order, 1 / math.sqrt(order)
    )


@pytest.mark.parametrize("order", [5, 7])
def test_cubic_chirps_attain_the_computed_cosine(order):
    code = ChirpCode(order, 3)
    assert_is_code(
        code.rows(np.arange(code.num_points)), code.num_points, 2 * order, code.max_cosine
    )


@pytest.mark.parametrize("order", [7, 31, 97, 251])
def test_character_sums_obey_weil(order):
    assert math.sqrt(order) < largest_character_sum(order) <= 2 * math.sqrt(order)


def test_character_sum_is_the_largest_over_all_cubics():
    order, t = 7, np.arange(7)
    sums = [
        abs(np.exp(2j * np.pi * ((a * t**3 + b * t**2 + c * t) % order) / order).sum())
        for a in range(1, order) for b in range(order) for c in range(order)
    ]  # fmt: skip
    assert largest_character_sum(order) == pytest.approx(max(sums), abs=1e-12)


def test_sampled_rows_of_a_large_chirp_code_stay_below_its_cosine():
    code = ChirpCode(97, 3)
    index = np.sort(np.random.default_rng(0).choice(code.num_points, 1500, replace=False))
    points = code.rows(index)
    products = points @ points.T
    np.fill_diagonal(products, -1)
    assert products.max() <= code.max_cosine + 1e-12
