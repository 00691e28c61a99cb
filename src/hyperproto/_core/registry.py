"""Choosing by name, with the nearest option for a typo."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from hyperproto._core.errors import InputError

__all__ = ["choose", "nearest_name", "unknown_choice"]

T = TypeVar("T")


def unknown_choice(name: object, options: Iterable[str], *, argument: str = "", what: str = "") -> InputError:
    """Return the error for a name that is not among the options, suggesting the nearest one.

    ``argument`` is the argument that carries the name; without one, ``what`` says what the name stands for.

    >>> print(unknown_choice("papr", ["auto", "paper"], argument="method"))
    `method` must be one of "auto", "paper"; got "papr". Did you mean "paper"?
    >>> print(unknown_choice("papr", ["auto", "paper"], what="placement method"))
    Unknown placement method "papr". Choose from: "auto", "paper". Did you mean "paper"?
    """
    options = list(options)
    advice = nearest_name(name, options)
    listed = ", ".join(f'"{option}"' for option in options)
    if argument:
        return InputError(argument, f"be one of {listed}", f'"{name}"', advice)
    return InputError(f'Unknown {what} "{name}".', advice=f"Choose from: {listed}. {advice}".rstrip())


def nearest_name(name: object, options: Iterable[str]) -> str:
    """Return a question with the nearest of some names, or nothing where none is near."""
    near = get_close_matches(str(name), list(options), n=1, cutoff=0.5)
    return f'Did you mean "{near[0]}"?' if near else ""


def choose(name: str, options: Mapping[str, T], *, argument: str = "", what: str = "") -> T:
    """Return ``options[name]``, or raise the error of :func:`unknown_choice`."""
    try:
        return options[name]
    except (KeyError, TypeError):
        raise unknown_choice(name, options, argument=argument, what=what) from None
