import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperproto.codes.algebra.registry import best_entry
from hyperproto.codes.best import ZOO, best_code, from_zoo, known_code, known_max_cosine
from hyperproto.codes.certificate import (
    EXACT_POINTS,
    PROVED,
    Certificate,
    certify,
    separation_bound,
)
from hyperproto.codes.measure import max_cosine, random_points, sampled_max_cosine, separation


@pytest.mark.parametrize(
    ("num_points", "dim", "optimum"),
    [
        (10, 3, 0.404394325216251),
        (24, 4, 1 / 2),
        (120, 4, (1 + math.sqrt(5)) / 4),
        (16, 5, 1 / 5),
        (27, 6, 1 / 4),
        (56, 7, 1 / 3),
        (240, 8, 1 / 2),
        (100, 22, 1 / 11),
        (100, 50, 0.0),
        (100, 100, -1 / 99),
    ],
)
def test_known_optima_are_reached_to_1e_9(num_points, dim, optimum):
    code = best_code(num_points, dim, effort="balanced" if num_points == 24 else "fast")
    assert code.certificate.max_cosine == pytest.approx(optimum, abs=1e-9)
    assert code.certificate.proved or (num_points, dim) == (24, 4)  # nobody has proved that one
    assert code.points.shape == (num_points, dim)


@pytest.mark.parametrize(
    ("num_points", "dim", "at_most"),
    [
        (100, 25, 0.0910),
        (200, 25, 0.1667),
        (200, 50, 0.0750),
        (1000, 64, 0.1001),
        (10_000, 128, 0.125),
    ],
)
def test_structured_codes_reach_the_targets_at_once(num_points, dim, at_most):
    assert known_max_cosine(num_points, dim) <= at_most
    code = known_code(num_points, dim)
    assert code.certificate.max_cosine == pytest.approx(
        known_max_cosine(num_points, dim), abs=1e-12
    )
    if num_points <= 1000:
        products = code.points @ code.points.T
        np.fill_diagonal(products, -1)
        assert products.max() <= at_most


def test_a_hundred_thousand_points_are_certified_by_theorem_and_sample():
    code = best_code(100_000, 128, effort="fast")
    assert code.certificate.max_cosine <= 0.25
    assert code.points.dtype == np.float64 or code.points.nbytes <= 100_000 * 128 * 8
    assert code.certificate.measured.startswith("by theorem")
    assert "128 x 100000 pairs checked" in code.certificate.measured


def test_a_false_theorem_is_caught():
    points = random_points(EXACT_POINTS + 1, 8, 0)
    with pytest.raises(AssertionError, match="claims 0.1"):
        certify(points, method="wishful", seed=0, theorem=(0.1, "nobody"))
    with pytest.raises(AssertionError, match="claims to be optimal"):
        certify(points[:100], method="wishful", seed=0, proof="nobody")


def test_workers_change_nothing():
    one, two = (best_code(30, 4, effort="balanced", seed=3, workers=n) for n in (1, 2))
    assert np.array_equal(one.points, two.points)


def test_more_effort_is_never_worse_than_what_is_known():
    for num_points, dim in ((60, 15), (100, 30)):
        assert (
            best_code(num_points, dim, effort="fast").certificate.max_cosine
            <= known_max_cosine(num_points, dim) + 1e-12
        )


def test_the_k_d_tree_measures_what_the_tiles_measure():
    points = random_points(3000, 4, 0)
    nearest = max(
        float((points[i] @ np.delete(points, i, axis=0).T).max()) for i in range(0, 3000, 100)
    )
    assert max_cosine(points) >= nearest - 1e-12
    assert max_cosine(points) == pytest.approx(1 - separation(points).min)
    assert sampled_max_cosine(points, 3000, seed=0) == pytest.approx(max_cosine(points), abs=1e-12)
    assert sampled_max_cosine(points, 10, seed=0) <= max_cosine(points)


@pytest.mark.parametrize(("num_points", "dim"), PROVED)
def test_proved_optima_lie_above_the_bounds(num_points, dim):
    assert PROVED[num_points, dim][0] > separation_bound(num_points, dim)


@pytest.mark.parametrize("case", [(7, 3), (8, 3), (9, 3), (11, 3), (13, 3), (14, 3), (10, 4)])
def test_the_table_of_proved_optima_is_what_the_search_finds(case):
    code = best_code(*case, effort="fast")
    assert code.certificate.max_cosine == pytest.approx(PROVED[case][0], abs=1e-8)
    assert code.certificate.proved


@settings(max_examples=40)
@given(st.integers(2, 400), st.integers(2, 40), st.integers(0, 5))
def test_no_known_code_lies_below_the_bound_or_above_its_claim(num_points, dim, seed):
    code = known_code(num_points, dim, seed=seed)
    if code is not None:
        assert code.points.shape == (num_points, dim)
        assert np.abs(np.linalg.norm(code.points, axis=1) - 1).max() < 1e-12
        assert code.certificate.max_cosine >= separation_bound(num_points, dim) - 1e-12
        assert code.certificate.max_cosine <= known_max_cosine(num_points, dim) + 1e-9


ZOO_SHAPES = sorted(tuple(map(int, path.stem.split("x"))) for path in ZOO.glob("*x*.safetensors"))


def test_the_zoo_is_small():
    assert sum(path.stat().st_size for path in ZOO.glob("*.safetensors")) <= 8_000_000
    assert len(ZOO_SHAPES) > 10


@pytest.mark.parametrize(("num_points", "dim"), ZOO_SHAPES)
def test_a_stored_code_beats_the_registry_and_not_the_bound(num_points, dim):
    code = from_zoo(num_points, dim)
    assert code.points.shape == (num_points, dim)
    products = code.points @ code.points.T
    np.fill_diagonal(products, -1)
    assert code.certificate.max_cosine == pytest.approx(products.max(), abs=1e-12)
    assert products.max() >= separation_bound(num_points, dim) - 1e-12
    entry = best_entry(num_points, dim)
    assert entry is None or products.max() < entry.max_cosine


def test_what_is_not_stored_is_none():
    assert from_zoo(11, 3) is None


def test_a_certificate_is_read_without_what_another_version_adds():
    agreement = {
        "prior": "words",
        "weight": 1.0,
        "loss": 0.5,
        "ranked_by_margin": 0.8,
        "spearman": 0.7,
        "clear": 0.9,
    }
    stored = known_code(3, 2).certificate.to_dict() | {"prior_agreement": agreement, "kendall": 0.6}
    read = Certificate.from_dict(stored)
    assert (read.max_cosine, read.prior_agreement.spearman) == (stored["max_cosine"], 0.7)
    assert Certificate.from_dict(read.to_dict()) == read
