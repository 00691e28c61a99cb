"""The runs below a folder at a glance, damaged and unfinished ones included."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hyperproto._core.errors import HyperprotoError, InputError
from hyperproto._core.files import plain, read_json_lines
from hyperproto._core.registry import choose
from hyperproto.training import RunRecord, read_run

__all__ = ["RunRow", "list_runs", "sort_runs"]

DEEPEST = 4  # folders within folders
BROKEN = (HyperprotoError, OSError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class RunRow:
    """One run.

    Attributes
    ----------
    name : str
        Its folder, relative to where was looked.
    state : str
        "finished", "unfinished" (interrupted, or still going) or "damaged".
    data, network, space : str
        What was trained on what.
    epochs, asked : int
        How many have ended, of how many.
    last, best : dict of float
        Validation measures after the last epoch and after the best one; empty where there is no validation.
    seconds : float
        Wall-clock time of the epochs that have ended.
    reason : str
        What is wrong with a damaged one.
    """

    name: str
    state: str
    data: str = ""
    network: str = ""
    space: str = ""
    epochs: int = 0
    asked: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        held: dict[str, Any] = plain(asdict(self))
        return held


def list_runs(root: str | Path = "runs") -> list[RunRow]:
    """Return the runs in a folder and below, sorted by name; a damaged one is a row with its reason."""
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f'"{root}" must be a folder of runs; there is none. Say where they are.')
    return [_row(folder, str(folder.relative_to(root.parent if folder == root else root))) for folder in _find(root)]


def sort_runs(rows: list[RunRow], by: str) -> list[RunRow]:
    """Sort by "name", by "seconds", or by a measure after the last epoch, the best first; without it, at the end."""
    measures = dict.fromkeys(name for row in rows for name in row.last)
    choose(by, {"name": 0, "seconds": 0, **measures}, what="order of runs")
    if by in ("name", "seconds"):
        return sorted(rows, key=lambda row: getattr(row, by))
    sign = -1 if by.endswith("accuracy") else 1

    def rank(row: RunRow) -> tuple[bool, float]:
        value = row.last.get(by)
        return value is None, 0.0 if value is None else sign * value

    return sorted(rows, key=rank)


def _find(root: Path) -> Iterator[Path]:
    """Yield folders that hold a config.json; links are not followed, and runs not searched."""
    for place, folders, files in os.walk(root):
        depth = len(Path(place).relative_to(root).parts)
        if "config.json" in files:
            yield Path(place)
            folders.clear()
        folders[:] = sorted(name for name in folders if name[0] != ".") if depth < DEEPEST else []


def _row(folder: Path, name: str) -> RunRow:
    try:
        record = read_run(folder)
        return _describe(record, name)
    except BROKEN as error:
        known = isinstance(error, HyperprotoError | OSError)
        reason = str(error) if known else f"its files do not say what they should ({type(error).__name__}: {error})"
        return RunRow(name, "damaged", reason=reason)


def _describe(record: RunRecord, name: str) -> RunRow:
    best = record.best
    return RunRow(
        name=name,
        state="finished" if record.finished else "unfinished",
        data=_data(record),
        network="own" if record.config["network"] is None else str(record.config["network"]["name"]),
        space=_space(record.config["space"]),
        epochs=len(record.history),
        asked=int(record.settings["epochs"]),
        last=_measures(record.history[-1]["valid"]) if record.history else {},
        best={} if best is None else _measures(best["valid"]),
        seconds=sum(float(line["seconds"]) for line in read_json_lines(record.folder / "times.jsonl")),
    )


def _measures(held: dict[str, Any]) -> dict[str, float]:
    """Return the measures that are numbers; files have null for NaN."""
    if any(value is not None and not isinstance(value, int | float) for value in held.values()):
        raise InputError("A measure in its epochs.jsonl is not a number.")
    return {name: float(value) for name, value in held.items() if value is not None}


def _data(record: RunRecord) -> str:
    """Return where the data came from, or else how much of it there was."""
    if record.spec is not None:
        return f"{record.spec.data.reader} {Path(record.spec.data.path).name}".strip()
    return f"{int(record.config['data']['train']):,} examples"


def _space(described: dict[str, Any] | None) -> str:
    """Return kind, dimension and losses of a space, such as "sphere 10, squared cosine"."""
    if described is None:
        return "own"
    kind, losses = described["kind"], [task["loss"]["name"] for task in described["tasks"] if "loss" in task]
    told = f"{kind} {int(described['dim'])}"
    return ", ".join([told, *dict.fromkeys(map(str, losses))]) if kind == "sphere" else told
