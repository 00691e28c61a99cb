import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from hyperproto.metrics import (
    absolute_error_terms,
    accuracy_terms,
    confusion_pairs,
    count_classes,
    error_quantiles,
    top_accuracy,
)

ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), max_size=30)
NUMBERS = st.lists(
    st.tuples(st.integers(-50, 50), st.one_of(st.none(), st.integers(-50, 50))), max_size=25
)


def split(answers):
    predicted, labels = zip(*answers, strict=True) if answers else ((), ())
    return torch.tensor(predicted, dtype=torch.int64), torch.tensor(labels, dtype=torch.int64)


def split_numbers(pairs):
    predicted = torch.tensor([p for p, _ in pairs], dtype=torch.float64)
    return predicted, torch.tensor(
        [math.nan if v is None else v for _, v in pairs], dtype=torch.float64
    )


def test_missing_labels_do_not_count():
    assert accuracy_terms(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2, 2, -1])) == (2, 3)
    assert absolute_error_terms(
        torch.tensor([1.0, 5.0, 9.0]), torch.tensor([2.0, math.nan, 6.0])
    ) == (4, 2)
    assert accuracy_terms(torch.tensor([0]), torch.tensor([-1])) == (0, 0)


@given(ANSWERS)
def test_counts_agree_with_counting_one_by_one(answers):
    support, recall, precision = count_classes(*split(answers), 5)
    for k in range(5):
        right = sum(p == label == k for p, label in answers)
        predicted = sum(p == k for p, label in answers if label >= 0)
        assert support[k] == sum(label == k for _, label in answers)
        assert recall[k] == right / support[k] if support[k] else math.isnan(recall[k])
        assert precision[k] == right / predicted if predicted else math.isnan(precision[k])


def test_counts_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    predicted, labels = rng.integers(6, size=(2, 200))
    support, recall, precision = count_classes(
        torch.from_numpy(predicted), torch.from_numpy(labels), 7
    )
    expected = precision_recall_fscore_support(
        labels, predicted, labels=np.arange(7), zero_division=np.nan
    )
    np.testing.assert_array_equal(precision[:6], expected[0][:6])
    np.testing.assert_array_equal(recall[:6], expected[1][:6])
    np.testing.assert_array_equal(support, expected[3])
    assert np.isnan([precision[6], recall[6], expected[0][6], expected[1][6]]).all()


@given(ANSWERS, st.integers(0, 6))
def test_pairs_agree_with_a_matrix(answers, most):
    matrix: dict[tuple[int, int], int] = {}
    for predicted, label in answers:
        if label >= 0 and label != predicted:
            matrix[label, predicted] = matrix.get((label, predicted), 0) + 1
    slow = sorted(
        ((*pair, count) for pair, count in matrix.items()),
        key=lambda row: (-row[2], row[0], row[1]),
    )
    assert confusion_pairs(*split(answers), most=most) == slow[:most]


def test_pairs_of_a_million_classes_take_no_matrix():
    labels = torch.tensor([999_999, 999_999, 3])
    assert confusion_pairs(torch.tensor([7, 7, 3]), labels, most=3) == [(999_999, 7, 2)]


def test_a_label_among_the_first_counts_and_a_missing_one_does_not():
    top = torch.tensor([[0, 1], [1, 2], [2, 0], [0, 1]])
    assert top_accuracy(top, torch.tensor([1, 0, 2, -1])) == pytest.approx(2 / 3)
    assert math.isnan(top_accuracy(top, torch.full((4,), -1)))


@given(NUMBERS, st.sampled_from([0.05, 0.5, 0.9, 0.95, 1.0]))
def test_a_quantile_is_the_smallest_error_that_covers_its_share(pairs, level):
    errors = sorted(abs(p - v) for p, v in pairs if v is not None)
    [found] = error_quantiles(*split_numbers(pairs), [level])
    if not errors:
        assert math.isnan(found)
        return
    covers = [
        e for e in errors if sum(other <= e for other in errors) >= level * len(errors) - 1e-6
    ]
    assert found == min(covers)


def test_a_quantile_of_many_is_not_moved_by_rounding():
    errors = torch.arange(1, 101, dtype=torch.float64)
    assert error_quantiles(errors, torch.zeros(100), [0.07, 0.29, 0.95]) == [7, 29, 95]
