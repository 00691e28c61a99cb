import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.evaluation.confidence import (
    Calibration,
    TaskCalibration,
    TaskOutputs,
    Temperature,
)


def draw(scale: float, n: int = 4000, num_classes: int = 5, seed: int = 0):
    """Cosines, and labels drawn from the softmax of those times a scale: what a temperature must
    find again.
    """
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

    assert all(
        loss(found) <= loss(factor * found) + 1e-6 for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)
    )


def test_a_model_that_is_always_right_is_not_certain():
    cosines = np.where(np.eye(3, dtype=bool)[[0, 1, 2, 0]], 0.9, -0.2)
    best = Temperature.fit(cosines, [0, 1, 2, 0]).probabilities(cosines).max(axis=1)
    assert (best < 1 - 1 / 15).all()
    assert (best > 0.8).all()


def test_few_examples_do_not_replace_what_is_better():
    cosines = np.where(np.eye(3, dtype=bool)[np.arange(30) % 3], 0.9, -0.2)
    certain = Temperature(20.0)
    assert Temperature.fit(cosines, np.arange(30) % 3).scale < 10
    assert Temperature.fit(cosines, np.arange(30) % 3, certain) is certain
    assert Temperature.fit(cosines[:1], [0], certain) is certain
    wrong = np.where(np.arange(30) % 4 == 0, (np.arange(30) + 1) % 3, np.arange(30) % 3)
    assert Temperature.fit(cosines, wrong, certain) == Temperature.fit(cosines, wrong)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_replaces_what_is_far_off(seed):
    cosines, labels = draw(4.0, n=60, seed=seed)
    assert Temperature.fit(cosines, labels, Temperature(40.0)) == Temperature.fit(cosines, labels)


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_probabilities_sum_to_one_and_keep_the_order_of_cosines(seed, scale):
    cosines = np.random.default_rng(seed).uniform(-1, 1, (4, 6))
    found = Temperature(scale).probabilities(cosines)
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


def test_mistakes_are_named():
    with pytest.raises(InputError, match=r"`logits` must be a matrix .*; got shape \(1,\)"):
        Temperature.fit([0.5], [0])
    with pytest.raises(
        InputError, match=r"`labels` must have shape \(1,\), one per row; got \(2,\)"
    ):
        Temperature.fit([[0.5, 0.1]], [0, 1])
    with pytest.raises(
        InputError, match=r"`labels` must lie in \[0, 2\), or be -1 where missing; got 2"
    ):
        Temperature.fit([[0.5, 0.1]], [2])
    with pytest.raises(
        InputTypeError, match="`labels` must be class ids of an integer dtype; got float64"
    ):
        Temperature.fit([[0.5, 0.1]], [0.0])
    with pytest.raises(
        InputError, match="`labels` must hold at least one that is not missing; got 1 missing"
    ):
        Temperature.fit([[0.5, 0.1]], [-1])
    with pytest.raises(
        InputError,
        match=r"`logits` must be finite; got NaN or infinity in 1 of 2 rows \(.*row 1\)",
    ):
        Temperature(1.0).probabilities([[0.5, 0.1], [np.nan, 0]])
    with pytest.raises(InputTypeError, match="`logits` must be numbers"):
        Temperature(1.0).probabilities([["a", "b"]])
    with pytest.raises(InputError, match="`scale` must be finite and greater than 0; got 0"):
        Temperature(0)


def test_outputs_of_classes_are_measured_by_a_fit_to_their_other_half():
    cosines, labels = draw(6.0, n=400)
    outputs = TaskOutputs(cosines, labels, np.ones(400))

    def fit(part, coverage=0.8, reject=0.1):
        return TaskCalibration.fit(
            part.scores, part.targets, part.strengths, coverage=coverage, reject=reject
        )

    found = outputs.cross_measure(fit, TaskCalibration(Temperature(1.0)))
    assert set(found) == {"ece_before", "ece", "coverage", "set_size", "rejection"}
    assert found["ece"] < 0.1 < found["ece_before"]
    assert found["coverage"] == pytest.approx(0.8, abs=0.1)
    assert set(outputs.cross_measure(lambda part: fit(part, None, None))) == {"ece"}
    assert outputs.rows(np.arange(19)).cross_measure(fit) == {}


@pytest.mark.parametrize("sets", [["sets"], {}, "sets", 3])
def test_stored_sets_that_are_none_get_a_sentence(sets):
    stored = Calibration({"kind": TaskCalibration()}, 20).to_dict()
    stored["tasks"]["kind"]["sets"] = sets
    with pytest.raises(InputError, match="A stored calibration must be complete and unchanged"):
        Calibration.from_dict(stored)
