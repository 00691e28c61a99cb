from functools import partial

import numpy as np
import pytest

import hyperproto as hp
from hyperproto.codes import measure
from hyperproto.codes.measure import (
    max_cosine,
    nearest_neighbors,
    random_points,
    row_blocks,
    unit_rows,
)
from hyperproto.codes.paper import authors_steps, paper_descent, separation_gradient
from hyperproto.codes.ranking import Ranking
from tests.reference.dense_ranking import dense_ranking


def test_nearest_neighbors_match_an_obvious_double_loop():
    points = random_points(23, 4, seed=1)
    index, cosine = nearest_neighbors(points)
    for i, p in enumerate(points):
        others = [(float(p @ q), j) for j, q in enumerate(points) if j != i]
        assert (cosine[i], index[i]) == pytest.approx(max(others), abs=1e-15)


def test_blocks_of_rows_change_nothing(monkeypatch):
    points = random_points(50, 6, seed=2)
    whole = nearest_neighbors(points)
    monkeypatch.setattr(measure, "row_blocks", partial(row_blocks, entries=7 * 50))
    for a, b in zip(whole, nearest_neighbors(points), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-15)


def test_gradient_of_equation_5_matches_finite_differences():
    points = random_points(12, 5, seed=3)
    _, gradient = separation_gradient(points)
    direction = np.random.default_rng(4).standard_normal(points.shape)
    step = 1e-6
    ahead, _ = separation_gradient(points + step * direction)
    behind, _ = separation_gradient(points - step * direction)
    assert (ahead - behind) / (2 * step) == pytest.approx(
        float((gradient * direction).sum()), rel=1e-7
    )


def test_descent_separates_and_keeps_unit_rows():
    start = random_points(20, 5, seed=0)
    points = paper_descent(20, 5, seed=0, steps=300)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-14)
    assert max_cosine(points) < max_cosine(start) - 0.1


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_a_step_descends_equation_5_plus_the_weight_times_equation_6(weight):
    start, similarity = (
        random_points(7, 4, seed=2),
        np.corrcoef(np.random.default_rng(1).normal(size=(7, 9))),
    )
    members = np.arange(7)
    ranking = Ranking(similarity, members)
    moved = paper_descent(7, 4, seed=2, ranking=ranking, members=members, weight=weight, steps=1)
    gradient = separation_gradient(start)[1] + weight * dense_ranking(start, similarity)[1]
    np.testing.assert_allclose(moved, unit_rows(start - 0.1 * gradient), atol=1e-12)


def test_no_steps_give_the_random_start_and_a_seed_fixes_every_bit():
    np.testing.assert_array_equal(paper_descent(9, 3, seed=5, steps=0), random_points(9, 3, seed=5))
    np.testing.assert_array_equal(
        paper_descent(9, 3, seed=5, steps=20), paper_descent(9, 3, seed=5, steps=20)
    )


def test_unit_rows_normalizes():
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0]])), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("num_points", "dim", "steps"),
    [
        (100, 5, 10_000),
        (100, 50, 10_000),
        (100, 99, 10_000),
        (100, 100, 1_000),
        (100, 200, 1_000),
        (200, 100, 10_000),
    ],
)
def test_steps_are_those_of_the_authors_published_files(num_points, dim, steps):
    assert authors_steps(num_points, dim) == steps


@pytest.mark.parametrize(("dim", "steps"), [(2, "10,000"), (100, "1,000")])
def test_by_default_placing_takes_the_authors_steps(dim, steps):
    assert hp.place(3, dim, method="paper").certificate.method == f"paper (Eq. 5, {steps} steps)"
