"""Choosing by name, with a helping hand for typos."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from hyperproto._core.errors import InputError

__all__ = ["choose", "unknown_choice"]

T = TypeVar("T")


def unknown_choice(name: object, options: Iterable[str], *, what: str) -> InputError:
    """Return the error for a name that is not among the options, suggesting the nearest one.

    >>> print(unknown_choice("papr", ["auto", "paper"], what="placement method"))
    Unknown placement method "papr". Choose from: "auto", "paper". Did you mean "paper"?
    """
    options = list(options)
    near = get_close_matches(str(name), options, n=1, cutoff=0.5)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    listed = ", ".join(f'"{option}"' for option in options)
    return InputError(f'Unknown {what} "{name}". Choose from: {listed}.{hint}')


def choose(name: str, options: Mapping[str, T], *, what: str) -> T:
    """Return ``options[name]``, or raise a sentence that lists the options."""
    try:
        return options[name]
    except (KeyError, TypeError):
        raise unknown_choice(name, options, what=what) from None
