import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.special import ive, log_softmax, softmax

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.evaluation.confidence import Concentration, Temperature
from hyperproto.evaluation.confidence.concentration import log_normaliser, mean_cosine
from hyperproto.sphere import normalize


def draw(scale: float, n: int = 4000, num_classes: int = 5, seed: int = 0):
    """Cosines, and labels drawn from the softmax of those times a scale: what a temperature must find again."""
    rng = np.random.default_rng(seed)
    cosines = rng.uniform(-1, 1, (n, num_classes))
    shares = softmax(scale * cosines, axis=1).cumsum(axis=1)
    labels = (rng.uniform(size=(n, 1)) > shares[:, :-1]).sum(axis=1)
    return cosines, labels


@pytest.mark.parametrize("scale", [0.5, 4.0, 20.0])
def test_a_temperature_finds_the_scale_that_labels_were_drawn_with(scale):
    assert Temperature.fit(*draw(scale)).scale == pytest.approx(scale, rel=0.1)


def test_no_other_scale_makes_held_out_labels_more_likely():
    cosines, labels = draw(6.0)
    found = Temperature.fit(cosines, labels).scale

    def loss(scale: float) -> float:
        return -log_softmax(scale * cosines, axis=1)[np.arange(len(labels)), labels].mean()

    assert all(loss(found) <= loss(factor * found) + 1e-6 for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0))


def test_a_model_that_is_always_right_is_not_certain():
    cosines = np.where(np.eye(3, dtype=bool)[[0, 1, 2, 0]], 0.9, -0.2)
    best = Temperature.fit(cosines, [0, 1, 2, 0]).probabilities(cosines).max(axis=1)
    assert (best < 1 - 1 / 15).all()
    assert (best > 0.8).all()


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_probabilities_sum_to_one_and_keep_the_order_of_cosines(seed, scale):
    cosines = np.random.default_rng(seed).uniform(-1, 1, (4, 6))
    for model in (Temperature(scale), Concentration((scale,), dim=3)):
        found = model.probabilities(cosines)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found.max(axis=1) == found[np.arange(4), cosines.argmax(axis=1)]).all()


def test_tensors_lists_and_arrays_give_the_same():
    cosines, labels = draw(4.0, n=50)
    tensor = torch.from_numpy(cosines).requires_grad_()
    expected = Temperature.fit(cosines, labels)
    assert Temperature.fit(tensor, torch.from_numpy(labels)) == expected
    assert Temperature.fit(cosines.tolist(), labels.tolist()) == expected
    np.testing.assert_array_equal(expected.probabilities(tensor), expected.probabilities(cosines))
    assert expected.probabilities(tensor.bfloat16()).dtype == np.float64


def test_rows_without_a_label_do_not_count():
    cosines, labels = draw(4.0, n=50)
    gaps = np.concatenate([labels, [-1] * 50])
    doubled = np.concatenate([cosines, cosines[::-1]])
    assert Temperature.fit(doubled, gaps) == Temperature.fit(cosines, labels)
    assert Concentration.fit(doubled, gaps, 4) == Concentration.fit(cosines, labels, 4)


@pytest.mark.parametrize("dim", [3, 10, 40])
def test_the_mean_cosine_is_the_ratio_of_bessel_functions(dim):
    for kappa in (5.0, 50.0, 400.0):
        assert mean_cosine(kappa, dim) == pytest.approx(ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa), rel=1e-9)


def test_the_density_on_the_sphere_integrates_to_one():
    cosine, width = np.linspace(-1, 1, 20001, retstep=True)
    density = np.exp(7.0 * cosine + log_normaliser(np.array([7.0]), 3)[0])
    assert 2 * np.pi * trapezoid(density, dx=width) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("dim", [52, 54, 56, 200, 2048])
def test_large_dimensions_stay_finite_and_concentrations_are_ordered(dim):
    kappas = np.array([1e-3, 1.0, 100.0, 1e5])
    assert np.isfinite(log_normaliser(kappas, dim)).all()
    means = [mean_cosine(float(kappa), dim) for kappa in kappas]
    assert means == sorted(means)
    assert 0 <= means[0] < means[-1] < 1


def test_a_concentration_is_found_again_from_points_drawn_with_it():
    rng = np.random.default_rng(1)
    # on S², the cosine w to the centre has density proportional to exp(kappa w)
    kappas, centres = np.array([1.5, 6.0]), np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    labels = np.repeat([0, 1], 4000)
    uniform = rng.uniform(size=8000)
    along = 1 + np.log(uniform + (1 - uniform) * np.exp(-2 * kappas[labels])) / kappas[labels]
    around = normalize(torch.from_numpy(rng.normal(size=(8000, 2)))).numpy() * np.sqrt(1 - along**2)[:, None]
    points = np.column_stack([along * centres[labels, 0], around])
    found = Concentration.fit(points @ centres.T, labels, 3)
    np.testing.assert_allclose(found.kappas, kappas, rtol=0.1)
    assert found.scale == pytest.approx(1, rel=0.1)
    shared = Concentration.fit(points @ centres.T, labels, 3, per_class=False)
    assert len(shared.kappas) == 1


def test_a_shared_concentration_is_a_temperature():
    cosines, labels = draw(6.0)
    shared = Concentration.fit(cosines, labels, 10, per_class=False)
    expected = Temperature.fit(cosines, labels)
    assert shared.scale * shared.kappas[0] == pytest.approx(expected.scale, rel=1e-3)
    np.testing.assert_allclose(shared.probabilities(cosines), expected.probabilities(cosines), atol=1e-3)


def test_a_class_without_examples_takes_the_shared_concentration():
    cosines, labels = draw(6.0, num_classes=3)
    labels[labels == 2] = -1
    found, shared = (Concentration.fit(cosines, labels, 10, per_class=each) for each in (True, False))
    assert found.kappas[2] == pytest.approx(shared.kappas[0])


@pytest.mark.parametrize("model", [Temperature(3.5), Concentration((2.0, 3.0), dim=4, scale=0.5)])
def test_what_is_written_is_read_back(model):
    assert type(model).from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_mistakes_are_named():
    with pytest.raises(InputError, match=r"`cosines` must have shape \(n, num_classes\) with at least one row; got"):
        Temperature.fit([0.5], [0])
    with pytest.raises(InputError, match=r"`labels` must have shape \(1,\), one per row; got \(2,\)"):
        Temperature.fit([[0.5, 0.1]], [0, 1])
    with pytest.raises(InputError, match=r"`labels` must lie in \[0, 2\), or be -1 where missing; got 2"):
        Temperature.fit([[0.5, 0.1]], [2])
    with pytest.raises(InputTypeError, match="`labels` must be class ids of an integer dtype; got float64"):
        Temperature.fit([[0.5, 0.1]], [0.0])
    with pytest.raises(InputError, match="`labels` must hold at least one that is not missing; all 1 are"):
        Temperature.fit([[0.5, 0.1]], [-1])
    with pytest.raises(InputError, match=r"`cosines` must be finite; 1 of 2 rows are not \(first: row 1\)"):
        Temperature(1.0).probabilities([[0.5, 0.1], [np.nan, 0]])
    with pytest.raises(InputTypeError, match="`cosines` must be numbers; got"):
        Temperature(1.0).probabilities([["a", "b"]])
    with pytest.raises(InputError, match="`scale` must be finite and greater than 0; got 0"):
        Temperature(0)
    with pytest.raises(InputError, match='A stored temperature must have the entry "scale"; it has none'):
        Temperature.from_dict({})
    with pytest.raises(InputError, match="`kappas` must be a list of numbers, one or one for each class; got 3"):
        Concentration(3, dim=4)
    with pytest.raises(InputError, match="`cosines` must have 2 columns, one per concentration; got"):
        Concentration((1.0, 2.0), dim=4).probabilities([[0.1, 0.2, 0.3]])
