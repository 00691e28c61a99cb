import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid
from scipy.special import softmax
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from hyperproto._core.errors import InputError
from hyperproto.metrics import (
    calibration_error,
    false_positive_rate_at,
    measure_open_set,
    open_set_classification_rate,
)


def draw_probabilities(n: int = 200, num_classes: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    return softmax(rng.normal(size=(n, num_classes)), axis=1), rng.integers(num_classes, size=n)


def error_of(probabilities, labels, **options):
    """The calibration error of the most probable class."""
    probabilities = np.asarray(probabilities)
    return calibration_error(
        probabilities.max(axis=1), probabilities.argmax(axis=1) == labels, **options
    )


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
    probabilities, labels = draw_probabilities()
    found = error_of(probabilities, labels, bins=bins)
    assert found == pytest.approx(slow_error(probabilities, labels, bins), abs=1e-12)
    assert found > 0.05


def test_a_model_whose_probabilities_are_true_has_little_error():
    rng = np.random.default_rng(0)
    probabilities = softmax(2 * rng.normal(size=(20_000, 3)), axis=1)
    labels = (rng.uniform(size=(20_000, 1)) > probabilities.cumsum(axis=1)[:, :2]).sum(axis=1)
    assert error_of(probabilities, labels) < 0.02
    assert error_of(probabilities[:, ::-1], labels) > 0.2


def test_an_upper_edge_belongs_to_its_bin_and_every_example_counts_once():
    probabilities, labels = [[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]], [0, 0, 0]
    expected = (abs(1 - 0.5) + abs((1 + 0) - (1 + 0.8))) / 3  # bins of (0.25, 0.5] and (0.75, 1]
    assert error_of(probabilities, labels, bins=4) == pytest.approx(expected)


def test_tensors_will_do():
    probabilities, labels = draw_probabilities(20)
    right = torch.from_numpy(probabilities.argmax(axis=1) == labels)
    found = calibration_error(torch.from_numpy(probabilities.max(axis=1)), right)
    assert found == pytest.approx(error_of(probabilities, labels))


def draw_scores(seed: int, *, ties: bool):
    rng = np.random.default_rng(seed)
    known, unknown = rng.normal(size=60), rng.normal(1.0, size=40)
    right = rng.uniform(size=60) < 0.8
    return (known.round(1), unknown.round(1), right) if ties else (known, unknown, right)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_areas_agree_with_scikit_learn(seed, ties):
    known, unknown, _ = draw_scores(seed, ties=ties)
    truth, scores = np.repeat([0, 1], [len(known), len(unknown)]), np.concatenate([known, unknown])
    found = measure_open_set(known, unknown, np.ones(60, dtype=bool))
    assert found["auroc"] == found["oscr"] == pytest.approx(roc_auc_score(truth, scores))
    assert found["aupr"] == pytest.approx(average_precision_score(truth, scores))


@pytest.mark.parametrize("ties", [False, True])
def test_false_positives_are_those_at_the_first_threshold_of_the_curve(ties):
    known, unknown, _ = draw_scores(0, ties=ties)
    truth, scores = np.repeat([1, 0], [len(known), len(unknown)]), -np.concatenate([known, unknown])
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    assert false_positive_rate_at(known, unknown) == pytest.approx(false[true >= 0.95][0])


@pytest.mark.parametrize("ties", [False, True])
def test_the_open_set_rate_is_the_area_under_its_curve(ties):
    known, unknown, right = draw_scores(1, ties=ties)
    thresholds = [-np.inf, *np.unique([*known, *unknown])]
    correct = [((known <= t) & right).mean() for t in thresholds]
    let_in = [(unknown <= t).mean() for t in thresholds]
    assert open_set_classification_rate(known, unknown, right) == pytest.approx(
        trapezoid(correct, let_in)
    )


def test_perfect_scores_reach_their_ends():
    found = measure_open_set([0.1, 0.2, 0.3, 0.4], [0.5, 0.6], [True, True, True, False])
    assert found == {"auroc": 1, "fpr_at_95": 0, "aupr": 1, "oscr": 0.75}
    assert open_set_classification_rate([0.1], [0.2], [False]) == 0


def test_no_score_tells_nothing():
    assert measure_open_set([1.0] * 3, [1.0] * 5, [True] * 3)["auroc"] == 0.5
    assert false_positive_rate_at([1.0] * 3, [1.0] * 5) == 1


def test_mistakes_are_named():
    with pytest.raises(InputError, match=r"`unknown` must .*; got shape \(0,\)"):
        measure_open_set([1.0], np.zeros(0), [True])
    with pytest.raises(InputError, match="`right` must be as many as `known`; got 1 and 2"):
        open_set_classification_rate([1.0, 2.0], [3.0], [True])
    with pytest.raises(
        InputError, match="`rate` must be finite and greater than 0 and at most 1; got 95"
    ):
        false_positive_rate_at([1.0], [1.0], rate=95)
    with pytest.raises(InputError, match="`bins` must be at least 1; got 0"):
        calibration_error([1.0], [True], bins=0)
    with pytest.raises(InputError, match="`right` must be as many as `confidence`; got 1 and 2"):
        calibration_error([0.5, 0.6], [True])
