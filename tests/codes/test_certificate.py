import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperproto.codes.certificate import random_max_cosine, separation_bound
from hyperproto.codes.measure import max_cosine, random_points
from tests.refusals import refuses

sizes = st.integers(2, 10**6)
dims = st.integers(1, 1024)

# Codes that meet the Levenshtein bound (Cohn and Kumar 2007, Table 1): (K, D, maximum cosine).
SHARP = [
    (12, 3, 1 / math.sqrt(5)),
    (16, 5, 1 / 5),
    (27, 6, 1 / 4),
    (56, 7, 1 / 3),
    (240, 8, 1 / 2),
    (112, 21, 1 / 9),
    (162, 21, 1 / 7),
    (100, 22, 1 / 11),
    (275, 22, 1 / 6),
    (891, 22, 1 / 4),
    (552, 23, 1 / 5),
    (4600, 23, 1 / 3),
    (196_560, 24, 1 / 2),
]


@pytest.mark.parametrize(("num_points", "dim", "cosine"), SHARP)
def test_bound_is_met_by_sharp_codes(num_points, dim, cosine):
    assert separation_bound(num_points, dim) == pytest.approx(cosine, abs=1e-12)


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9])
def test_bound_is_met_by_isotropic_subspaces(q):
    # Cameron, Goethals, Seidel: a family of sharp codes, one for each prime power
    dim, num_points = q * (q**3 + 1) // (q + 1), (q + 1) * (q**3 + 1)
    assert separation_bound(num_points, dim) == pytest.approx(1 / q**2, abs=1e-12)


@pytest.mark.parametrize("dim", [2, 3, 5, 50])
def test_bound_of_simplex_and_cross_polytope(dim):
    assert separation_bound(dim + 1, dim) == pytest.approx(-1 / dim, abs=1e-15)
    assert separation_bound(2 * dim, dim) == pytest.approx(0, abs=1e-15)


def test_circle_and_pair_of_points():
    assert separation_bound(7, 2) == pytest.approx(math.cos(2 * math.pi / 7), abs=1e-15)
    assert separation_bound(2, 1) == -1
    assert separation_bound(3, 1) == 1


def test_fejes_toth_is_the_larger_on_the_sphere():
    c = math.cos(math.pi * 100 / 294)
    assert separation_bound(100, 3) >= c / (1 - c)


@pytest.mark.parametrize(("num_points", "dim"), [(10**6, 3), (10**6, 4), (10**6, 1024), (10**9, 5)])
def test_bound_is_a_cosine_for_huge_sizes(num_points, dim):
    assert 0 < separation_bound(num_points, dim) < 1


@given(sizes, dims)
@settings(max_examples=200, deadline=None)
def test_bound_grows_with_points_and_falls_with_dimensions(num_points, dim):
    bound = separation_bound(num_points, dim)
    assert separation_bound(num_points + 1, dim) >= bound - 1e-13
    assert separation_bound(num_points, dim + 1) <= bound + 1e-13


@given(st.integers(7, 400), st.integers(3, 6))
@settings(max_examples=200, deadline=None)
def test_bound_is_monotone_where_degrees_switch_often(num_points, dim):
    assert separation_bound(num_points + 1, dim) >= separation_bound(num_points, dim) - 1e-13


@pytest.mark.parametrize(("num_points", "dim"), [(20, 3), (50, 10), (100, 40)])
def test_random_points_scatter_around_their_median(num_points, dim):
    median = random_max_cosine(num_points, dim)
    below = sum(max_cosine(random_points(num_points, dim, seed)) < median for seed in range(200))
    assert 70 < below < 130  # 100 expected, standard deviation 7


def test_errors_say_what_must_hold():
    with refuses("num_points", "1"):
        separation_bound(1, 3)
    with refuses("dim", "0"):
        separation_bound(5, 0)
