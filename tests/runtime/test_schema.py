"""Dataclasses from what files hold."""

from dataclasses import dataclass

import pytest

from hyperproto._core.errors import InputError
from hyperproto._core.schema import from_plain, read_plain


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Outer:
    inner: Inner
    several: tuple[Inner, ...] = ()


def test_a_file_may_have_fields_of_another_version_at_any_depth_and_a_caller_may_not():
    values = {"inner": {"size": 1, "empty": False}, "several": [{"size": 2, "more": 1}], "new": 3}
    assert read_plain(Outer, values, "A file") == Outer(Inner(1), (Inner(2),))
    with pytest.raises(InputError, match='Unknown field of Inner "empty"'):
        from_plain(Outer, {"inner": {"size": 1, "empty": False}})
