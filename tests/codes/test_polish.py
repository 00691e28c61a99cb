import numpy as np
import pytest

from hyperproto.codes.closed_forms import simplex
from hyperproto.codes.descent import random_points, unit_rows
from hyperproto.codes.measure import max_cosine
from hyperproto.codes.polish import contacts, polish
from hyperproto.codes.smooth_max import SmoothMax, descend


def antiprism():
    """Return the square antiprism whose edges all have the same length: the optimum for K = 8, D = 3."""
    cosine = (2 * np.sqrt(2) - 1) / 7
    radius = np.sqrt(1 - cosine)  # the angle between corners of a square is 90 degrees: c = 1 - radius^2
    angles = np.arange(8) * np.pi / 4
    height = np.sqrt(1 - radius**2) * (-1.0) ** np.arange(8)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), height], axis=1), cosine


def test_the_antiprism_of_these_tests_is_one():
    points, cosine = antiprism()
    assert max_cosine(points) == pytest.approx(cosine, abs=1e-14)
    assert len(contacts(points, slack=1e-9)[0]) == 16


def test_polish_restores_a_known_contact_graph_to_the_last_digits():
    points, cosine = antiprism()
    disturbed = unit_rows(points + 1e-3 * np.random.default_rng(0).standard_normal(points.shape))
    assert max_cosine(disturbed) > cosine + 1e-4
    assert max_cosine(polish(disturbed, exponent=1000)) == pytest.approx(cosine, abs=1e-12)


def test_polish_copes_with_contacts_that_depend_on_each_other():
    disturbed = unit_rows(simplex(6, 5) + 1e-3 * np.random.default_rng(1).standard_normal((6, 5)))
    assert max_cosine(polish(disturbed, exponent=100)) == pytest.approx(-1 / 5, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_polish_never_makes_it_worse(seed):
    points = random_points(20, 4, seed)
    assert max_cosine(polish(points, exponent=20)) <= max_cosine(points)
    points = descend(SmoothMax(20, 4), points, [8, 64, 512], iterations=50)
    assert max_cosine(polish(points, exponent=512)) <= max_cosine(points)
