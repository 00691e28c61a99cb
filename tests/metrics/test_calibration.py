import numpy as np
import pytest
import torch
from scipy.special import softmax

from hyperproto._core.errors import InputError
from hyperproto.metrics import (
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)

sklearn_metrics = pytest.importorskip("sklearn.metrics")


def draw(n: int = 200, num_classes: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    return softmax(rng.normal(size=(n, num_classes)), axis=1), rng.integers(num_classes, size=n)


def slow_error(probabilities, labels, bins):
    """The definition, bin by bin."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    total = 0.0
    for low, high in zip(np.arange(bins) / bins, np.arange(1, bins + 1) / bins, strict=True):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return total


@pytest.mark.parametrize("bins", [1, 5, 15])
def test_the_expected_calibration_error_is_that_of_its_definition(bins):
    probabilities, labels = draw()
    found = expected_calibration_error(probabilities, labels, bins=bins)
    assert found == pytest.approx(slow_error(probabilities, labels, bins), abs=1e-12)
    assert found > 0.05


def test_a_model_whose_probabilities_are_true_has_little_error():
    rng = np.random.default_rng(0)
    probabilities = softmax(2 * rng.normal(size=(20_000, 3)), axis=1)
    labels = (rng.uniform(size=(20_000, 1)) > probabilities.cumsum(axis=1)[:, :2]).sum(axis=1)
    assert expected_calibration_error(probabilities, labels) < 0.02
    assert expected_calibration_error(probabilities[:, ::-1], labels) > 0.2


def test_bins_hold_every_example_once():
    found = reliability_bins([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]], [0, 0, 0], bins=4)
    assert found.counts.tolist() == [0, 1, 0, 2]  # an upper edge belongs to its bin
    np.testing.assert_allclose(found.confidence[[1, 3]], [0.5, 0.9])
    np.testing.assert_allclose(found.accuracy[[1, 3]], [1.0, 0.5])
    assert np.isnan(found.accuracy[[0, 2]]).all()


def test_likelihood_and_brier_score_agree_with_scikit_learn():
    probabilities, labels = draw()
    assert negative_log_likelihood(probabilities, labels) == pytest.approx(
        sklearn_metrics.log_loss(labels, probabilities)
    )
    one_sided = probabilities[:, :2] / probabilities[:, :2].sum(axis=1, keepdims=True)
    binary = labels % 2
    expected = 2 * sklearn_metrics.brier_score_loss(binary, one_sided[:, 1])
    assert brier_score(one_sided, binary) == pytest.approx(expected)


def test_missing_labels_do_not_count_and_tensors_will_do():
    probabilities, labels = draw(20)
    gaps = torch.tensor([*labels, -1])
    more = torch.tensor(np.vstack([probabilities, probabilities[:1]]))
    for measure in (expected_calibration_error, negative_log_likelihood, brier_score):
        assert measure(more, gaps) == pytest.approx(measure(probabilities, labels))


def test_what_was_held_impossible_has_no_likelihood():
    assert negative_log_likelihood([[1.0, 0.0]], [1]) == np.inf


def test_mistakes_are_named():
    with pytest.raises(InputError, match="`bins` must be at least 1; got 0"):
        expected_calibration_error([[1.0, 0.0]], [0], bins=0)
    with pytest.raises(InputError, match=r"`probabilities` must have shape \(n, num_classes\)"):
        brier_score([0.5], [0])
