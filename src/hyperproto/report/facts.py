"""A certificate, or any dictionary of facts, as rows of a table."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["fact_rows"]


def fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, value) pairs to print; what is nested comes last, its names after the name it stands under.

    Examples
    --------
    >>> fact_rows({"max_cosine": 0.25, "meaning": {"ranked": 0.9}, "proved": True, "remark": ""})
    [('max cosine', '0.25'), ('proved', 'yes'), ('meaning: ranked', '0.9')]
    """
    flat = {name: value for name, value in facts.items() if not isinstance(value, Mapping)}
    rows = [(_words(name), _value(value)) for name, value in flat.items() if value is not None and value != ""]
    return rows + list(_nested(facts))


def _nested(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from ((f"{_words(name)}: {inner}", text) for inner, text in fact_rows(value))


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return str(value)
