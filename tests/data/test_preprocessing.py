"""How rows are scaled: the numbers of a stored scaling fit its columns."""

import pytest

from hyperproto.data import Standardizer

THREE = (0.5, 0.5, 0.5)


@pytest.mark.parametrize(("center", "bend"), [((), (0.5, 0.0)), ((1.0,), ()), ((1.0,), (0.5,)), (THREE, THREE)])
def test_tails_are_bent_in_all_columns_or_in_none(center, bend):
    fitting = Standardizer((0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.5, 0.0))
    assert fitting.check_width(2) is fitting
    with pytest.raises(ValueError, match="have centers and bends of no column, or of all 2"):
        Standardizer((0.0, 0.0), (1.0, 1.0), center, bend).check_width(2)
