"""Advice in the words of whoever reads it: keywords for Python, options for the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from hyperproto._core.errors import HyperprotoError

__all__ = ["in_options"]

OPTIONS = {
    "pass skip_corrupt=True": "add --skip-corrupt",
    'unseen="missing"': "--unseen missing",
    'Choose split "train" or "all"': "Add --split train or --split all",
}


@contextmanager
def in_options() -> Iterator[None]:
    """Name options of the command line where an error advises keywords of a function."""
    try:
        yield
    except HyperprotoError as error:
        sentence = str(error)
        for keyword, option in OPTIONS.items():
            sentence = sentence.replace(keyword, option)
        raise type(error)(sentence) from None
