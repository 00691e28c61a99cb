import numpy as np
import pytest

from hyperproto.codes.certificate import simplex
from hyperproto.codes.measure import max_cosine, random_points, unit_rows
from hyperproto.codes.smooth_max import (
    Memory,
    SmoothMax,
    contacts,
    descend,
    largest_cosine,
    minimize,
    polish,
)


def naive(points, p):
    total = sum(
        (1 - a @ b) ** -float(p)
        for i, a in enumerate(points)
        for j, b in enumerate(points)
        if i != j
    )
    return np.log(total) / p


@pytest.mark.parametrize("exponent", [1, 2, 8, 32])
def test_value_matches_an_obvious_double_loop(exponent):
    points = random_points(9, 4, seed=0)
    value, _ = SmoothMax(9, 4, exponent=exponent)(3 * points.reshape(-1))
    assert value == pytest.approx(naive(points, exponent), rel=1e-12)


@pytest.mark.parametrize("exponent", [1, 4, 64, 1024])
def test_gradient_matches_finite_differences_on_rows_of_any_length(exponent):
    rng = np.random.default_rng(1)
    x, direction = rng.standard_normal((2, 12 * 5))
    smooth = SmoothMax(12, 5, exponent=exponent)
    _, gradient = smooth(x)
    step = 1e-6 / exponent
    numeric = (smooth(x + step * direction)[0] - smooth(x - step * direction)[0]) / (2 * step)
    assert gradient @ direction == pytest.approx(numeric, rel=1e-5)


def test_gradient_is_tangential():
    x = np.random.default_rng(2).standard_normal((10, 4))
    _, gradient = SmoothMax(10, 4, exponent=8)(x.reshape(-1))
    np.testing.assert_allclose((gradient.reshape(10, 4) * x).sum(axis=1), 0, atol=1e-13)


@pytest.mark.parametrize("exponent", [2**k for k in range(0, 21, 4)])
def test_nothing_overflows_and_the_limit_is_the_maximum(exponent):
    points = random_points(30, 3, seed=3)
    with np.errstate(all="raise", under="ignore"):
        value, gradient = SmoothMax(30, 3, exponent=exponent)(points.reshape(-1))
    assert np.isfinite(gradient).all()
    # the largest term is counted twice, the sum has 870: log(2)/p <= f + log m <= log(870)/p
    above = value + np.log(1 - largest_cosine(points))
    assert np.log(2) / exponent - 1e-9 <= above <= np.log(870) / exponent + 1e-9


def test_coinciding_points_give_finite_numbers():
    points = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]])
    value, gradient = SmoothMax(3, 3, exponent=64)(points.reshape(-1))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
    ("num_points", "dim", "cosine"), [(4, 3, -1 / 3), (16, 5, 0.2), (27, 6, 0.25)]
)
def test_the_lowest_exponent_finds_sharp_codes(num_points, dim, cosine):
    smooth = SmoothMax(num_points, dim)
    ends = [
        descend(smooth, random_points(num_points, dim, seed), [1], iterations=800, tolerance=1e-7)
        for seed in range(6)
    ]
    assert min(map(largest_cosine, ends)) == pytest.approx(cosine, abs=1e-6)


def test_memory_equals_the_two_loop_recursion():
    rng = np.random.default_rng(4)
    matrix = rng.standard_normal((12, 12))
    hessian = matrix @ matrix.T + np.eye(12)
    memory, pairs = Memory(3, 12), []
    for _ in range(7):  # more pairs than slots
        s = rng.standard_normal(12)
        memory.add(s, hessian @ s)
        pairs = [*pairs, (s, hessian @ s)][-3:]
    g = rng.standard_normal(12)
    q, alphas = g.copy(), []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1]
    q *= s @ y / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - y @ q / (s @ y)) * s
    np.testing.assert_allclose(memory.apply(g), q, rtol=1e-9)


def test_minimise_solves_rosenbrock():
    def rosenbrock(x):
        a, b = 1 - x[0], x[1] - x[0] ** 2
        return a * a + 100 * b * b, np.array([-2 * a - 400 * x[0] * b, 200 * b])

    np.testing.assert_allclose(
        minimize(rosenbrock, np.array([-1.2, 1.0]), iterations=200), [1, 1], atol=1e-6
    )


def antiprism():
    """Return the square antiprism whose edges all have the same length: the optimum for K = 8, D =
    3.
    """
    cosine = (2 * np.sqrt(2) - 1) / 7
    radius = np.sqrt(
        1 - cosine
    )  # the angle between corners of a square is 90 degrees: c = 1 - radius^2
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
