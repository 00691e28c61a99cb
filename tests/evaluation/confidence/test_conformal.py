import math

import numpy as np
import pytest
from scipy.special import softmax

from hyperproto._core.errors import InputError
from hyperproto.evaluation.confidence import (
    OUTLIER_SCORES,
    Calibration,
    ConformalInterval,
    ConformalSets,
    Rejection,
    TaskCalibration,
    Temperature,
    outlier_score,
)
from hyperproto.runtime.conformal import conformal_quantile


def test_the_quantile_is_the_smallest_score_that_keeps_the_promise():
    scores = np.arange(1.0, 10)  # n = 9: places for a tenth
    assert conformal_quantile(scores[::-1], 0.9) == 9
    assert conformal_quantile(scores, 0.5) == 5
    assert conformal_quantile(scores, 0.91) == math.inf


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_sets_hold_the_truth_as_often_as_they_say(coverage):
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        probabilities = softmax(rng.normal(size=(500, 4)), axis=1)  # of a model that knows nothing
        labels = rng.integers(4, size=500)
        fitted = ConformalSets.fit(probabilities[:100], labels[:100], coverage)
        rows = np.arange(400), labels[100:]
        within = 1 - probabilities[100:][rows] <= fitted.threshold
        assert fitted.sets(probabilities[100:])[rows][within].all()
        held.append(within.mean())
    assert np.mean(held) == pytest.approx(
        math.ceil(101 * coverage) / 101, abs=4 * np.std(held) / 200**0.5
    )


def test_sets_are_never_empty():
    probabilities, labels = [[0.9, 0.1], [0.6, 0.4]] * 10, [0, 0] * 10
    sure = ConformalSets.fit(probabilities, labels, 0.3)
    assert sure.sets(probabilities).sum(axis=1).tolist() == [1, 1] * 10
    assert sure.threshold < 0.4  # which the second row does not meet


def test_a_larger_coverage_gives_larger_sets():
    rng = np.random.default_rng(0)
    probabilities, labels = softmax(rng.normal(size=(99, 6)), axis=1), rng.integers(6, size=99)
    small, large = (
        ConformalSets.fit(probabilities, labels, c).sets(probabilities) for c in (0.5, 0.9)
    )
    assert (small <= large).all()
    assert small.sum() < large.sum()


def test_too_little_data_for_the_coverage_gives_everything():
    sets = ConformalSets.fit([[0.9, 0.1]] * 5, [0] * 5, 0.9)
    assert sets.threshold == math.inf
    assert sets.sets([[1.0, 0.0]]).all()
    interval = ConformalInterval.fit([1.0] * 5, [1.0] * 5, 0.9, low=0, high=3)
    assert interval.intervals([1.0]).tolist() == [[0.0, 3.0]]
    assert Rejection.fit([0.0] * 5, 0.1).accept([1e9]).all()


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        truths = rng.uniform(0, 10, size=500)
        predictions = np.clip(truths + rng.normal(size=500), 0, 10)
        fitted = ConformalInterval.fit(predictions[:100], truths[:100], 0.9, low=0, high=10)
        ends = fitted.intervals(predictions[100:])
        held.append(((ends[:, 0] <= truths[100:]) & (truths[100:] <= ends[:, 1])).mean())
        assert ends.min() >= 0
        assert ends.max() <= 10
    assert np.mean(held) == pytest.approx(91 / 101, abs=4 * np.std(held) / 200**0.5)


def test_a_truth_beyond_the_bounds_counts_as_missed_and_a_missing_one_not_at_all():
    predictions, truths = [0.0] * 9 + [1.0, 1.0], [0.5] * 9 + [1.5, np.nan]
    assert ConformalInterval.fit(predictions, truths, 0.8).radius == 0.5
    assert ConformalInterval.fit(predictions, truths, 0.9, low=0, high=1).radius == math.inf


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.3])
def test_known_data_is_rejected_as_often_as_stated(rate):
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        scores = rng.exponential(size=599)
        shares.append(1 - Rejection.fit(scores[:199], rate).accept(scores[199:]).mean())
    assert np.mean(shares) == pytest.approx(rate, abs=4 * np.std(shares) / 200**0.5)


@pytest.mark.parametrize(
    "value",
    [
        TaskCalibration(
            Temperature(3.5), ConformalSets(0.25, 0.9), Rejection(0.7, 0.05), "strength", 2.5
        ),
        TaskCalibration(sets=ConformalSets(math.inf, 0.9), rejection=Rejection(math.inf, 0.05)),
        TaskCalibration(interval=ConformalInterval(0.5, 0.9, -1.0, 2.0)),
        TaskCalibration(interval=ConformalInterval(math.inf, 0.9)),
    ],
)
def test_what_is_written_is_read_back(value):
    calibration = Calibration({"kind": value}, 20, {"kind/ece": 0.1})
    assert Calibration.from_dict(calibration.to_dict()) == calibration


@pytest.mark.parametrize("kind", [*OUTLIER_SCORES, "strength"])
def test_a_point_between_classes_is_stranger_than_one_at_a_prototype(kind):
    at, between = outlier_score([[8.0, -4.0, -4.0], [4.0, 4.0, -8.0]], kind=kind)
    assert at < between


def test_outlier_scores_are_what_they_are_called():
    logits, (a, b) = [[1.0, 3.0]], softmax([1.0, 3.0])
    wanted = {"probability": a, "entropy": -a * np.log(a) - b * np.log(b), "strength": -3.0}
    for kind, value in wanted.items():
        assert outlier_score(logits, kind=kind)[0] == pytest.approx(value, rel=1e-12)
    assert outlier_score(logits, kind="energy")[0] == pytest.approx(-np.log(np.exp([1, 3]).sum()))


def test_outlier_scores_of_one_class_are_finite():
    for kind in OUTLIER_SCORES:
        assert np.isfinite(outlier_score([[0.3], [0.9]], kind=kind)).all()


@pytest.mark.parametrize("kind", [*OUTLIER_SCORES, "strength"])
def test_of_two_outputs_in_one_direction_the_weaker_is_stranger(kind):
    short, long = outlier_score([[0.5, -0.5], [3.0, -3.0]], kind=kind)
    assert short > long


@pytest.mark.parametrize("kind", [*OUTLIER_SCORES, "strength"])
def test_an_output_stronger_than_all_known_ones_is_the_stranger_the_stronger_it_is(kind):
    strengths = np.geomspace(0.01, 100, 9)
    logits = strengths[:, None] * [1.0, -1.0]
    scores = outlier_score(logits, kind=kind, longest=1.0)
    assert scores.argmin() == 4
    assert (np.diff(scores) * np.repeat([-1, 1], 4) > 0).all()
    np.testing.assert_allclose(scores[4:], scores[4::-1])  # as if they were as short as that
    np.testing.assert_array_equal(scores[:5], outlier_score(logits[:5], kind=kind))


def test_a_threshold_stored_without_the_longest_output_is_read():
    logits = np.eye(3).repeat(20, 0)
    fitted = TaskCalibration.fit(logits, np.arange(3).repeat(20), np.ones(60), reject=0.05)
    assert fitted.longest == 1
    stored = Calibration({"kind": fitted}, 60).to_dict()
    del stored["tasks"]["kind"]["longest"]
    assert Calibration.from_dict(stored).tasks["kind"].longest is None


def test_mistakes_are_named():
    with pytest.raises(
        InputError, match="`coverage` must be less than 1; got 95. Give a share such as 0.95"
    ):
        ConformalSets.fit([[1.0, 0.0]], [0], 95)
    with pytest.raises(InputError, match="`rate` must be finite and greater than 0; got 0"):
        Rejection.fit([0.5], 0)
    with pytest.raises(InputError, match="`predictions` must be as many as `truths`; got 1 and 2"):
        ConformalInterval.fit([1.0], [1.0, 2.0])
    with pytest.raises(
        InputError, match="`truths` must hold at least one that is not missing; got 1 missing"
    ):
        ConformalInterval.fit([1.0], [np.nan])
    with pytest.raises(InputError, match="`low` must be less than `high`; got 2.0 and 1.0"):
        ConformalInterval(0.5, 0.9, 2, 1)
    with pytest.raises(InputError, match='Unknown outlier score "energi".*Did you mean "energy"'):
        outlier_score([[0.5]], kind="energi")
    with pytest.raises(InputError) as wrong:
        outlier_score([[0.5]], [1.0, 2.0])
    assert (wrong.value.argument, wrong.value.got) == ("strengths", 2)
    stored = Calibration({"kind": TaskCalibration()}, 20).to_dict()
    stored["tasks"]["kind"]["rejection"] = {"threshold": 1.0}
    with pytest.raises(InputError, match="A stored calibration must be complete .*`rate` must be"):
        Calibration.from_dict(stored)


def test_certain_inputs_are_still_told_apart_by_their_probability():
    surer, sure, unsure = outlier_score([[90.0, 0.0], [50.0, 0.0], [1.0, 0.0]], kind="probability")
    assert 0 < surer < sure < unsure
    assert unsure == pytest.approx(1 / (1 + np.e))
