import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperproto.metrics import bias, error_quantiles, share_beyond

NUMBERS = st.lists(st.tuples(st.integers(-50, 50), st.one_of(st.none(), st.integers(-50, 50))), max_size=25)


def split(pairs):
    predicted = torch.tensor([p for p, _ in pairs], dtype=torch.float64)
    return predicted, torch.tensor([math.nan if v is None else v for _, v in pairs], dtype=torch.float64)


@given(NUMBERS, st.sampled_from([0.05, 0.5, 0.9, 0.95, 1.0]))
def test_a_quantile_is_the_smallest_error_that_covers_its_share(pairs, level):
    errors = sorted(abs(p - v) for p, v in pairs if v is not None)
    [found] = error_quantiles(*split(pairs), [level])
    if not errors:
        assert math.isnan(found)
        return
    covers = [e for e in errors if sum(other <= e for other in errors) >= level * len(errors) - 1e-6]
    assert found == min(covers)


def test_a_quantile_of_many_is_not_moved_by_rounding():
    errors = torch.arange(1, 101, dtype=torch.float64)
    assert error_quantiles(errors, torch.zeros(100), [0.07, 0.29, 0.95]) == [7, 29, 95]


def test_bias_has_the_sign_of_guessing_too_large():
    values = torch.tensor([0.0, 2.0, math.nan])
    assert bias(torch.tensor([1.0, 5.0, 100.0]), values) == 2
    assert bias(torch.tensor([-1.0, 1.0, 100.0]), values) == -1


def test_values_at_the_bounds_are_not_beyond_them():
    values = torch.tensor([0.0, 10.0, 10.5, -0.5, math.nan])
    assert share_beyond(values, 0, 10) == pytest.approx(0.5)
