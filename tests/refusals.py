"""Errors by what they hold: which argument, and what it got, whatever the sentence says."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hyperproto._core.errors import HyperprotoError, InputError


@contextmanager
def refuses(argument: str, got: object, kind: type[HyperprotoError] = InputError) -> Iterator[None]:
    """Expect an error of a kind about an argument that got something."""
    with pytest.raises(kind) as refused:
        yield
    assert (refused.value.argument, str(refused.value.got)) == (argument, str(got))
