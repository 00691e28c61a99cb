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

FORMS: dict[object, tuple[Any, str]] = {
    str: (str, "be text"),
    bool: (bool, "be true or false"),
    dict: (dict, "be a mapping from names to values"),
    tuple: (list | tuple, "be a list"),
    Real: (int | float, "be a number"),
}
"""What a plain value is for an annotation, and how to say so."""


def from_plain(kind: type[T], values: Any, *, newer: bool = False) -> T:
    """Build a dataclass by the names of its fields, nested ones too; an error names the field at
    fault.

    Fields may be numbers (``Real`` where NaN is one), text, truths, dicts, tuples of one type,
    Literals, dataclasses, or any of these or None. ``newer`` leaves out fields that are not known,
    as another version may have written them.
    """
    what = kind.__name__
    if not isinstance(values, Mapping):
        raise InputTypeError(f"A {what}", "be described by its fields", type(values).__name__)
    known = {item.name: item for item in dataclasses.fields(kind) if item.init}  # type: ignore[arg-type]
    hints, built = type_hints(kind), {}
    for name, value in values.items():
        if name in known:
            built[name] = typed(value, hints[name], name, newer=newer)
        elif not newer:
            raise unknown_choice(name, known, what=f"field of {what}")
    for name, item in known.items():
        if name not in built and item.default is item.default_factory is dataclasses.MISSING:
            raise InputError(name, f"be given for a {what}")
    return kind(**built)


def check_format(values: object, form: str, where: str, what: str) -> None:
    """Raise where a file holds something else than values of a format."""
    found = values.get("format") if isinstance(values, Mapping) else None
    if found != form:
        rule = f"be {what} of format {form}"
        raise InputError(where, rule, found or "a file without a format")


def read_plain(kind: type[T], values: object, where: str) -> T:
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
    if hasattr(kind, "__dataclass_fields__"):
        return value if type(value) is kind else from_plain(kind, value, newer=newer)
    if kind is float:
        return check_finite_number(value, name)
    form, rule = FORMS.get(kind, (object, ""))
    if not isinstance(value, form) or (kind is Real and isinstance(value, bool)):
        raise InputTypeError(name, rule, repr(value))
    if kind is Literal:
        choose(value, dict.fromkeys(parts), what=name.replace("_", " "))
    elif kind is int and abs(check_integer(value, name, at_least=-sys.maxsize)) > sys.maxsize:
        raise InputError(name, f"be at most {sys.maxsize}", value)
    elif kind is tuple:
        return tuple(typed(part, parts[0], name, newer=newer) for part in value)
    elif kind is dict and parts:
        return {k: typed(part, parts[1], f"{name}/{k}", newer=newer) for k, part in value.items()}
    return value
