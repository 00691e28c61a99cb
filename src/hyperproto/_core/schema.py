"""Plain values, as a file holds them, checked against the annotations of a dataclass; the runtime does the work."""

from pathlib import Path
from typing import Any

from hyperproto._core.files import read_json_lines
from hyperproto_runtime.schema import check_choices, from_plain, read_plain, typed

__all__ = ["check_choices", "from_plain", "read_plain", "read_records", "typed"]


def read_records(kind: type[Any], path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines that each hold the fields of a dataclass."""
    lines: list[dict[str, Any]] = read_json_lines(path)
    for number, line in enumerate(lines, 1):
        read_plain(kind, line, f'Line {number} of "{path}"')
    return lines
