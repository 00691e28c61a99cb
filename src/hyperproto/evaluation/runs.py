"""The runs below a folder at a glance, damaged and unfinished ones included."""

import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hyperproto._core.checks import choose
from hyperproto._core.errors import HyperprotoError, MissingDataError
from hyperproto._core.files import Plain, as_path, plain, read_records
from hyperproto.tasks.task import higher_is_better
from hyperproto.training import RunRecord, read_run
from hyperproto.training.run import EpochTime


@dataclass(frozen=True)
class RunRow:
    """One run.

    Attributes
    ----------
    name : str
        Its folder, relative to the folder that was searched.
    state : str
        "finished", "unfinished" (interrupted, or still going) or "damaged".
    data, network, space : str
        What was trained on what.
    epochs, total_epochs : int
        How many have ended, of how many.
    last, best : dict of float
        Validation measures after the last epoch and after the best, the first of equals; empty
        without validation.
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
    total_epochs: int = 0
    last: Plain = field(default_factory=dict)
    best: Plain = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = ""

    def to_dict(self) -> Plain:
        """Return plain values for JSON."""
        return plain(asdict(self))


def list_runs(root: str | Path = "runs") -> list[RunRow]:
    """Return the runs in a folder and below, sorted by name; a damaged one is a row with its
    reason.
    """
    root = as_path(root)
    if not root.is_dir():
        raise MissingDataError(f'"{root}"', "be a folder of runs", "nothing")
    return [
        _row(folder, str(folder.relative_to(root.parent if folder == root else root)))
        for folder in _find(root)
    ]


def sort_runs(rows: list[RunRow], by: str) -> list[RunRow]:
    """Sort by "name", by "seconds", or by a measure after the last epoch, the best first; without
    it, at the end.
    """
    measures = dict.fromkeys(name for row in rows for name in row.last)
    choose(by, {"name": None, "seconds": None, **measures}, what="order of runs")
    if by not in measures:
        return sorted(rows, key=lambda row: getattr(row, by))
    sign = -1 if higher_is_better(by) else 1
    return sorted(rows, key=lambda row: sign * row.last.get(by, sign * math.inf))


def _find(root: Path) -> Iterator[Path]:
    """Yield folders that hold a config.json; links are not followed, and runs not searched."""
    for place, folders, files in os.walk(root):
        depth = len(Path(place).relative_to(root).parts)
        if "config.json" in files:
            yield Path(place)
            folders.clear()
        folders[:] = sorted(name for name in folders if name[0] != ".") if depth < 4 else []


def _row(folder: Path, name: str) -> RunRow:
    try:
        return describe_record(read_run(folder), name)
    except (HyperprotoError, OSError) as error:
        reason = str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"its files are not as expected ({type(error).__name__}: {error})"
    return RunRow(name, "damaged", reason=reason)


def describe_record(record: RunRecord, name: str = "") -> RunRow:
    """Return what the files of a run say about it."""
    network, space, best = record.config["network"], record.config["space"], record.best
    data = f"{int(record.config['data']['train']):,} examples"
    if record.spec is not None:
        data = f"{record.spec.data.reader} {Path(record.spec.data.path).name}".strip()
    times = read_records(EpochTime, record.folder / "times.jsonl")
    return RunRow(
        name=name,
        state="finished" if record.finished else "unfinished",
        data=data,
        network="own" if network is None else str(network["name"]),
        space="own" if space is None else _describe_space(space),
        epochs=len(record.history),
        total_epochs=int(record.settings["epochs"]),
        last=_measures(record.history[-1]["valid"]) if record.history else {},
        best={} if best is None else _measures(best["valid"]),
        seconds=sum(float(line["seconds"]) for line in times),
    )


def _measures(stored: Plain) -> dict[str, float]:
    """Return the measures that are numbers; files have null for NaN."""
    return {name: float(value) for name, value in stored.items() if value is not None}


def _describe_space(space: Plain) -> str:
    """Return kind, dimension and losses of a space, such as "sphere 10, squared cosine"."""
    tasks = space["tasks"] if space["kind"] == "sphere" else ()
    losses = [str(task["loss"]["name"]) for task in tasks if task["task"] == "classes"]
    return ", ".join([f"{space['kind']} {int(space['dim'])}", *dict.fromkeys(losses)])
