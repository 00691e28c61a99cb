"""Checks of numbers, choices and paths that a caller or a file gives."""

import math
import operator
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypeVar

from hyperproto_runtime.errors import InputError, InputTypeError

T = TypeVar("T")


def check_integer(value: Any, name: str, *, at_least: int, reason: str = "") -> int:
    """Return ``value`` as an int that is at least ``at_least``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(name, "be a whole number", f"{value!r} ({type(value).__name__})")
    number = operator.index(value)
    if number < at_least:
        raise InputError(name, f"be at least {at_least}", number, reason)
    return number


def check_finite_number(
    value: Any, name: str, *, above: float = -math.inf, at_least: float = -math.inf, at_most: float = math.inf
) -> float:
    """Return ``value`` as a finite float within the given limits."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(name, "be a number", f"{value!r} ({type(value).__name__})")
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number) or number <= above or not at_least <= number <= at_most:
        rules = ["finite"]
        rules += [f"greater than {above:g}"] if above > -math.inf else []
        rules += [f"at least {at_least:g}"] if at_least > -math.inf else []
        rules += [f"at most {at_most:g}"] if at_most < math.inf else []
        raise InputError(name, f"be {' and '.join(rules)}", repr(value))
    return number


def check_no_pipe(path: str | os.PathLike[str]) -> None:
    """Raise where a path is a pipe or a device, which would be waited for; the file need not be there."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(f'"{path}"', "be a file", "a pipe or a device")


def unknown_choice(name: object, options: Iterable[str], *, what: str) -> InputError:
    """Return the error for a name that is not among the options, suggesting the nearest one.

    >>> print(unknown_choice("papr", ["auto", "paper"], what="placement method"))
    Unknown placement method "papr". Choose from: "auto", "paper". Did you mean "paper"?
    """
    options = list(options)
    listed = ", ".join(f'"{option}"' for option in options) or "none"
    return InputError(
        f'Unknown {what} "{name}".', advice=f"Choose from: {listed}. {nearest_name(name, options)}".rstrip()
    )


def nearest_name(name: object, options: Iterable[str]) -> str:
    """Return a question with the nearest of some names, or nothing where none is near."""
    near = get_close_matches(str(name), list(options), n=1, cutoff=0.5)
    return f'Did you mean "{near[0]}"?' if near else ""


def choose(name: str, options: Mapping[str, T], *, what: str) -> T:
    """Return ``options[name]``, or raise the error of :func:`unknown_choice`."""
    try:
        return options[name]
    except (KeyError, TypeError):
        raise unknown_choice(name, options, what=what) from None
