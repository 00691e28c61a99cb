import math

import pytest
import torch

from hyperproto.metrics import accuracy, mean_absolute_error


def test_missing_labels_do_not_count():
    assert accuracy(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2, 2, -1])) == pytest.approx(2 / 3)
    assert mean_absolute_error(torch.tensor([1.0, 5.0, 9.0]), torch.tensor([2.0, math.nan, 6.0])) == 2
    assert math.isnan(accuracy(torch.tensor([0]), torch.tensor([-1])))
