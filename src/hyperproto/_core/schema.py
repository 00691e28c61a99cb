"""Plain values, as a file holds them, checked against the annotations of a dataclass: what comes
out is typed.
"""

import dataclasses
import sys
from collections.abc import Mapping
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from .checks import check_finite_number, check_integer, choose, type_hints, unknown_choice
from .errors import HyperprotoError, InputError, InputTypeError

T = TypeVar("T")

PLAIN = {str: "be text", bool: "be true or false", dict: "be a mapping from names to values"}


def from_plain(kind: type[T], values: Any, *, newer: bool = False) -> T:
    """Build a dataclass by the names of its fields, nested ones too; an error names the field at
    fault.

    Fields may be numbers (``Real`` where NaN is one), text, truths, dicts, tuples of one type,
    Literals, dataclasses, or any of these or None. ``newer`` leaves out fields that are not known,
    as another version may have written them.
    """
    if not isinstance(values, Mapping):
        raise InputTypeError(
            f"A {kind.__name__}", "be described by its fields", type(values).__name__
        )
    known = {item.name: item for item in dataclasses.fields(kind) if item.init}  # type: ignore[arg-type]
    if newer:
        values = {name: value for name, value in values.items() if name in known}
    for name in values:
        if name not in known:
            raise unknown_choice(name, known, what=f"field of {kind.__name__}")
    for name, item in known.items():
        if name not in values and item.default is item.default_factory is dataclasses.MISSING:
            raise InputError(name, f"be given for a {kind.__name__}")
    hints = type_hints(kind)
    return kind(
        **{name: typed(value, hints[name], name, newer=newer) for name, value in values.items()}
    )


def check_format(values: object, form: str, where: str, what: str) -> None:
    """Raise where a file holds something else than values of a format."""
    found = values.get("format") if isinstance(values, Mapping) else None
    if found != form:
        rule = f"be {what} of format {form}"
        raise InputError(where, rule, found or "a file without a format")


def read_plain(kind: type[T], values: Any, where: str) -> T:
    """Build a dataclass from what a file holds; an error says which file. Fields not known are left
    out.
    """
    try:
        return from_plain(kind, values, newer=True)
    except HyperprotoError as error:
        raise InputError(
            where, f"be complete and unchanged ({error})", advice="It may have been edited."
        ) from None


def typed(value: Any, hint: Any, name: str, *, newer: bool = False) -> Any:
    """Return a value as an annotation has it, or raise an error about ``name``; ``newer`` is as in
    ``from_plain``.
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        some = next(part for part in parts if part is not NoneType)
        return None if value is None else typed(value, some, name, newer=newer)
    if kind is Literal:
        choose(value, dict.fromkeys(parts), what=name.replace("_", " "))
    elif kind is tuple:
        if not isinstance(value, list | tuple):
            raise InputTypeError(name, "be a list", repr(value))
        return tuple(typed(part, parts[0], name, newer=newer) for part in value)
    elif kind is int:
        if abs(check_integer(value, name, at_least=-sys.maxsize)) > sys.maxsize:
            raise InputError(name, f"be at most {sys.maxsize}", value)
    elif kind is Real and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputTypeError(name, "be a number", repr(value))
    elif kind is dict and parts and isinstance(value, dict):
        return {
            key: typed(part, parts[1], f"{name}/{key}", newer=newer) for key, part in value.items()
        }
    elif kind is float:
        return check_finite_number(value, name)
    elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return value if isinstance(value, kind) else from_plain(kind, value, newer=newer)
    elif kind in PLAIN and not isinstance(value, kind):
        raise InputTypeError(name, PLAIN[kind], repr(value))
    return value
