"""``hyperproto predict``: names, cosines and numbers for files."""

import csv
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Predict"]


@dataclass
class Predict:
    """Let a stored run answer to images, or to the rows of a table; a calibrated one says how sure it is."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    files: Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE...")]
    """Images and folders of images; for a run on a table, tables with its columns."""

    top: int = 3
    """How many classes to name; on a screen too narrow for them, only the first is shown."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    format: Literal["table", "csv", "json"] | None = None
    """How to write answers; a table unless given, or what the name of --output ends in."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write to this file and not to the screen."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    def run(self) -> None:
        """Predict, then print or write."""
        from hyperproto._core.files import check_can_write, replacing
        from hyperproto.evaluation import predict_files

        style = self._style()
        if self.output is not None:
            check_can_write(self.output)
        found = predict_files(
            self.run_folder, self.files, top=self.top, which=self.which, skip_corrupt=self.skip_corrupt
        )
        if found.skipped:
            print(f'Left out, unreadable: {len(found.skipped)}, the first "{found.skipped[0]}".', file=sys.stderr)
        if style == "table":
            return _show(found.rows)
        text = _csv(found.rows) if style == "csv" else json.dumps(found.rows, indent=2) + "\n"
        if self.output is None:
            return print(text, end="")
        with replacing(self.output) as beside:
            beside.write_text(text, encoding="utf-8", newline="")
        return None

    def _style(self) -> str:
        from hyperproto._core.errors import InputError

        ending = "" if self.output is None else self.output.suffix.lower().removeprefix(".")
        style = self.format or (ending if ending in ("csv", "json") else "table")
        if style == "table" and self.output is not None:
            raise InputError(f'"{self.output}" must end in .csv or .json, or --format say which. Choose one.')
        return style


def _flat(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Return a header and a line for each row; the second class is called after its task, "class/2"."""
    header = [key for key in rows[0] if key != "predictions"]
    lines = [[row[key] for key in header] for row in rows]
    for task, answer in rows[0]["predictions"].items():
        header += _flat_answer(task, answer)
        for line, row in zip(lines, rows, strict=True):
            line += _flat_answer(task, row["predictions"][task]).values()
    return [header, *lines]


def _flat_answer(task: str, answer: Any) -> dict[str, Any]:
    """Return columns of one answer; a set is one column, its names apart from each other by a bar."""
    if not isinstance(answer, dict):
        return {task: answer}
    if "value" in answer:
        return {task: answer["value"], f"{task}/low": answer["low"], f"{task}/high": answer["high"]}
    columns = {}
    for place, guess in enumerate(answer["top"]):
        numbered = task if place == 0 else f"{task}/{place + 1}"
        columns[numbered] = guess["name"] if place else answer["name"]  # which may be "unknown"
        columns |= {f"{numbered}/{key}": value for key, value in guess.items() if key != "name"}
    if "set" in answer:
        columns[f"{task}/set"] = " | ".join(answer["set"])
    return columns


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_flat(rows))
    return text.getvalue()


def _show(rows: list[dict[str, Any]]) -> None:
    """Print a table; where it is wider than the screen, without further classes, and then without cosines."""
    from hyperproto.cli.console import table_console

    console, lines = table_console(), _flat(rows)
    fewer = [lines, _flat([_shortened(row) for row in rows]), _flat([_shortened(row, cosines=False) for row in rows])]
    endless = console.options.update(width=10_000)
    widths = [console.measure(_table([_brief(line) for line in each]), options=endless).maximum for each in fewer]
    chosen = next((place for place, width in enumerate(widths) if width <= console.width), len(fewer) - 1)
    console.print(_table(fewer[chosen]))
    if len(fewer[chosen][0]) < len(lines[0]):
        print("Too wide for the screen: further classes or cosines are left out; -o FILE.csv has everything.")


def _brief(line: list[Any]) -> list[Any]:
    """Return a line with the end of its file's name, which may fold without harm."""
    return [str(line[0])[-20:], *line[1:]]


def _table(lines: list[list[Any]]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    header, *rest = lines
    table = Table()
    for heading in header:
        table.add_column(escape(heading), overflow="fold")
    for line in rest:
        table.add_row(*(escape(f"{cell:.4g}" if isinstance(cell, float) else str(cell)) for cell in line))
    return table


def _shortened(row: dict[str, Any], *, cosines: bool = True) -> dict[str, Any]:
    """Return a row with the first class of each task; a cosine may go where there is a probability."""

    def first(answer: Any) -> Any:
        if not isinstance(answer, dict) or "top" not in answer:
            return answer
        best = answer["top"][0]
        if not cosines and "probability" in best:
            best = {key: value for key, value in best.items() if key != "cosine"}
        return answer | {"top": [best]}

    return row | {"predictions": {task: first(answer) for task, answer in row["predictions"].items()}}
