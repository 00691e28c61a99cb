import numpy as np
import pytest
from scipy.integrate import trapezoid

from hyperproto._core.errors import InputError
from hyperproto.metrics import (
    area_under_precision_recall,
    area_under_roc,
    false_positive_rate_at,
    measure_open_set,
    open_set_classification_rate,
)

sklearn_metrics = pytest.importorskip("sklearn.metrics")


def draw(seed: int, *, ties: bool):
    rng = np.random.default_rng(seed)
    known, unknown = rng.normal(size=60), rng.normal(1.0, size=40)
    right = rng.uniform(size=60) < 0.8
    return (known.round(1), unknown.round(1), right) if ties else (known, unknown, right)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_areas_agree_with_scikit_learn(seed, ties):
    known, unknown, _ = draw(seed, ties=ties)
    truth, scores = np.repeat([0, 1], [len(known), len(unknown)]), np.concatenate([known, unknown])
    assert area_under_roc(known, unknown) == pytest.approx(sklearn_metrics.roc_auc_score(truth, scores))
    expected = sklearn_metrics.average_precision_score(truth, scores)
    assert area_under_precision_recall(known, unknown) == pytest.approx(expected)


@pytest.mark.parametrize("ties", [False, True])
def test_false_positives_are_those_at_the_first_threshold_of_the_curve(ties):
    known, unknown, _ = draw(0, ties=ties)
    truth, scores = np.repeat([1, 0], [len(known), len(unknown)]), -np.concatenate([known, unknown])
    false, true, _ = sklearn_metrics.roc_curve(truth, scores, drop_intermediate=False)
    assert false_positive_rate_at(known, unknown) == pytest.approx(false[true >= 0.95][0])


@pytest.mark.parametrize("ties", [False, True])
def test_the_open_set_rate_is_the_area_under_its_curve(ties):
    known, unknown, right = draw(1, ties=ties)
    thresholds = [-np.inf, *np.unique([*known, *unknown])]
    correct = [((known <= t) & right).mean() for t in thresholds]
    let_in = [(unknown <= t).mean() for t in thresholds]
    assert open_set_classification_rate(known, unknown, right) == pytest.approx(trapezoid(correct, let_in))


def test_perfect_scores_reach_their_ends():
    found = measure_open_set([0.1, 0.2, 0.3, 0.4], [0.5, 0.6], [True, True, True, False])
    assert (found.auroc, found.fpr_at_95, found.aupr, found.oscr) == (1, 0, 1, 0.75)
    assert open_set_classification_rate([0.1], [0.2], [False]) == 0


def test_no_score_tells_nothing():
    assert area_under_roc([1.0] * 3, [1.0] * 5) == 0.5
    assert false_positive_rate_at([1.0] * 3, [1.0] * 5) == 1


def test_mistakes_are_named():
    with pytest.raises(InputError, match=r"`unknown` must have shape \(n,\) with at least one row; got \(0,\)"):
        area_under_roc([1.0], np.zeros(0))
    with pytest.raises(InputError, match="`right` must be as many as `known`; got 1 and 2"):
        open_set_classification_rate([1.0, 2.0], [3.0], [True])
    with pytest.raises(InputError, match="`rate` must be finite and greater than 0 and at most 1; got 95"):
        false_positive_rate_at([1.0], [1.0], rate=95)
