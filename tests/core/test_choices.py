import pytest

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError


@pytest.mark.parametrize("given", [["a"], {"a": 1}, None, 3])
def test_a_choice_from_a_file_that_is_no_name_is_refused_as_an_unknown_one(given):
    with pytest.raises(InputError) as caught:
        choose(given, {"a": 1}, what="outlier score")
    assert "outlier score" in str(caught.value)
