"""What the names and the cells of columns suggest: kinds of targets that are easily missed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from hyperproto._core.arrays import Numbers
from hyperproto.data.table_files import FEW, SENTENCE, Column
from hyperproto.runtime.tables import are_numbers
from hyperproto.tasks import KINDS

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
PERIODS = {
    **dict.fromkeys(("angle", "azimuth", "bearing", "dir", "direction", "heading"), 360),
    **dict.fromkeys(("orientation", "rotation"), 360),
    "hour": 24,
    "month": 12,
    "weekday": 7,
}
"""What wraps around, by a word in the name of a column."""

SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("tiny", "small", "medium", "large", "huge"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("very bad", "bad", "fair", "good", "very good", "premium", "excellent", "ideal"),
    ("very poor", "poor", "average", "good", "very good", "excellent"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("none", "mild", "moderate", "severe"),
)
"""Names in order; a column may have some of them."""

SEPARATED = 0.2  # of the cells, from which on they seem to be lists


def suggest_kinds(columns: Mapping[str, Column]) -> dict[str, tuple[str, str]]:
    """Return for columns that suggest it the kind of task, and what its option takes.

    Only kinds that there are (:data:`hyperproto.tasks.KINDS`), and columns of more than 20 rows.
    """
    found = ((name, next(_hints(name, column), None)) for name, column in columns.items())
    return {name: hint for name, hint in found if hint is not None and hint[0] in KINDS}


def _hints(name: str, column: Column) -> Iterator[tuple[str, str]]:
    present = [str(cell).strip() for cell in column.cells if cell is not None]
    if len(present) <= FEW:
        return
    if are_numbers(column.values):
        if period := _period(name, column.numbers()):
            yield "angle", f"{name}={period}"
        return
    if grades := _grades(set(present)):
        yield "grades", f"{name}={','.join(grades)}"
    if any(_are_lists(present, mark) for mark in ";|"):
        yield "labels", name


def _period(name: str, numbers: Numbers) -> int:
    """Return after how much numbers of that name start anew; 0 where they do not, or lie elsewhere.

    >>> _period("wind_dir", np.array([10.0, 350.0])), _period("windDir", np.array([0.1, 6.2]))
    (360, 0)
    """
    words = {word.lower() for word in WORD.findall(name)}
    period = next((PERIODS[word] for word in PERIODS if word in words), 0)
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    fits = -period / 2 <= low and high <= period and period / 2 < high - low <= period
    return period if fits else 0


def _grades(names: set[str]) -> list[str]:
    """Return names in their order, lowest first; nothing where they are on no known scale.

    >>> _grades({"High", "Low", "Medium"}), _grades({"low", "medium", "green"})
    (['Low', 'Medium', 'High'], [])
    """
    for scale in SCALES:
        if len(names) > 2 and all(name.lower() in scale for name in names):
            return sorted(names, key=lambda name: scale.index(name.lower()))
    return []


def _are_lists(cells: list[str], mark: str) -> bool:
    """Return whether cells list a few short names, separated by a mark."""
    parts = Counter(part.strip() for cell in cells for part in cell.split(mark))
    short = all(len(part.split()) <= SENTENCE for part in parts)
    separated = sum(mark in cell for cell in cells) >= SEPARATED * len(cells)
    return separated and short and 2 * len(parts) <= parts.total()
