"""Plain values, as a file holds them, checked against the annotations of a dataclass: what comes out is typed."""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hyperproto._core.checks import check_finite_number, check_integer, choose, unknown_choice
from hyperproto._core.errors import InputError, InputTypeError

T = TypeVar("T")

PLAIN = {str: "be text", bool: "be true or false", dict: "be a mapping from names to values"}


_hints: Callable[[Any], dict[str, Any]] = lru_cache(get_type_hints)


def from_plain(kind: type[T], values: Any) -> T:
    """Build a dataclass by the names of its fields, nested ones too; an error names the field at fault.

    Fields may be numbers, text, truths, dicts, tuples of one type, Literals, dataclasses, or any of these or None.
    """
    if not isinstance(values, Mapping):
        raise InputTypeError(f"A {kind.__name__}", "be described by its fields", type(values).__name__)
    known = {item.name: item for item in dataclasses.fields(kind)}  # type: ignore[arg-type]  # a dataclass
    for name in values:
        if name not in known:
            raise unknown_choice(name, known, what=f"field of {kind.__name__}")
    for name, item in known.items():
        if name not in values and item.default is item.default_factory is dataclasses.MISSING:
            raise InputError(name, f"be given for a {kind.__name__}")
    hints = _hints(kind)
    return kind(**{name: _typed(value, hints[name], name) for name, value in values.items()})


def check_choices(values: Any) -> None:
    """Check that every field of a dataclass that is a Literal holds one of its values."""
    for name, hint in _hints(type(values)).items():
        if any(get_origin(part) is Literal for part in (hint, *get_args(hint))):
            _typed(getattr(values, name), hint, name)


def _typed(value: Any, hint: Any, name: str) -> Any:
    """Return a value as its annotation has it, or raise."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        some = next(part for part in parts if part is not NoneType)
        return None if value is None else _typed(value, some, name)
    if kind is Literal:
        choose(value, dict.fromkeys(parts), what=name.replace("_", " "))
    elif kind is tuple:
        if not isinstance(value, list | tuple):
            raise InputTypeError(name, "be a list", repr(value))
        return tuple(_typed(part, parts[0], name) for part in value)
    elif kind is int:
        check_integer(value, name, at_least=-sys.maxsize)
    elif kind is float:
        check_finite_number(value, name)
    elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return value if isinstance(value, kind) else from_plain(kind, value)
    elif kind in PLAIN and not isinstance(value, kind):
        raise InputTypeError(name, PLAIN[kind], repr(value))
    return value
