import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperproto.metrics import confusion_pairs, count_classes, top_accuracy

ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), max_size=30)


def split(answers):
    predicted, labels = zip(*answers, strict=True) if answers else ((), ())
    return torch.tensor(predicted, dtype=torch.int64), torch.tensor(labels, dtype=torch.int64)


@given(ANSWERS)
def test_counts_agree_with_counting_one_by_one(answers):
    counts = count_classes(*split(answers), 5)
    for k in range(5):
        assert counts.support[k] == sum(label == k for _, label in answers)
        assert counts.predicted[k] == sum(p == k for p, label in answers if label >= 0)
        assert counts.right[k] == sum(p == label == k for p, label in answers)
        if counts.support[k]:
            assert counts.recall[k] == counts.right[k] / counts.support[k].double()
        else:
            assert math.isnan(counts.recall[k])


@given(ANSWERS, st.integers(0, 6))
def test_pairs_agree_with_a_matrix(answers, most):
    matrix: dict[tuple[int, int], int] = {}
    for predicted, label in answers:
        if label >= 0 and label != predicted:
            matrix[label, predicted] = matrix.get((label, predicted), 0) + 1
    slow = sorted(((*pair, count) for pair, count in matrix.items()), key=lambda row: (-row[2], row[0], row[1]))
    assert confusion_pairs(*split(answers), most=most) == slow[:most]


def test_pairs_of_a_million_classes_take_no_matrix():
    labels = torch.tensor([999_999, 999_999, 3])
    assert confusion_pairs(torch.tensor([7, 7, 3]), labels, most=3) == [(999_999, 7, 2)]


def test_a_label_among_the_first_counts_and_a_missing_one_does_not():
    top = torch.tensor([[0, 1], [1, 2], [2, 0], [0, 1]])
    assert top_accuracy(top, torch.tensor([1, 0, 2, -1])) == pytest.approx(2 / 3)
    assert math.isnan(top_accuracy(top, torch.full((4,), -1)))
